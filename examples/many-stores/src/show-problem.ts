import { isRetailPosError } from "@retail-pos/core";
import type { Response } from "express";
import { failureWords } from "passport-retail-pos";
import { type PlainTime, plainTime } from "./plain-time.js";

/** One of those in `public/pictures.svg` for each code; a cone for every other. */
const PICTURES: Readonly<Record<string, string>> = {
  access_denied: "sign",
  state_missing: "signpost",
  state_unknown: "halves",
  state_expired: "hourglass",
  code_refused: "hourglass",
  invalid_domain_prefix: "signpost",
  invalid_callback: "halves",
  retailer_not_accepted: "lock",
  rate_limited: "clock",
  too_many_attempts: "clock",
  bad_request: "halves",
  not_found: "signpost",
};

/** What only this application knows. */
const OWN: Readonly<Record<string, { eyebrow?: string; title: string; text: string }>> = {
  too_many_attempts: {
    eyebrow: "Please wait",
    title: "Too many tries",
    text: "To keep accounts safe, only so many passwords can be tried. Come back in a quarter of an hour.",
  },
  bad_request: {
    title: "That is no form of ours",
    text: "What came here was damaged on its way, or too long.",
  },
  not_found: {
    eyebrow: "Not found",
    title: "There is no such page",
    text: "The address may be mistyped, or the store is not one of yours.",
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
  const problem = { eyebrow: "Trouble", picture: PICTURES[code] ?? "cone", ...wordsOf(code, error) };
  res.render("problem", { problem, isConnecting, wait: waitOf(error) });
}

const wordsOf = (code: string, error: unknown) => OWN[code] ?? failureWords({ code, error });

/** For how long a button is of no use yet, and until when if that is more than a minute. */
interface Wait {
  /** Those of Retry-After: the reader's clock may be wrong. */
  readonly seconds: number;
  readonly until?: PlainTime;
}

export function waitOf(error: unknown): Wait | undefined {
  if (!isRetailPosError(error) || error.code !== "rate_limited") return undefined;
  const seconds = Number(error.headers["Retry-After"]);
  if (seconds <= 60) return { seconds };
  return { seconds, until: plainTime(Math.ceil(error.retryAt / 60_000) * 60_000) };
}
