import { isRetailPosError } from "@retail-pos/core";
import type { Response } from "express";
import { type PlainTime, plainTime } from "./plain-time.js";

/** A page for what went wrong: what happened, and the one thing to do about it. */
export interface Problem {
  /** One of those in `public/pictures.svg`. */
  readonly picture: string;
  /** Above the heading, if nobody was connecting a store; default "Trouble". */
  readonly eyebrow?: string;
  readonly heading: string;
  readonly advice: string;
}

const OUT_OF_REACH: Problem = {
  picture: "cone",
  heading: "We could not reach your store",
  advice: "The service it runs on did not answer as it should. Nothing was lost. Try again in a few minutes.",
};

const OTHERWISE: Problem = {
  picture: "cone",
  heading: "That did not work",
  advice: "Something went wrong on our side. Nothing was lost. Try again in a few minutes.",
};

const PROBLEMS: Readonly<Record<string, Problem>> = {
  access_denied: {
    picture: "sign",
    heading: "You declined the access",
    advice: "Nothing was connected, and nothing has changed. You can connect the store whenever you like.",
  },
  state_missing: {
    picture: "signpost",
    heading: "This did not start here",
    advice:
      "The link you followed connects no store of yours. Start from your stores; it only takes a moment.",
  },
  state_unknown: {
    picture: "halves",
    heading: "We could not match this answer",
    advice:
      "It was used already, or it began in another browser. Connect the store once more in this one. If it happens again, allow cookies for this site.",
  },
  state_expired: {
    picture: "hourglass",
    heading: "This took too long",
    advice: "Connecting a store has to be finished within 15 minutes. Start again; it only takes a moment.",
  },
  code_refused: {
    picture: "hourglass",
    heading: "The service did not take this answer",
    advice: "Its confirmation was used already, or is too old. Connect the store once more.",
  },
  invalid_domain_prefix: {
    picture: "signpost",
    heading: "That is not a store we can talk to",
    advice: "The address that came back names no store, so nothing was sent to it.",
  },
  invalid_callback: {
    picture: "halves",
    heading: "The answer of the service was damaged",
    advice: "Parts of it were missing, or came twice. Connect the store once more.",
  },
  retailer_not_accepted: {
    picture: "lock",
    heading: "This store is not let in here",
    advice: "Shelfview is not open to the store you chose. Nothing was connected.",
  },
  authorization_failed: {
    picture: "cone",
    heading: "The service could not connect your store",
    advice:
      "Something went wrong there. Nothing was connected. Try again in a few minutes. If it happens again, tell us.",
  },
  rate_limited: {
    picture: "clock",
    heading: "One moment, please",
    advice: "The store’s service takes only so many requests at a time. Nothing was lost.",
  },
  too_many_attempts: {
    picture: "clock",
    eyebrow: "Please wait",
    heading: "Too many tries",
    advice: "To keep accounts safe, only so many passwords can be tried. Come back in a quarter of an hour.",
  },
  token_endpoint_failed: OUT_OF_REACH,
  bad_token_response: OUT_OF_REACH,
  client_refused: {
    picture: "cone",
    heading: "This is ours to mend",
    advice:
      "The service does not let Shelfview in at the moment. Nothing is wrong with your store. Try again later today.",
  },
  // Only of another application's record: over a damaged one people log in.
  bad_stored_tokens: {
    picture: "cone",
    heading: "This is ours to mend",
    advice:
      "Our records are mixed up with those of another program. Nothing is wrong with your store. Try again later today.",
  },
  store_failed: {
    picture: "cone",
    heading: "We cannot get at our own records",
    advice: "Nothing was lost. Try again in a minute.",
  },
  bad_request: {
    picture: "halves",
    heading: "That is no form of ours",
    advice: "What came here was damaged on its way, or too long.",
  },
  not_found: {
    picture: "signpost",
    eyebrow: "Not found",
    heading: "There is no such page",
    advice: "The address may be mistyped, or the store is not one of yours.",
  },
};

/** What more is known of a problem. */
interface Around {
  /** Whether somebody was connecting a store: what helps is to begin anew, not to load the page again. */
  readonly isConnecting?: boolean;
  /** The error, if there is one. */
  readonly error?: unknown;
}

/**
 * Renders the page.
 *
 * @param code why a store was not connected, the code of core's error, or one of our own.
 */
export function showProblem(res: Response, code: string, { isConnecting = false, error }: Around = {}): void {
  res.render("problem", { problem: PROBLEMS[code] ?? OTHERWISE, isConnecting, wait: waitOf(error) });
}

/** For how long a button is of no use yet, and until when if that is more than a minute. */
interface Wait {
  /** Those of Retry-After: the reader's clock may be wrong. */
  readonly seconds: number;
  readonly until?: PlainTime;
}

function waitOf(error: unknown): Wait | undefined {
  if (!isRetailPosError(error) || error.code !== "rate_limited") return undefined;
  const seconds = Number(error.headers["Retry-After"]);
  if (seconds <= 60) return { seconds };
  return { seconds, until: plainTime(Math.ceil(error.retryAt / 60_000) * 60_000) };
}
