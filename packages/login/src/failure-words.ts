import type { LoginFailureCode } from "./login-failure.js";

/** The message for a cookie that came back and cannot be opened; its code is `state_unknown`. */
export const CANNOT_BE_OPENED: string =
  "The cookie of this login cannot be opened: it was changed on the way, or sealed with a secret that this " +
  "deployment does not have";

/**
 * What somebody reads whose login failed, if the application has no words of its own: what happened, and what to do.
 * Each reason has a sentence that no other has, by which a developer finds it. `retail-pos doctor` knows them too.
 */
const WORDS: Readonly<Record<Exclude<LoginFailureCode, "authorization_failed">, string>> = {
  access_denied: "You declined the access. Nothing was connected. You can log in whenever you like.",
  state_missing: "This link is not part of a login that was started here. Log in again from the beginning.",
  state_unknown:
    "We could not match this login: it was used already, or it was started in another browser. Log in again in " +
    "this one. If it happens again, allow cookies for this site.",
  state_expired: "This login took longer than 15 minutes. Log in again.",
  invalid_domain_prefix: "The answer of the service names no store. Log in again from the beginning.",
  invalid_callback: "The answer of the service was damaged. Log in again from the beginning.",
  code_refused:
    "The service did not take this login: its confirmation was used already, or is too old. Log in again.",
  retailer_not_accepted: "This store cannot log in here. Nothing was connected. Log in with another store.",
  login_refused: "You were not let in here. Nothing was connected.",
};

const READ_ELSEWHERE =
  "This login was started here and can no longer be read here. Log in again. If it happens again, tell the people " +
  "who run this site.";

/** Nobody reads what went wrong on our side of the login. */
const OURS = "The login did not work. Start it again in a while.";

/** For whoever logs in: no code, and nothing that only a developer understands. */
export function wordsFor(failure: { code: string; status: number; message: string }): string {
  const { code, status, message } = failure;
  if (status >= 500 || !Object.hasOwn(WORDS, code)) return OURS;
  return message === CANNOT_BE_OPENED ? READ_ELSEWHERE : WORDS[code as keyof typeof WORDS];
}
