import { RateLimitedError } from "../vocabulary/errors.js";

/**
 * Over all retailers. A stranger can start logins and make callbacks with other domain prefixes, and each code goes to
 * a host that the callback named, which may not answer.
 */
const MOST_UNDER_WAY = 256;
const RETRY_AFTER_MS = 1000;

/** The exchanges of one client that were sent and are not over. Renewals are not counted and not limited by it. */
export interface ExchangesUnderWay {
  /** The error for a login whose code cannot be sent now. */
  limit(): RateLimitedError | undefined;
  /** Counts the work until it is over. */
  count<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * @param timeoutMs an exchange is over after this time and a second, even if the runtime ended its work.
 * @param clock epoch milliseconds.
 */
export function exchangesUnderWay(timeoutMs: number, clock: () => number): ExchangesUnderWay {
  /** When each was sent, as `performance.now()` says it; the oldest first. */
  const sent = new Set<{ readonly at: number }>();

  return {
    limit() {
      if (sent.size < MOST_UNDER_WAY) return undefined;
      for (const one of sent) if (one.at + timeoutMs + 1000 < performance.now()) sent.delete(one);
      if (sent.size < MOST_UNDER_WAY) return undefined;
      const now = clock();
      const why = `cannot be asked: ${MOST_UNDER_WAY} logins of all retailers wait for an answer`;
      return new RateLimitedError(now + RETRY_AFTER_MS, now, undefined, { why });
    },
    async count(work) {
      const one = { at: performance.now() };
      sent.add(one);
      try {
        return await work();
      } finally {
        sent.delete(one);
      }
    },
  };
}
