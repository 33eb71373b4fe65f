import { RateLimitedError, ReconnectRequiredError } from "./errors.js";
import type { RetailerStatus } from "./retailer-status.js";
import type { AccessToken, TokenSet } from "./token-set.js";

/** A set whose refresh token was refused costs no token request for this long (behaviour 8). */
const REFUSED_FOR_MS = 3_600_000;

export function isExpired({ expiresAt }: AccessToken, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/**
 * When an early renewal may start (behaviour 5): `renewEarlyMs` before the end, but never in the first nine tenths of
 * the token's life, or a short-lived token would be renewed all the time.
 */
export function renewalDueAt({ access: { expiresAt }, issuedAt }: TokenSet, renewEarlyMs: number): number {
  return dueAt(issuedAt, expiresAt, renewEarlyMs);
}

function dueAt(issuedAt: number, expiresAt: number | undefined, renewEarlyMs: number): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  const lifetimeMs = Math.max(0, expiresAt - issuedAt); // by the clock of the process that stored it
  return expiresAt - Math.min(renewEarlyMs, lifetimeMs / 10);
}

/**
 * If a limit is noted further ahead than this, the clock of the process that noted it is wrong. It notes an hour at
 * most, and its clock may be a little ahead of ours.
 */
const LONGEST_LIMIT_MS = 3_600_000 + 300_000;

/** Whether the service said that no token request may come for this set yet (behaviour 7). */
export function isLimited({ limitedUntil }: TokenSet, now: number): boolean {
  return limitedUntil !== undefined && now < limitedUntil && limitedUntil - now <= LONGEST_LIMIT_MS;
}

/**
 * Whether a job over all retailers should renew a set now: it has ended, or ends within `withinMs`, by default when an
 * early renewal may start. Never in the first half of the token's life, which would be more often than the service
 * wants (section 8).
 */
export function isDueWithin(
  { issuedAt, expiresAt }: Pick<RetailerStatus, "issuedAt" | "expiresAt">,
  now: number,
  withinMs: number | undefined,
  renewEarlyMs: number,
): boolean {
  if (expiresAt === undefined) return false;
  const halfAt = issuedAt + (expiresAt - issuedAt) / 2;
  const at = withinMs === undefined ? dueAt(issuedAt, expiresAt, renewEarlyMs) : expiresAt - withinMs;
  return now >= Math.max(at, halfAt);
}

/** Whether the refusal that a set was marked with still counts. */
export function isRefused({ refusedAt }: Pick<TokenSet, "refusedAt">, now: number): boolean {
  return refusedAt !== undefined && Math.abs(now - refusedAt) < REFUSED_FOR_MS;
}

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
