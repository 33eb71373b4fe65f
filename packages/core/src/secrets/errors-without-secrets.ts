import { redact, shows } from "./redact.js";
import { read, textsIn } from "./texts-in-error.js";

/**
 * Makes an error safe to throw, to keep as a `cause` or to give to an observer.
 *
 * @returns the error itself; or, if anything in it shows one of the secrets, a new error with its name, code, message
 * and stack frames, in which the secrets are replaced.
 */
export function withoutSecrets(error: unknown, secrets: readonly string[]): unknown {
  const contents = textsIn(error);
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
 * Matches `ENOTFOUND`, `UNABLE_TO_GET_ISSUER_CERT_LOCALLY`, `ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE`, `closed`: short
 * words, all in one case. No token looks like that.
 */
const CODE = /^(?:[A-Z][A-Z0-9]{1,15}(?:[_/][A-Z0-9]{1,15}){0,8}|[a-z]{2,16}(?:_[a-z]{2,16}){0,4})$/;
/** In a longer chain of causes, the rest is ignored. */
const MOST_CAUSES = 5;

/**
 * What the innermost `cause` says, which is nearest to where the error began: its `code` and its plain words, such as
 * "invalid onRequestStart method".
 */
export function rootCause(error: unknown, secrets: readonly string[]): { code?: string; words?: string } {
  const found: { code?: string; words?: string } = {};
  let one = error;
  for (let causes = 0; causes <= MOST_CAUSES && one !== undefined; causes += 1) {
    const own = read(one, "code");
    if (typeof own === "string" && CODE.test(own) && !shows(own, secrets)) found.code = own;
    if (causes > 0)
      found.words = plainWords(redact(messageOf(one), secrets)).replace(/(?<! ) *\[hidden\]$/, "");
    one = read(one, "cause") ?? firstInner(one);
  }
  return found;
}

/** Of an `AggregateError`: Node makes one without a message, if a name has several addresses and none answers. */
function firstInner(error: unknown): unknown {
  const errors = read(error, "errors");
  return Array.isArray(errors) ? errors[0] : undefined;
}

/**
 * Makes an error safe to show if the secrets in it are unknown: a store's error may repeat a record that this process
 * has never read. Only plain words of the message stay, those of at most 14 letters. All others might be tokens.
 *
 * @param error any value that was thrown.
 * @returns a new error with its name, its code if that is plain, and its stack frames.
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

/** Those of at most 14 letters. All others might be tokens. */
export function plainWords(text: string): string {
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

/** An error without a message is told by its first inner error, its cause, its code or its name. */
export function messageOf(error: unknown, depth: number = MOST_CAUSES): string {
  const message = typeof error === "string" ? error : read(error, "message");
  if (typeof message === "string" && message.trim() !== "") return message;
  const inner = firstInner(error) ?? read(error, "cause");
  if (inner !== undefined && depth > 0) return messageOf(inner, depth - 1);
  const names = [read(error, "code"), read(error, "name")];
  return names.find((name): name is string => typeof name === "string" && name !== "") ?? "unknown error";
}

/** The lines of a stack that name a place in a file, without the lines before them, which repeat the message. */
function framesOf(error: unknown): string {
  const stack = read(error, "stack");
  if (typeof stack !== "string") return "";
  const message = messageOf(error);
  const afterMessage = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : "";
  return afterMessage
    .split("\n")
    .filter((line) => /^ +at .+:\d+:\d+\)?$/.test(line))
    .join("\n");
}
