import { isRetailPosError } from "@retail-pos/core";
import { type PlainTime, plainTime } from "./plain-time.js";

/** A page for what went wrong, to somebody who runs a store: what happened, and the one thing to do about it. */
export interface Problem {
  /** Nobody sees it: it is an attribute, for support, and for `retail-pos doctor`. */
  readonly code: string;
  /** One of those in `public/pictures.svg`. */
  readonly picture: string;
  readonly eyebrow: string;
  readonly heading: string;
  readonly advice: string;
  /** Where the button leads, and what is on it. */
  readonly href: string;
  readonly label: string;
  /** If the button is of no use yet: for how long, and until when if that is more than a minute. */
  readonly wait?: { readonly seconds: number; readonly until?: PlainTime };
}

/** What went wrong. */
export interface Failure {
  /** Why a login failed, or the code of core's error, or `not_found`. */
  readonly code: string;
  /** Whether somebody was logging in. */
  readonly isLogin?: boolean;
  /** Who is logged in. */
  readonly store?: string | undefined;
  /** The error, if there is one. */
  readonly error?: unknown;
}

/** The words for one code. `advice` is left out for somebody who is logged in anyway. */
interface Words {
  readonly picture: string;
  readonly heading: string;
  readonly what: string;
  readonly advice: string;
  /** Only a login helps, also somebody who is logged in. */
  readonly needsLogin?: true;
  /** No login helps: the application itself has to be mended. */
  readonly isOurs?: true;
  readonly label?: string;
}

const NOT_LET_IN: Words = {
  picture: "lock",
  heading: "This store is not let in here",
  what: "Shelfview is not open to the store you chose. Nothing was connected.",
  advice: "Choose another store, or ask us to let yours in.",
  label: "Log in with another store",
};

const OUT_OF_REACH: Words = {
  picture: "cone",
  heading: "We could not reach your store",
  what: "The service it runs on did not answer as it should. Nothing was lost.",
  advice: "Try again in a few minutes.",
};

const OTHERWISE: Words = {
  picture: "cone",
  heading: "That did not work",
  what: "Something went wrong on our side. Nothing was lost.",
  advice: "Try again in a few minutes.",
};

/** Another application keeps its record of this store where ours should be. */
const MIXED_UP: Words = {
  picture: "cone",
  heading: "This is ours to mend",
  what: "Our records are mixed up with those of another program. Nothing is wrong with your store.",
  advice: "Try again later today.",
  isOurs: true,
};

/** A login that is over, by its code. */
const LOGIN_FAILURES: Readonly<Record<string, Words>> = {
  access_denied: {
    picture: "sign",
    heading: "You declined the access",
    what: "Nothing was connected, and nothing has changed.",
    advice: "You can log in whenever you like.",
  },
  state_missing: {
    picture: "signpost",
    heading: "This login did not start here",
    what: "The link you followed is not part of a login of yours.",
    advice: "Start from here; it only takes a moment.",
  },
  state_unknown: {
    picture: "halves",
    heading: "We could not match this login",
    what: "It was used already, or it began in another browser.",
    advice: "Log in once more in this one. If it happens again, allow cookies for this site.",
  },
  state_expired: {
    picture: "hourglass",
    heading: "This login took too long",
    what: "A login has to be finished within 15 minutes.",
    advice: "Start again; it only takes a moment.",
  },
  code_refused: {
    picture: "hourglass",
    heading: "The service did not take this login",
    what: "Its confirmation was used already, or is too old.",
    advice: "Log in once more.",
  },
  invalid_domain_prefix: {
    picture: "signpost",
    heading: "That is not a store we can talk to",
    what: "The address that came back names no store, so nothing was sent to it.",
    advice: "Log in from here.",
  },
  invalid_callback: {
    picture: "halves",
    heading: "The answer of the service was damaged",
    what: "Parts of it were missing, or came twice.",
    advice: "Log in once more.",
  },
  retailer_not_accepted: NOT_LET_IN,
  login_refused: NOT_LET_IN,
  authorization_failed: {
    picture: "cone",
    heading: "The service could not log you in",
    what: "Something went wrong there. Nothing was connected.",
    advice: "Try again in a few minutes. If it happens again, tell us.",
  },
};

