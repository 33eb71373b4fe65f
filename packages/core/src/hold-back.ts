import type { DomainPrefix } from "./domain-prefix.js";
import { RateLimitedError, type RetailPosError } from "./errors.js";
import { type RateLimit, retryAtOf } from "./rate-limit.js";

/** Decides, retailer by retailer, when a token request may not go out (behaviour 7). */
export interface HoldBack {
  /** The error that a renewal meets right now; `undefined` when it may go out. */
  renewal(domainPrefix: DomainPrefix): RetailPosError | undefined;
  /** The same for an exchange: only a 429 stands in the way of a person who logs in. */
  exchange(domainPrefix: DomainPrefix): RateLimitedError | undefined;
  /** Whether renewals before expiry should wait, because the service said nothing remains or the store failed. */
  early(domainPrefix: DomainPrefix): boolean;
  failed(domainPrefix: DomainPrefix, error: RetailPosError): void;
  succeeded(domainPrefix: DomainPrefix, rateLimit: RateLimit | undefined): void;
  /** The store or the lock failed: no token request is to blame, but hurrying would help nobody. */
  pause(domainPrefix: DomainPrefix): void;
}

interface Hold {
  readonly at: number;
  readonly until: number;
  /** Absent where only early renewals are held back. */
  readonly error?: RetailPosError;
  /** Failures in a row. */
  readonly failures: number;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** Past this many retailers, holds that have run out are swept away. */
const FIRST_SWEEP_AT = 1000;
/** Past this many that still hold, the oldest go: these retailers would be asked for once more. */
const MOST_HOLDS = 20_000;

export function holdBack(clock: () => number): HoldBack {
  const holds = new Map<DomainPrefix, Hold>();
  let sweepAt = FIRST_SWEEP_AT;

  return {
    renewal(domainPrefix) {
      const hold = active(domainPrefix);
      return hold?.error instanceof RateLimitedError ? limited(hold.error) : hold?.error;
    },
    exchange(domainPrefix) {
      const error = active(domainPrefix)?.error;
      return error instanceof RateLimitedError ? limited(error) : undefined;
    },
    early(domainPrefix) {
      return active(domainPrefix) !== undefined;
    },
    failed(domainPrefix, error) {
      if (isLimited(domainPrefix) && !(error instanceof RateLimitedError)) return;
      const failures = (holds.get(domainPrefix)?.failures ?? 0) + 1;
      const at = clock();
      const until = error instanceof RateLimitedError ? error.retryAt : at + pauseAfter(failures);
      keep(domainPrefix, { at, until, error, failures });
    },
    succeeded(domainPrefix, rateLimit) {
      if (isLimited(domainPrefix)) return;
      holds.delete(domainPrefix);
      const at = clock();
      if (rateLimit?.remaining === 0)
        keep(domainPrefix, { at, until: retryAtOf(rateLimit, at), failures: 0 });
    },
    pause(domainPrefix) {
      const at = clock();
      if (active(domainPrefix)) return;
      keep(domainPrefix, {
        at,
        until: at + FIRST_PAUSE_MS,
        failures: holds.get(domainPrefix)?.failures ?? 0,
      });
    },
  };

  /** Until the reset nothing else counts: it can only come from a request that was already under way. */
  function isLimited(domainPrefix: DomainPrefix): boolean {
    return active(domainPrefix)?.error instanceof RateLimitedError;
  }

  /** Not active outside its own span: a clock that jumps back must not hold a retailer for a day. */
  function active(domainPrefix: DomainPrefix): Hold | undefined {
    const hold = holds.get(domainPrefix);
    if (!hold) return undefined;
    const now = clock();
    return hold.at <= now && now < hold.until ? hold : undefined;
  }

  /** The remembered error, with a `Retry-After` that counts from now. */
  function limited({ retryAt, rateLimit, domainPrefix }: RateLimitedError): RateLimitedError {
    return new RateLimitedError(retryAt, clock(), rateLimit, { domainPrefix });
  }

  function keep(domainPrefix: DomainPrefix, hold: Hold): void {
    if (holds.size >= sweepAt) sweep();
    holds.set(domainPrefix, hold);
  }

  /** A hold that ran out more than the longest pause ago has nothing left to say, not even how many failed. */
  function sweep(): void {
    const now = clock();
    for (const [domainPrefix, { at, until }] of holds) {
      if (now < at || now >= until + LONGEST_PAUSE_MS) holds.delete(domainPrefix);
    }
    for (const domainPrefix of holds.keys()) {
      if (holds.size <= MOST_HOLDS / 2) break;
      holds.delete(domainPrefix);
    }
    sweepAt = Math.max(FIRST_SWEEP_AT, 2 * holds.size);
  }
}

/** Up to a fifth less than the longest, so that many processes do not come back as one. */
function pauseAfter(failures: number): number {
  return longestPauseAfter(failures) * (1 - 0.2 * Math.random());
}

/** 1 s doubling to 60 s. */
export function longestPauseAfter(failures: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10));
}
