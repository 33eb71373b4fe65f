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
  "Nothing was connected: somebody else was logged in when this login was started, or nobody was. A login is finished " +
  "by the person who started it; start it again";

const OUT_OF_REACH: FailureWords = {
  title: "We could not reach your store",
  text: "The service it runs on did not answer as it should. Nothing was lost. Try again in a few minutes.",
  action: "wait",
};

/**
 * Each reason has a sentence that no other has, by which a developer finds it. `retail-pos doctor` knows those of
 * logins too.
 */
const WORDS: Readonly<Record<LoginFailureCode | RetailPosErrorCode, FailureWords>> = {
  access_denied: {
    title: "You declined the access",
    text: "Nothing was connected, and nothing has changed. You can start again whenever you like.",
    action: "log_in",
  },
  state_missing: {
    title: "This login did not start here",
    text: "The link you followed is not part of a login that was started here. Start again from the beginning.",
    action: "log_in",
  },
  state_unknown: {
    title: "We could not match this login",
    text:
      "It was used already, or it was started in another browser. Start again in this one. If it happens again, " +
      "allow cookies for this site.",
    action: "log_in",
  },
  state_expired: {
    title: "This login took too long",
    text: "It has to be finished within 15 minutes. Start again.",
    action: "log_in",
  },
  invalid_domain_prefix: {
    title: "That is not a store we can talk to",
    text: "The answer of the service names no store. Start again from the beginning.",
    action: "log_in",
  },
  invalid_callback: {
    title: "The answer of the service was damaged",
    text: "Parts of it were missing, or came twice. Start again.",
    action: "log_in",
  },
  code_refused: {
    title: "The service did not take this login",
    text: "Its confirmation was used already, or is too old. Start again.",
    action: "log_in",
  },
  retailer_not_accepted: {
    title: "This store cannot be connected here",
    text: "Nothing was connected. Choose another store.",
    action: "log_in",
  },
  login_refused: {
    title: "You were not let in here",
    text: "Nothing was connected. Choose another store, or ask the people who run this site.",
    action: "log_in",
  },
  authorization_failed: {
    title: "The service could not connect your store",
    text: "Something went wrong there. Nothing was connected. Try again in a few minutes.",
    action: "wait",
  },
  not_connected: {
    title: "Your store is not connected",
    text: "Connect it to go on.",
    action: "log_in",
  },
  reconnect_required: {
    title: "Your store has to be connected again",
    text: "It no longer accepts the access it once gave. Connect it again; nothing else is lost.",
    action: "log_in",
  },
  rate_limited: {
    title: "One moment, please",
    text: "Your store's service takes only so many requests at a time. Nothing was lost. Try again in a moment.",
    action: "wait",
  },
  token_endpoint_failed: OUT_OF_REACH,
  bad_token_response: OUT_OF_REACH,
  client_refused: {
    title: "This is ours to fix",
    text: "The service does not let this site in at the moment. Nothing is wrong with your store. Come back later.",
    action: "home",
  },
  store_failed: {
    title: "We cannot get at our own records",
    text: "Nothing was lost. Try again in a minute.",
    action: "wait",
  },
  /** Never a login: it would replace a record that is good once the key or the setting is right. */
  bad_stored_tokens: {
    title: "We cannot read our record of your store",
    text: "This is ours to fix. Nothing is wrong with your store, and nothing was lost. Come back later.",
    action: "home",
  },
};

const SEALED_ELSEWHERE: FailureWords = {
  title: "This login cannot be read any more",
  text:
    "It was started here and can no longer be read here. Start again. If it happens again, tell the people who run " +
    "this site.",
  action: "log_in",
};

const NOT_THE_SAME_PERSON: FailureWords = {
  title: "You logged in or out meanwhile",
  text: "This login belongs to what you did before that. Nothing was connected. Start again.",
  action: "log_in",
};

const OTHERWISE: FailureWords = {
  title: "That did not work",
  text: "Something went wrong on our side. Nothing was lost. Try again in a few minutes.",
  action: "wait",
};

/**
 * What to tell a person whose login or call failed, in plain English: no code, no secret, nothing that came from a
 * request or from the service.
 *
 * @param failure a failure of `webLogin`, of `loginFlow` or of the strategy, or an error of core's as
 * `{ code: error.code, error }`. A code that is none of these gets general words.
 */
export function failureWords(failure: {
  readonly code: string;
  readonly error?: unknown;
  readonly message?: string | undefined;
}): FailureWords {
  const { code, error, message } = failure;
  if (code === "state_unknown" && message === CANNOT_BE_OPENED) return SEALED_ELSEWHERE;
  if (code === "state_unknown" && message === OF_ANOTHER_PERSON) return NOT_THE_SAME_PERSON;
  if (code === "token_endpoint_failed" && isRetailPosError(error) && error.status === 403)
    return WORDS.code_refused; // as core's own `exchange` says it
  if (!Object.hasOwn(WORDS, code)) return OTHERWISE;
  const retryAt = code === "rate_limited" ? Object(error).retryAt : undefined;
  return { ...WORDS[code as keyof typeof WORDS], ...(Number.isFinite(retryAt) && { retryAt }) };
}
