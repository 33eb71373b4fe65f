import { BoundedMap } from "../platform/bounded-map.js";
import { longestPauseAfter } from "../platform/pauses.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";
import { type RateLimit, retryAtOf } from "../vocabulary/rate-limit.js";

/**
 * Keeps logins from using up what a connected store's renewals need (behaviour 7). A stranger can make a callback with
 * a made-up code and another retailer's domain prefix, and each costs that retailer's token endpoint a request.
 * After a refused code the next one waits 1 s, doubling to 10 s.
 */
export type LoginBackOff = ReturnType<typeof loginBackOff>;

/** What this process knows about one retailer's logins. */
interface RetailerLogins {
  /** From the service's last answer, at `seenAt`. */
  rateLimit?: RateLimit | undefined;
  seenAt: number;
  /** How many codes were refused in a row, the last at `refusedAt`. */
  refused: number;
  refusedAt: number;
}

const LONGEST_PAUSE_MS = 10_000;
/** The part of the rate limit that is kept for renewals. */
const RESERVE = 0.1;
const RESERVED = "has little left of its rate limit, kept for renewals";
/** At this number of retailers, the one whose last change is oldest is dropped. */
const MOST_RETAILERS = 20_000;

export function loginBackOff(clock: () => number) {
  const retailers = new BoundedMap<DomainPrefix, RetailerLogins>(MOST_RETAILERS);

  return {
    /** The error for a login that is wanted now; `undefined` if its code may be sent. */
    exchange(domainPrefix: DomainPrefix): RateLimitedError | undefined {
      const known = retailers.get(domainPrefix);
      if (!known) return undefined;
      const now = clock();
      const [refusedUntil, reservedUntil] = [afterRefusal(known, now), afterReserve(known, now)];
      const retryAt = Math.max(refusedUntil, reservedUntil);
      if (retryAt <= now) return undefined;
      const why = reservedUntil < refusedUntil ? "refused the last code" : RESERVED;
      return new RateLimitedError(retryAt, now, known.rateLimit, { domainPrefix, why });
    },
    /** The rate limit in an answer, good or bad, to a login or a renewal (section 8). */
    answered(domainPrefix: DomainPrefix, rateLimit: RateLimit): void {
      const isReserveLeft = !isReserve(rateLimit);
      const known = retailers.get(domainPrefix);
      if (!known && isReserveLeft) return; // logins of this retailer are not limited
      retailers.set(domainPrefix, { ...(known ?? NOTHING), rateLimit, seenAt: clock() });
    },
    codeRefused(domainPrefix: DomainPrefix): void {
      const known = retailers.get(domainPrefix) ?? NOTHING;
      retailers.set(domainPrefix, { ...known, refused: known.refused + 1, refusedAt: clock() });
    },
    succeeded(domainPrefix: DomainPrefix): void {
      const known = retailers.get(domainPrefix);
      if (known) known.refused = 0;
    },
  };
}

const NOTHING: RetailerLogins = { seenAt: 0, refused: 0, refusedAt: 0 };

/** When the pause after refused codes ends; 0 if there is none, or the clock was set back. */
function afterRefusal({ refused, refusedAt }: RetailerLogins, now: number): number {
  if (refused === 0 || now < refusedAt) return 0;
  return refusedAt + Math.min(LONGEST_PAUSE_MS, longestPauseAfter(refused));
}

/** When the rate limit resets, if only the reserve remains; else 0. */
function afterReserve({ rateLimit, seenAt }: RetailerLogins, now: number): number {
  return rateLimit && isReserve(rateLimit) && now >= seenAt ? retryAtOf(rateLimit, seenAt) : 0;
}

/** Whether only the reserve remains. If the answer named no `limit`, the reserve is 0 requests. */
function isReserve({ limit = 0, remaining }: RateLimit): boolean {
  return remaining !== undefined && remaining <= limit * RESERVE;
}
