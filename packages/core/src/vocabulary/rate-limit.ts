/** The token endpoint's rate limit, from the headers of an answer (section 8). */
export interface RateLimit {
  /** Requests allowed in the current window. */
  readonly limit?: number;
  /** Requests left in the current window. */
  readonly remaining?: number;
  /** When the window resets, epoch milliseconds. */
  readonly resetAt?: number;
}

/** An instant in seconds beyond this (the year 5138) is really in milliseconds, or wrong. */
export const LAST_PLAUSIBLE_SECOND = 1e11;

/**
 * Reads `X-RateLimit-Limit`, `-Remaining` and `-Reset` (section 8), in any letter case. A header whose value is not a
 * whole number of 0 or more is left out.
 *
 * @returns `undefined` if none of the three is usable.
 */
export function parseRateLimit(
  headers: Headers | Record<string, string | string[] | undefined>,
): RateLimit | undefined {
  const limit = wholeNumber(header(headers, "x-ratelimit-limit"));
  const remaining = wholeNumber(header(headers, "x-ratelimit-remaining"));
  const reset = wholeNumber(header(headers, "x-ratelimit-reset"));
  const resetAt = reset !== undefined && reset < LAST_PLAUSIBLE_SECOND ? reset * 1000 : undefined;
  if (limit === undefined && remaining === undefined && resetAt === undefined) return undefined;
  return {
    ...(limit !== undefined && { limit }),
    ...(remaining !== undefined && { remaining }),
    ...(resetAt !== undefined && { resetAt }),
  };
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * When the next request may be sent after a 429: at the reset; a minute from now if the reset is missing or already
 * past; at most an hour from now, even if the service names a later reset.
 */
export function retryAtOf(rateLimit: RateLimit | undefined, now: number): number {
  const resetAt = rateLimit?.resetAt;
  return resetAt === undefined || resetAt <= now ? now + MINUTE_MS : Math.min(resetAt, now + HOUR_MS);
}

function header(
  headers: Headers | Record<string, string | string[] | undefined>,
  lowerCaseName: string,
): string | undefined {
  // Not `instanceof`, because another copy of fetch has its own `Headers` class.
  if (typeof headers.get === "function") return headers.get(lowerCaseName) ?? undefined;
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === lowerCaseName && value !== undefined)
      return Array.isArray(value) ? value[0] : value;
  }
  return undefined;
}

function wholeNumber(text: unknown): number | undefined {
  const isText = typeof text === "string" || typeof text === "number";
  return isText && /^\s*\d{1,15}\s*$/.test(String(text)) ? Number(text) : undefined;
}