/** What core's errors say, at a login or on any other page. */
const TROUBLES: Readonly<Record<string, Words>> = {
  rate_limited: {
    picture: "clock",
    heading: "One moment, please",
    what: "Your store’s service takes only so many requests at a time. Nothing was lost.",
    advice: "",
  },
  token_endpoint_failed: OUT_OF_REACH,
  bad_token_response: OUT_OF_REACH,
  client_refused: {
    picture: "cone",
    heading: "This is ours to mend",
    what: "The service does not let Shelfview in at the moment. Nothing is wrong with your store.",
    advice: "Try again later today.",
    isOurs: true,
  },
  store_failed: {
    picture: "cone",
    heading: "We cannot get at our own records",
    what: "Nothing was lost.",
    advice: "Try again in a minute.",
  },
  bad_stored_tokens: {
    picture: "plug",
    heading: "Your store has to be connected once more",
    what: "Our record of the connection cannot be read.",
    advice: "Log in with the store again; nothing else is lost.",
    needsLogin: true,
  },
  not_connected: {
    picture: "plug",
    heading: "Your store is not connected",
    what: "Shelfview shows a store only while it is connected.",
    advice: "Log in with it to see your products.",
    needsLogin: true,
  },
  reconnect_required: {
    picture: "plug",
    heading: "Your store has to be connected again",
    what: "It no longer accepts the access it once gave.",
    advice: "Log in with the store once more; nothing else is lost.",
    needsLogin: true,
  },
  not_found: {
    picture: "signpost",
    heading: "There is no such page",
    what: "The address may be mistyped, or the page is gone.",
    advice: "",
  },
};

/** Chooses words and button by what went wrong and by who is logged in. */
export function problemOf(failure: Failure): Problem {
  const { code, isLogin = false, store } = failure;
  const loginFailure = LOGIN_FAILURES[code];
  const words = loginFailure ?? (isMixedUp(failure) ? MIXED_UP : TROUBLES[code]) ?? OTHERWISE;
  const { picture, heading, what, advice, needsLogin, isOurs, label } = words;
  const problem = { code, picture, heading, advice: `${what} ${advice}`.trim(), ...waitOf(failure) };
  const eyebrow = problem.wait ? "Please wait" : "Trouble";
  if (code === "not_found")
    return { ...problem, eyebrow: "Not found", ...(store === undefined ? TO_START : TO_PRODUCTS) };
  if (!isLogin && needsLogin) return { ...problem, eyebrow: "Login needed", ...TO_LOGIN };
  if (!isLogin) return { ...problem, eyebrow, ...AGAIN };
  if (loginFailure && store !== undefined) {
    const stillIn = `${what} You are still logged in with ${store}.`;
    return { ...problem, eyebrow: "Still logged in", advice: stillIn, ...TO_PRODUCTS };
  }
  const button = isOurs ? TO_START : { ...TO_LOGIN, ...(label && { label }) };
  return { ...problem, eyebrow: store === undefined ? "Not logged in" : eyebrow, ...button };
}

const TO_START = { href: "/", label: "Go to the start" };
const TO_LOGIN = { href: "/auth/retail-pos", label: "Log in with store" };
const TO_PRODUCTS = { href: "/products", label: "Back to your products" };
const AGAIN = { href: "/products", label: "Show my products" };

/**
 * Whether a login failed only because it was finished before: somebody who is logged in pressed Back and approved
 * again. They want their page, not a failure.
 *
 * @param domainPrefix the callback's parameter.
 * @param store who is logged in.
 */
export function isLoggedInAlready(code: string, domainPrefix: unknown, store: string | undefined): boolean {
  return code.startsWith("state_") && store !== undefined && domainPrefix === store;
}

const isMixedUp = ({ error }: Failure) =>
  isRetailPosError(error) && error.code === "bad_stored_tokens" && error.isOfAnotherApplication;

/** The seconds are those of Retry-After: the reader's clock may be wrong. */
function waitOf({ error }: Failure): Pick<Problem, "wait"> {
  if (!isRetailPosError(error) || error.code !== "rate_limited") return {};
  const seconds = Number(error.headers["Retry-After"]);
  if (seconds <= 60) return { wait: { seconds } };
  return { wait: { seconds, until: plainTime(Math.ceil(error.retryAt / 60_000) * 60_000) } };
}
