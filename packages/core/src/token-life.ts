import type { TokenSet } from "./token-set.js";

/** A set whose refresh token was refused costs no token request for this long (behaviour 8). */
const REFUSED_FOR_MS = 3_600_000;

export function isExpired({ access: { expiresAt } }: TokenSet, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/**
 * When an early renewal may start (behaviour 5): `renewEarlyMs` before the end, but never in the first nine tenths of
 * the token's life, or a short-lived token would be renewed all the time.
 */
export function renewalDueAt({ access: { expiresAt }, issuedAt }: TokenSet, renewEarlyMs: number): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  const lifetimeMs = Math.max(0, expiresAt - issuedAt); // by the clock of whoever stored it
  return expiresAt - Math.min(renewEarlyMs, lifetimeMs / 10);
}

/** Whether the refusal that a set was marked with still counts. */
export function isRefused({ refusedAt }: TokenSet, now: number): boolean {
  return refusedAt !== undefined && Math.abs(now - refusedAt) < REFUSED_FOR_MS;
}
