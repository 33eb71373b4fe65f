import {
  RateLimitedError,
  type ReconnectRequiredError,
  RefusedEarlyError,
  type RetailPosError,
} from "../vocabulary/errors.js";
import { isExpired, limitOf, refusalOf, renewalDueAt } from "../vocabulary/token-life.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/**
 * What a caller gets who wants a token. An error: the token has ended, and no token request may be sent now.
 *
 * | decision | the caller | beside it |
 * |---|---|---|
 * | `"load"` | waits until the store has been asked | |
 * | `"serve"` | gets the cached token | |
 * | `"serve and renew"` | gets the cached token | a renewal starts in the background (behaviour 5) |
 * | `"renew"` | waits for a renewal | |
 */
export type Decision = "load" | "serve" | "serve and renew" | "renew" | RetailPosError;

/** What a decision depends on, beside the token set. */
export interface Facts {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly renewEarlyMs: number;
  /** Whether the set may be used without asking the store: it was asked within `cacheMs`, or has not taken the set. */
  readonly isFresh: boolean;
  /** Whether the API rejected the set's access token. */
  readonly isRejected: boolean;
  /** The set with what this process itself recorded of a refusal: the store may not have kept it. */
  readonly recorded: TokenSet;
  /** The error of that refusal, with the service's words. */
  readonly refusal?: ReconnectRequiredError | undefined;
  /** The retailer's back-off that lasts now (behaviour 7). */
  readonly pause: { readonly error?: RetailPosError } | undefined;
}

/** @param set the cached set; `undefined` if none is known. */
export function decide(set: TokenSet | undefined, facts: Facts): Decision {
  if (!set || !facts.isFresh) return "load";
  if (!isLive(set, facts)) return heldBackBy(set, facts) ?? "renew";
  const isDue = facts.now >= renewalDueAt(set, facts.renewEarlyMs);
  return isDue && !facts.pause && !heldBackBy(set, facts) ? "serve and renew" : "serve";
}

/** Whether a decision is to hand out the cached token. */
export function serves(decision: Decision): boolean {
  return decision === "serve" || decision === "serve and renew";
}

/** Why no token request may be sent for the set now; `undefined` if one may. */
export function heldBackBy(set: TokenSet, facts: Facts): RetailPosError | undefined {
  const { now, recorded, pause } = facts;
  const ours = refusalOf(recorded, now);
  const refused = (ours && facts.refusal) ?? ours ?? refusalOf(set, now);
  return refused ?? errorNow(pause?.error, now) ?? limitOf(set, now) ?? refusedEarly(set, facts);
}

/** The access token has not expired, and the API has not rejected it. */
function isLive({ access }: TokenSet, { isRejected, now }: Facts): boolean {
  return !isRejected && !isExpired(access, now);
}

/** The remembered error; the `Retry-After` of a 429 counts from now. */
function errorNow(error: RetailPosError | undefined, now: number): RetailPosError | undefined {
  if (!(error instanceof RateLimitedError)) return error;
  const { retryAt, rateLimit, domainPrefix } = error;
  return new RateLimitedError(retryAt, now, rateLimit, { domainPrefix });
}

/** The service refused an early renewal of this token: none is tried again before its end (behaviour 8). */
function refusedEarly(set: TokenSet, facts: Facts): RefusedEarlyError | undefined {
  const isNoted = set.refusedEarlyAt !== undefined || facts.recorded.refusedEarlyAt !== undefined;
  if (!isNoted || !isLive(set, facts)) return undefined;
  const { domainPrefix } = set;
  const what = `An early renewal of the tokens of retailer "${domainPrefix}" was refused before`;
  return new RefusedEarlyError(`${what}; the next request comes at the access token's end`, { domainPrefix });
}
