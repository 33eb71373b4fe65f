import { createHash, timingSafeEqual } from "node:crypto";

/** One login under way, as it lies in the session. */
export interface PendingLogin {
  readonly handle: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The application's own state, if it gave one. */
  readonly state?: unknown;
  /** The `redirect_uri` that was sent, if it is not the client's own. Its code is traded with the same one (4.2). */
  readonly redirectUri?: string;
  /** Which browser started it, if that could be told. */
  readonly browser?: string;
}

/** How long a login may take, milliseconds. */
export const LIFETIME_MS: number = 15 * 60_000;

/** How many logins may be under way in one session; the oldest go first. */
export const MOST_PENDING = 20;

/** What a session has under our key, without what is not ours. */
export function pendingLoginsIn(value: unknown): PendingLogin[] {
  return Array.isArray(value) ? value.filter(isPendingLogin) : [];
}

function isPendingLogin(value: unknown): value is PendingLogin {
  const login = value as Partial<PendingLogin> | null;
  return typeof login?.handle === "string" && Number.isFinite(login.startedAt);
}

/**
 * Whether a login that started then may still be finished. A start in the future is a clock that was set back; it
 * is good as long as an ordinary one.
 */
export function isInTime({ startedAt }: Pick<PendingLogin, "startedAt">, now: number): boolean {
  return Math.abs(now - startedAt) < LIFETIME_MS;
}

/** Constant time, for any two lengths. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(
    createHash("sha256").update(one).digest(),
    createHash("sha256").update(other).digest(),
  );
}

/** What stands for a secret where the secret itself has no business. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
