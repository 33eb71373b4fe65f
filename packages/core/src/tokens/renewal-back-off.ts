import { BoundedMap } from "../platform/bounded-map.js";
import { FIRST_PAUSE_MS, longestPauseAfter } from "../platform/pauses.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError, type RetailPosError, UnavailableError } from "../vocabulary/errors.js";
import { type RateLimit, retryAtOf } from "../vocabulary/rate-limit.js";

/**
 * Decides, retailer by retailer, when a renewal may not go out (behaviour 7): after a 429 until the reset, after any
 * other failure for 1 s doubling to 60 s, and after a 503 at least as long as its `Retry-After`. Other retailers are
 * unaffected.
 */
export type BackOff = ReturnType<typeof backOff>;

/** A time in which a retailer's renewals wait. */
export interface Pause {
  readonly at: number;
  readonly until: number;
  /** Absent if only early renewals wait. */
  readonly error?: RetailPosError;
  /** Failures in a row. */
  readonly failures: number;
}

/** Beyond it the oldest are dropped: each costs one more token request. */
const MOST_PAUSES = 20_000;

export function backOff(clock: () => number) {
  const pauses = new BoundedMap<DomainPrefix, Pause>(MOST_PAUSES);

  return {
    /** The pause that lasts at this instant. */
    pause: (domainPrefix: DomainPrefix, now?: number): Pause | undefined => active(domainPrefix, now),
    /** The 429 for a login that is wanted now. No other failure stops a person. */
    limit(domainPrefix: DomainPrefix): RateLimitedError | undefined {
      const error = active(domainPrefix)?.error;
      return error instanceof RateLimitedError ? asOfNow(error, clock()) : undefined;
    },
    failed(domainPrefix: DomainPrefix, error: RetailPosError): void {
      if (isLimited(domainPrefix) && !(error instanceof RateLimitedError)) return;
      const failures = (pauses.get(domainPrefix)?.failures ?? 0) + 1;
      const at = clock();
      const until = error instanceof RateLimitedError ? error.retryAt : at + pauseAfter(failures);
      const atLeast = error instanceof UnavailableError ? error.retryAt : until;
      pauses.set(domainPrefix, { at, until: Math.max(until, atLeast), error, failures });
    },
    succeeded(domainPrefix: DomainPrefix, rateLimit: RateLimit | undefined): void {
      if (isLimited(domainPrefix)) return;
      pauses.delete(domainPrefix);
      const at = clock();
      if (rateLimit?.remaining === 0)
        pauses.set(domainPrefix, { at, until: retryAtOf(rateLimit, at), failures: 0 });
    },
    /** The store or the lock failed: early renewals wait a second, and callers without a live token still try. */
    storeFailed(domainPrefix: DomainPrefix): void {
      const at = clock();
      if (active(domainPrefix)) return;
      const failures = pauses.get(domainPrefix)?.failures ?? 0;
      pauses.set(domainPrefix, { at, until: at + FIRST_PAUSE_MS, failures });
    },
  };

  /** Until the reset, other results are ignored: they can only come from requests that were already under way. */
  function isLimited(domainPrefix: DomainPrefix): boolean {
    return active(domainPrefix)?.error instanceof RateLimitedError;
  }

  /** The pause that lasts now. One that begins later does not: a clock that is set back must not stop a retailer. */
  function active(domainPrefix: DomainPrefix, now: number = clock()): Pause | undefined {
    const pause = pauses.get(domainPrefix);
    return pause && pause.at <= now && now < pause.until ? pause : undefined;
  }
}

/** The remembered error. The `Retry-After` of a 429 counts from now. */
export function asOfNow<E extends RetailPosError>(error: E, now: number): E | RateLimitedError {
  if (!(error instanceof RateLimitedError)) return error;
  const { retryAt, rateLimit, domainPrefix } = error;
  return new RateLimitedError(retryAt, now, rateLimit, { domainPrefix });
}

/** Up to a fifth less than the longest, at random, so that many processes do not come back at one moment. */
function pauseAfter(failures: number): number {
  return longestPauseAfter(failures) * (1 - 0.2 * Math.random());
}
