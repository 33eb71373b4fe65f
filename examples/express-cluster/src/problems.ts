import { isRetailPosError } from "@retail-pos/core";
import { failureWords } from "passport-retail-pos";
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

/** A cone for every other code. */
const PICTURES: Readonly<Record<string, string>> = {
  access_denied: "sign",
  state_missing: "signpost",
  state_unknown: "halves",
  state_expired: "hourglass",
  code_refused: "hourglass",
  invalid_domain_prefix: "signpost",
  invalid_callback: "halves",
  retailer_not_accepted: "lock",
  login_refused: "lock",
  rate_limited: "clock",
  bad_stored_tokens: "plug",
  not_connected: "plug",
  reconnect_required: "plug",
};

/** Chooses words and button by what went wrong and by who is logged in. */
export function problemOf(failure: Failure): Problem {
  const { code, isLogin = false, store } = failure;
  if (code === "not_found") return { ...NOT_FOUND, ...(store === undefined ? TO_START : TO_PRODUCTS) };
  const { title, text, action } = failureWords(failure);
  const picture = (action !== "home" && PICTURES[code]) || "cone";
  const problem = { code, picture, heading: title, advice: text, ...waitOf(failure) };
  const eyebrow = problem.wait ? "Please wait" : "Trouble";
  if (!isLogin && action === "log_in") return { ...problem, eyebrow: "Login needed", ...TO_LOGIN };
  if (!isLogin) return { ...problem, eyebrow, ...AGAIN };
  if (store !== undefined && (action === "log_in" || code === "authorization_failed")) {
    const advice = `You are still logged in with ${store}.`;
    return { ...problem, eyebrow: "Still logged in", advice, ...TO_PRODUCTS };
  }
  const button = action === "home" ? TO_START : TO_LOGIN;
  return { ...problem, eyebrow: store === undefined ? "Not logged in" : eyebrow, ...button };
}

const NOT_FOUND = {
  code: "not_found",
  picture: "signpost",
  eyebrow: "Not found",
  heading: "There is no such page",
  advice: "The address may be mistyped, or the page is gone.",
};
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

/** The seconds are those of Retry-After: the reader's clock may be wrong. */
function waitOf({ error }: Failure): Pick<Problem, "wait"> {
  if (!isRetailPosError(error) || error.code !== "rate_limited") return {};
  const seconds = Number(error.headers["Retry-After"]);
  if (seconds <= 60) return { wait: { seconds } };
  return { wait: { seconds, until: plainTime(Math.ceil(error.retryAt / 60_000) * 60_000) } };
}
