import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";
import { type RateLimit, retryAtOf } from "../vocabulary/rate-limit.js";

/**
 * Keeps logins from using up what a connected store's renewals need (behaviour 7). Anybody can make a callback with a
 * made-up code and somebody else's domain prefix, and each costs that retailer's token endpoint a request.
 */
export interface LoginBackOff {
  /** The error for a login that is wanted now; `undefined` if its code may be sent. */
  exchange(domainPrefix: DomainPrefix): RateLimitedError | undefined;
  /** Notes the rate limit in an answer of the token endpoint, to a login or a renewal. */
  answered(domainPrefix: DomainPrefix, rateLimit: RateLimit): void;
  /** The service refused a code: the next exchange waits 1 s, doubling to 10 s. */
  codeRefused(domainPrefix: DomainPrefix): void;
  succeeded(domainPrefix: DomainPrefix): void;
}

/** Facts about one retailer's logins, as this process knows them. */
interface Known {
  /** As the service last said it, at `seenAt`. */
  rateLimit?: RateLimit | undefined;
  seenAt: number;
  /** The number of codes refused in a row, the last of them at `refusedAt`. */
  refused: number;
  refusedAt: number;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 10_000;
/** This part of the limit is for renewals. */
const RESERVE = 0.1;
const RESERVED = "has little left of its rate limit, kept for renewals";
/** From this many retailers on, those without news for longest are dropped. */
const MOST_RETAILERS = 20_000;

export function loginBackOff(clock: () => number): LoginBackOff {
  const retailers = new Map<DomainPrefix, Known>();

  return {
    exchange(domainPrefix) {
      const known = retailers.get(domainPrefix);
      if (!known) return undefined;
      const now = clock();
      const [refusedUntil, reservedUntil] = [afterRefusal(known, now), afterReserve(known, now)];
      const retryAt = Math.max(refusedUntil, reservedUntil);
      if (retryAt <= now) return undefined;
      const why = reservedUntil < refusedUntil ? "refused the last code" : RESERVED;
      return new RateLimitedError(retryAt, now, known.rateLimit, { domainPrefix, why });
    },
    answered(domainPrefix, rateLimit) {
      const isReserveLeft = !isReserve(rateLimit);
      const known = retailers.get(domainPrefix);
      if (!known && isReserveLeft) return; // nothing that could stop a login
      remember(domainPrefix, { ...(known ?? NOTHING), rateLimit, seenAt: clock() });
    },
    codeRefused(domainPrefix) {
      const known = retailers.get(domainPrefix) ?? NOTHING;
      remember(domainPrefix, { ...known, refused: known.refused + 1, refusedAt: clock() });
    },
    succeeded(domainPrefix) {
      const known = retailers.get(domainPrefix);
      if (known) known.refused = 0;
    },
  };

  function remember(domainPrefix: DomainPrefix, known: Known): void {
    retailers.delete(domainPrefix); // so that the newest is last
    for (const oldest of retailers.keys()) {
      if (retailers.size < MOST_RETAILERS) break;
      retailers.delete(oldest);
    }
    retailers.set(domainPrefix, known);
  }
}

const NOTHING: Known = { seenAt: 0, refused: 0, refusedAt: 0 };

/** 0 if no refused code stands in the way, or the clock was set back. */
function afterRefusal({ refused, refusedAt }: Known, now: number): number {
  if (refused === 0 || now < refusedAt) return 0;
  return refusedAt + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(refused - 1, 10));
}

/** Until the reset, if what remains is the reserve; 0 otherwise. */
function afterReserve({ rateLimit, seenAt }: Known, now: number): number {
  return rateLimit && isReserve(rateLimit) && now >= seenAt ? retryAtOf(rateLimit, seenAt) : 0;
}

/** Without a limit to take a tenth of, only "nothing remains" counts. */
function isReserve({ limit = 0, remaining }: RateLimit): boolean {
  return remaining !== undefined && remaining <= limit * RESERVE;
}
