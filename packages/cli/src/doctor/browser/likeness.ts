import { STATUS_CODES } from "node:http";
import { type Answer, cookiesSetBy, isSilence, type Reply } from "./browser-get.js";

/**
 * Whether an answer differs from two that were both given to strangers. What differs between those two is noise, and
 * counts for nothing.
 */
export function differsFrom(answer: Answer, [one, other]: readonly [Answer, Answer]): boolean {
  const [was, again] = [looksOf(one), looksOf(other)];
  return looksOf(answer).some((is, feature) => was[feature] === again[feature] && is !== was[feature]);
}

/** Whether two answers are the same page, or the same way on, whatever cookies they set. */
export function isSamePage(one: Answer, other: Answer): boolean {
  return pageOf(one).join("\n") === pageOf(other).join("\n");
}

/** A status and its name, as Passport answers without a page of the application's. */
export function isBare(reply: Reply, status: number): boolean {
  return !isSilence(reply) && reply.status === status && reply.text.trim() === STATUS_CODES[status];
}

function pageOf({ status, location, text }: Answer): string[] {
  const leadsTo = location ? location.origin + location.pathname + steady(location.search) : "";
  return [String(status), leadsTo, steady(text)];
}

/**
 * What of an answer can be compared with another one. Of cookies the names, and which are deleted: values change with
 * every answer, and parts of some names.
 */
function looksOf(answer: Answer): string[] {
  const cookies = cookiesSetBy([answer]).map(
    (cookie) => `${steady(cookie.key)}${cookie.TTL() > 0 ? "" : " deleted"}`,
  );
  return [...pageOf(answer), cookies.sort().join()];
}

/** Without what is new in each answer: states, nonces, ids, instants. Word by word, so that no page takes long. */
function steady(text: string): string {
  return text.replace(/[\w%+.-]+/g, (word) => (/\d|[\w%+-]{20}/.test(word) ? "#" : word));
}
