import { STATUS_CODES } from "node:http";
import { Cookie } from "tough-cookie";
import { type Answer, isSilence, type Reply } from "./browser-get.js";

/** What of an answer can be compared with another one. */
type Looks = Record<(typeof FEATURES)[number], string>;
const FEATURES = ["status", "location", "cookies", "text"] as const;

/**
 * Whether an answer differs from two that were both given to strangers. What differs between those two is noise, and
 * counts for nothing.
 */
export function differsFrom(answer: Answer, [one, other]: readonly [Answer, Answer]): boolean {
  const [is, was, again] = [looksOf(answer), looksOf(one), looksOf(other)];
  return FEATURES.some((feature) => was[feature] === again[feature] && is[feature] !== was[feature]);
}

/** Whether two answers are the same page, or the same way on. */
export function isSamePage(one: Answer, other: Answer): boolean {
  const [a, b] = [looksOf(one), looksOf(other)];
  return a.status === b.status && a.location === b.location && a.text === b.text;
}

/** A status and its name, as Passport answers without a page of the application's. */
export function isBare(reply: Reply, status: number): boolean {
  return !isSilence(reply) && reply.status === status && reply.text.trim() === STATUS_CODES[status];
}

function looksOf({ status, location, headers, text }: Answer): Looks {
  return {
    status: String(status),
    location: location ? location.origin + location.pathname + steady(location.search) : "",
    cookies: cookiesIn(headers).sort().join(),
    text: steady(text),
  };
}

/** Their names: which are set and which are deleted. Values change with every answer, and parts of some names. */
function cookiesIn(headers: Headers): string[] {
  return headers.getSetCookie().flatMap((line) => {
    const cookie = Cookie.parse(line);
    return cookie ? [`${steady(cookie.key)}${cookie.TTL() > 0 ? "" : " deleted"}`] : [];
  });
}

/** Without what is new in each answer: states, nonces, ids, instants. Word by word, so that no page takes long. */
function steady(text: string): string {
  return text.replace(/[\w%+.-]+/g, (word) => (/\d|[\w%+-]{20}/.test(word) ? "#" : word));
}
