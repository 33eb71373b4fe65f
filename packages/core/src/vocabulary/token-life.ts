import { RateLimitedError, ReconnectRequiredError } from "./errors.js";
import type { RetailerStatus } from "./retailer-status.js";
import type { AccessToken, TokenSet } from "./token-set.js";

/** After a refusal, no token request is sent for the set for this long (behaviour 8). */
export const REFUSED_FOR_MS = 3_600_000;

export function isExpired({ expiresAt }: AccessToken, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/**
 * When an early renewal may start (behaviour 5): `renewEarlyMs` before the token expires, but not in the first nine
 * tenths of its life, or a short-lived token would be renewed all the time.
 */
export function renewalDueAt(issuedAt: number, expiresAt: number | undefined, renewEarlyMs: number): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  const lifetimeMs = Math.max(0, expiresAt - issuedAt); // by the clock of the process that stored it
  return expiresAt - Math.min(renewEarlyMs, lifetimeMs / 10);
}

/**
 * A process writes `limitedUntil` at most an hour ahead, and its clock may be a little ahead of ours. If the instant
 * lies further ahead than this, that clock was wrong, and the limit does not count.
 */
const LONGEST_LIMIT_MS = 3_600_000 + 300_000;

/** Whether no token request may be sent for this set yet (`limitedUntil`), in any process. */
export function isLimited({ limitedUntil, refusedAt }: TokenSet, now: number): boolean {
  const until = limitedUntil ?? (refusedAt === undefined ? now : refusedAt + REFUSED_FOR_MS);
  return now < until && until - now <= LONGEST_LIMIT_MS;
}

/** If a limit lies further ahead, the clock that wrote it was wrong, and not only behind or ahead of ours. */
const LONGEST_DIFFERENCE_MS = 86_400_000;

/**
 * The `limitedUntil` to write on a set: the later of a new limit and the one that it has. So a process whose clock is
 * behind does not shorten the pause of the others, nor a 429 the hour after a refusal.
 */
export function laterLimit({ limitedUntil = 0 }: TokenSet, until: number, now: number): number {
  return limitedUntil - now > LONGEST_DIFFERENCE_MS ? until : Math.max(until, limitedUntil);
}

/**
 * Whether `renewDue` should renew a set now: the token has expired, or expires within `withinMs`; by default, when an
 * early renewal may start. It does not renew tokens in the first half of their life: the service does not want so many
 * requests (section 8).
 */
export function isDueWithin(
  { issuedAt, expiresAt }: Pick<RetailerStatus, "issuedAt" | "expiresAt">,
  now: number,
  withinMs: number | undefined,
  renewEarlyMs: number,
): boolean {
  if (expiresAt === undefined) return false;
  const halfAt = issuedAt + (expiresAt - issuedAt) / 2;
  const at = withinMs === undefined ? renewalDueAt(issuedAt, expiresAt, renewEarlyMs) : expiresAt - withinMs;
  return now >= Math.max(at, halfAt);
}

/** The error for callers if the service refused the set's refresh token, and no other try is due (behaviour 8). */
export function refusalOf(set: TokenSet, now: number): ReconnectRequiredError | undefined {
  const { domainPrefix, refusedAt } = set;
  if (refusedAt === undefined || !isLimited(set, now)) return undefined;
  const when = new Date(refusedAt).toISOString();
  return new ReconnectRequiredError(
    `The service refused the refresh token of retailer "${domainPrefix}" at ${when}; log in with the store again`,
    { domainPrefix },
  );
}

/** The error for callers if a process recorded a 429 on the set and its time is not over (behaviour 7). */
export function limitOf(set: TokenSet, now: number): RateLimitedError | undefined {
  const { domainPrefix, limitedUntil, refusedAt } = set;
  if (limitedUntil === undefined || refusedAt !== undefined || !isLimited(set, now)) return undefined;
  return new RateLimitedError(limitedUntil, now, undefined, { domainPrefix });
}
