import { type Answer, jsonAnswer } from "../http/http.js";

/** How many requests of one store are served in one window. One more is answered 429. */
export interface RateLimit {
  /** Requests of one store in one window. */
  limit: number;
  /** How long a window is, milliseconds. */
  windowMs: number;
}

/** A retailer's current window, with this request counted. */
export interface RateWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  /** Whether this request went over the limit. */
  readonly exceeded: boolean;
}

/**
 * Section 8: the token endpoint's own limit; and that of the API, if it was given one. The spec does not say how
 * windows run; here they are fixed, per retailer.
 */
export interface RateLimiter {
  count(domainPrefix: string): RateWindow;
  /** Uses up the whole limit, for this many milliseconds from now. */
  exhaust(domainPrefix: string, ms: number): void;
  /** Starts the windows anew. */
  reset(domainPrefix?: string): void;
  /** When the retailer may ask again, if it may not now. */
  limitedUntil(domainPrefix: string): number | undefined;
  /** Notes that a client was told 429, and with it this instant. */
  told(domainPrefix: string, resetAt: number): void;
  /** Until when that client may still wait, though the limit is over: the service cannot take back what it said. */
  rememberedUntil(domainPrefix: string): number | undefined;
}

export function rateLimiter({ limit, windowMs }: RateLimit, now: () => number): RateLimiter {
  const windows = new Map<string, { used: number; resetAt: number }>();
  const toldUntil = new Map<string, number>();

  function current(domainPrefix: string): { used: number; resetAt: number } {
    const held = windows.get(domainPrefix);
    if (held && now() < held.resetAt) return held;
    // A window begins with its first request and not at a full minute, so that tests get the same with any clock.
    const fresh = { used: 0, resetAt: now() + windowMs };
    windows.set(domainPrefix, fresh);
    return fresh;
  }

  function limitedUntil(domainPrefix: string): number | undefined {
    const held = windows.get(domainPrefix);
    return held && held.used >= limit && now() < held.resetAt ? held.resetAt : undefined;
  }

  return {
    limitedUntil,
    count(domainPrefix) {
      const window = current(domainPrefix);
      window.used += 1;
      toldUntil.delete(domainPrefix); // it asks, so it does not wait; if the answer is 429 again, that is noted again
      const remaining = Math.max(0, limit - window.used);
      return { limit, remaining, resetAt: window.resetAt, exceeded: window.used > limit };
    },
    exhaust(domainPrefix, ms) {
      windows.set(domainPrefix, { used: limit, resetAt: now() + ms });
    },
    reset(domainPrefix) {
      if (domainPrefix === undefined) windows.clear();
      else windows.delete(domainPrefix);
    },
    told: (domainPrefix, resetAt) => void toldUntil.set(domainPrefix, resetAt),
    rememberedUntil(domainPrefix) {
      const until = toldUntil.get(domainPrefix);
      const isOver = limitedUntil(domainPrefix) === undefined;
      return isOver && until !== undefined && now() < until ? until : undefined;
    },
  };
}

/**
 * The three headers that every answer of the token endpoint carries (section 8). The reset is rounded up to a second:
 * a client that waits for it is not too early.
 */
export function withRateLimit(answer: Answer, window: RateWindow): Answer {
  const remaining = answer.status === 429 ? 0 : window.remaining;
  const headers = {
    "X-RateLimit-Limit": String(window.limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(Math.ceil(window.resetAt / 1000)),
  };
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** A call that went over the API's limit: nothing of it was done. */
export function tooManyCalls({ resetAt }: RateWindow, now: number): Answer {
  const seconds = Math.ceil((resetAt - now) / 1000); // rounded up, as the reset is
  return jsonAnswer(429, { error: "rate_limited" }, { "Retry-After": String(seconds) });
}
