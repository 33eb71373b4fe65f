import { redact, shows } from "./redact.js";
import { contentsOf, read } from "./texts-in-error.js";

/**
 * An error that may be kept as a `cause`, thrown or told to an observer: the error itself; or, if anything in it shows
 * one of the secrets, a new one with its name, its code, its cleaned message and the frames of its stack.
 */
export function withoutSecrets(error: unknown, secrets: readonly string[]): unknown {
  const contents = contentsOf(error);
  if (contents !== undefined && !shows(contents, secrets)) return error;
  const hide = (text: unknown) => redact(String(text), secrets);
  const code = read(error, "code");
  return errorWith({
    name: hide(read(error, "name") ?? "Error"),
    message: hide(messageOf(error)),
    ...(code !== undefined && { code: hide(code) }),
    frames: hide(framesOf(error)),
  });
}

/**
 * `ENOTFOUND`, `UNABLE_TO_GET_ISSUER_CERT_LOCALLY`, `ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE`, `closed`: short words,
 * all in one case, as no token is written.
 */
const CODE = /^(?:[A-Z][A-Z0-9]{1,15}(?:[_/][A-Z0-9]{1,15}){0,8}|[a-z]{2,16}(?:_[a-z]{2,16}){0,4})$/;
/** A chain of causes that is longer is not followed. */
const MOST_CAUSES = 5;

/**
 * The `code` nearest to where an error began: of the last of its causes that has one.
 *
 * @returns undefined if none of them has a plain one, or if it shows a secret.
 */
export function codeBehind(error: unknown, secrets: readonly string[]): string | undefined {
  let found: string | undefined;
  let one = error;
  for (let causes = 0; causes <= MOST_CAUSES && one !== undefined; causes += 1) {
    const code = read(one, "code");
    if (typeof code === "string" && CODE.test(code) && !shows(code, secrets)) found = code;
    one = read(one, "cause");
  }
  return found;
}

/**
 * An error as it may be shown if nobody knows which secrets it repeats: a store failed that holds them. Of the message
 * only plain words stay: nothing but letters, at most 14 of them. Everything else might be a token.
 *
 * @param error what was thrown, an error or not.
 * @returns a new error with its name, its code if that is a plain one, and the frames of its stack.
 */
export function inPlainWords(error: unknown): Error {
  const [name, code] = [read(error, "name"), read(error, "code")];
  const isWord = (text: unknown) => typeof text === "string" && /^[A-Za-z]{1,40}$/.test(text);
  const isCode =
    typeof code === "number" ||
    (typeof code === "string" && /^(?=.{1,40}$)[A-Z0-9]+(_[A-Z0-9]+)*$/.test(code));
  return errorWith({
    name: isWord(name) ? String(name) : "Error",
    message: plainWords(messageOf(error)),
    ...(isCode && { code }),
    frames: framesOf(error),
  });
}

function plainWords(text: string): string {
  const words = text
    .trim()
    .split(/\s+/)
    .map((word) => (/^["'(]?[A-Za-z]{0,14}["')]?[.,:;]?$/.test(word) ? word : "[hidden]"));
  return words.filter((word, index) => word !== "[hidden]" || words[index - 1] !== word).join(" ");
}

interface Cleaned {
  name: string;
  message: string;
  code?: unknown;
  frames: string;
}

function errorWith({ name, message, frames, ...code }: Cleaned): Error {
  const error = Object.assign(new Error(message), { name, ...code });
  if (frames) error.stack = `${name}: ${message}\n${frames}`;
  return error;
}

function messageOf(error: unknown): string {
  const message = typeof error === "string" ? error : read(error, "message");
  return typeof message === "string" ? message : "unknown error";
}

/** The lines of a stack that name a place in a file. The lines before them repeat the message. */
function framesOf(error: unknown): string {
  const stack = read(error, "stack");
  if (typeof stack !== "string") return "";
  const message = messageOf(error);
  const behind = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : "";
  return behind
    .split("\n")
    .filter((line) => /^ +at .+:\d+:\d+\)?$/.test(line))
    .join("\n");
}
