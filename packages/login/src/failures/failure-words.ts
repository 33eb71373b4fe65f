import { isRetailPosError, type RetailPosErrorCode } from "@retail-pos/core";
import type { LoginFailureCode } from "./login-failure.js";

/** What to tell a person whose login or call failed. */
export interface FailureWords {
  /** A few words, without a full stop. */
  readonly title: string;
  /** What happened and what to do, in whole sentences. */
  readonly text: string;
  /**
   * What helps: a new login (`log_in`), trying again later (`wait`), or only the operator (`home`: show the way back to
   * the start page).
   */
  readonly action: "log_in" | "wait" | "home";
  /** If it is known: when trying again is of use, epoch milliseconds. */
  readonly retryAt?: number;
}

/** The message for a cookie that came back and cannot be opened; its code is `state_unknown`. */
export const CANNOT_BE_OPENED: string =
  "The cookie of this login cannot be opened: it was changed on the way, or sealed with a secret that this " +
  "deployment does not have";

/** The message for a login that another person began, or nobody who was logged in; `state_unknown` too. */
export const OF_ANOTHER_PERSON: string =
  "Nothing was connected: whoever is logged in now did not start this login. Somebody logged in or out meanwhile, or the " +
  "session is gone (one in memory ends with its process, another application of this host may use its cookie's name, and " +
  "its cookie may be SameSite=Strict), or req.user has no id that the strategy knows. Start the login again";

const wordsWith =
  (action: FailureWords["action"]) =>
  (title: string, text: string): FailureWords => ({ title, text, action });
const [logIn, wait, home] = [wordsWith("log_in"), wordsWith("wait"), wordsWith("home")];

const OUT_OF_REACH = wait(
  "We could not reach your store",
  "The service it runs on did not answer as it should. Nothing was lost. Try again in a few minutes.",
);

/**
 * Each reason has a sentence that no other has, by which a developer finds it. `retail-pos doctor` knows those of
 * logins too.
 */
const WORDS: Readonly<Record<LoginFailureCode | RetailPosErrorCode, FailureWords>> = {
  access_denied: logIn(
    "You declined the access",
    "Nothing was connected, and nothing has changed. You can start again whenever you like.",
  ),
  state_missing: logIn(
    "This login did not start here",
    "The link you followed is not part of a login that was started here. Start again from the beginning.",
  ),
  state_unknown: logIn(
    "We could not match this login",
    "This browser has no such login under way. Perhaps it was finished already: look whether your store is connected. " +
      "If not, start again in this browser. If it happens again, allow cookies for this site.",
  ),
  state_expired: logIn("This login took too long", "It has to be finished within 15 minutes. Start again."),
  invalid_domain_prefix: logIn(
    "That is not a store we can talk to",
    "The answer of the service names no store. Start again from the beginning.",
  ),
  invalid_callback: logIn(
    "The answer of the service was damaged",
    "Parts of it were missing, or came twice. Start again.",
  ),
  code_refused: logIn(
    "The service did not take this login",
    "Its confirmation was used already, or is too old. Start again.",
  ),
  retailer_not_accepted: logIn(
    "This store cannot be connected here",
    "Nothing was connected. Choose another store.",
  ),
  login_refused: logIn(
    "You were not let in here",
    "Nothing was connected. Choose another store, or ask the people who run this site.",
  ),
  authorization_failed: wait(
    "The service could not connect your store",
    "Something went wrong there. Nothing was connected. Try again in a few minutes.",
  ),
  not_connected: logIn("Your store is not connected", "Connect it to go on."),
  reconnect_required: logIn(
    "Your store has to be connected again",
    "It no longer accepts the access it once gave. Connect it again; nothing else is lost.",
  ),
  rate_limited: wait(
    "One moment, please",
    "Your store's service takes only so many requests at a time. Nothing was lost. Try again in a moment.",
  ),
  token_endpoint_failed: OUT_OF_REACH,
  bad_token_response: OUT_OF_REACH,
  client_refused: home(
    "This is ours to fix",
    "The service does not let this site in at the moment. Nothing is wrong with your store. Come back later.",
  ),
  store_failed: wait("We cannot get at our own records", "Nothing was lost. Try again in a minute."),
  /** Never a login: it would replace a record that is good once the key or the setting is right. */
  bad_stored_tokens: home(
    "We cannot read our record of your store",
    "This is ours to fix. Nothing is wrong with your store, and nothing was lost. Come back later.",
  ),
};

const SEALED_ELSEWHERE = logIn(
  "This login cannot be read any more",
  "It was started here and can no longer be read here. Start again. If it happens again, tell the people who run " +
    "this site.",
);

const NOT_THE_SAME_PERSON = logIn(
  "You are not logged in as you were",
  "You logged in or out meanwhile, or your session ended. Nothing was connected. Start again.",
);

const OTHERWISE = wait(
  "That did not work",
  "Something went wrong on our side. Nothing was lost. Try again in a few minutes.",
);

/**
 * What to tell a person whose login or call failed, in plain English: no code, no secret, nothing that came from a
 * request or from the service.
 *
 * @param failure a failure of `webLogin`, of `loginFlow` or of the strategy, or an error of core's as
 * `{ code: error.code, error }`. A code that is none of these gets general words. `undefined`, Passport's `info` if
 * `verify` lets nobody in, gets those of `login_refused`.
 */
export function failureWords(
  failure: { code: string; error?: unknown; message?: string | undefined } = { code: "login_refused" },
): FailureWords {
  const { code, error, message } = failure;
  if (code === "state_unknown" && message === CANNOT_BE_OPENED) return SEALED_ELSEWHERE;
  if (code === "state_unknown" && message === OF_ANOTHER_PERSON) return NOT_THE_SAME_PERSON;
  if (code === "token_endpoint_failed" && isRetailPosError(error) && error.status === 403)
    return WORDS.code_refused; // as core's own `exchange` says it
  if (!Object.hasOwn(WORDS, code)) return OTHERWISE;
  const retryAt = code === "rate_limited" ? Object(error).retryAt : undefined;
  return { ...WORDS[code as keyof typeof WORDS], ...(Number.isFinite(retryAt) && { retryAt }) };
}
