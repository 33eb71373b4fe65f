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

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** RFC 9110, 5.6.7: the form to be written, and the two to be understood. */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? /i;
const LONGEST_HTTP_DATE = 40;

/**
 * When `Retry-After` (RFC 9110, 10.2.3) lets the next request be sent: seconds from now, at least one, or a date.
 *
 * @param text the header's value.
 * @param now epoch milliseconds.
 * @returns epoch milliseconds; `undefined` if there is none, or it is unusable: a word, a negative number, the past.
 */
export function parseRetryAfter(text: string | null | undefined, now: number): number | undefined {
  const value = text?.trim() ?? "";
  if (/^\d+$/.test(value)) return now + Math.max(1, Number(value)) * SECOND_MS;
  if (value.length > LONGEST_HTTP_DATE || !HTTP_DATE.test(value)) return undefined;
  const second = Date.parse(/GMT$/i.test(value) ? value : `${value} GMT`);
  const at = second + SECOND_MS - 1; // it may have been rounded down
  return at > now ? at : undefined;
}

/** When an answer's `Retry-After` lets the next request be sent, at most an hour from now. */
export function retryAfterOf(headers: Headers, now: number): number | undefined {
  const at = parseRetryAfter(header(headers, "retry-after"), now);
  return at === undefined ? undefined : Math.min(at, now + HOUR_MS);
}

/**
 * When the next request may be sent after a 429 (behaviour 7): at the reset. If that is missing, past, or more than an
 * hour ahead, as `Retry-After` says; without a usable one, a minute from now, or an hour if the reset lies beyond.
 */
export function retryAtOf(rateLimit: RateLimit | undefined, now: number, retryAfterAt?: number): number {
  const resetAt = rateLimit?.resetAt ?? now;
  if (resetAt > now && resetAt <= now + HOUR_MS) return resetAt;
  return retryAfterAt ?? now + (resetAt > now ? HOUR_MS : MINUTE_MS);
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
