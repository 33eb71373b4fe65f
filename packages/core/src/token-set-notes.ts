import { RateLimitedError, ReconnectRequiredError } from "./errors.js";
import { isLimited, isRefused } from "./token-life.js";
import type { TokenSet } from "./token-set.js";

/** The mark on a set, that its refresh token was refused, as the error for callers; while it counts (behaviour 8). */
export function refusalOf(set: TokenSet, now: number): ReconnectRequiredError | undefined {
  const { domainPrefix, refusedAt } = set;
  if (refusedAt === undefined || !isRefused(set, now)) return undefined;
  const when = new Date(refusedAt).toISOString();
  return new ReconnectRequiredError(
    `The service refused the refresh token of retailer "${domainPrefix}" at ${when}; log in with the store again`,
    { domainPrefix },
  );
}

/** The 429 that some process noted on a set, as the error for callers; while it lasts (behaviour 7). */
export function limitOf(set: TokenSet, now: number): RateLimitedError | undefined {
  const { domainPrefix, limitedUntil } = set;
  if (limitedUntil === undefined || !isLimited(set, now)) return undefined;
  return new RateLimitedError(limitedUntil, now, undefined, { domainPrefix });
}

/** A mark or a note gives a set a new version, and leaves its access token what it was. */
export function haveSameAccess(one: TokenSet, other: TokenSet): boolean {
  return one.access.value === other.access.value && one.issuedAt === other.issuedAt;
}
