import type { CheckedStore } from "./checked-store.js";
import { claimsInMemory } from "./claim-in-memory.js";

/** A year. Some engines refuse what is far beyond. */
const LONGEST_MS = 366 * 86_400_000;

/**
 * Claims of one client (behaviour 15): once in all processes if the store can claim, else once in this process. Keys of
 * two client ids never meet.
 *
 * @throws {TypeError} the key is no text or empty, or the time is no number of milliseconds above 0, or over a year.
 */
export function clientClaims(store: CheckedStore, clientId: string, clock: () => number) {
  const claimHere = claimsInMemory(clock);

  return async (key: string, forMs: number): Promise<boolean> => {
    if (typeof key !== "string" || key === "") throw new TypeError("key must be a non-empty text");
    if (!(typeof forMs === "number" && forMs > 0 && forMs <= LONGEST_MS))
      throw new TypeError(`forMs must be a number of milliseconds above 0, and at most ${LONGEST_MS}`);
    return store.claim
      ? store.claim(`${encodeURIComponent(clientId)}/${key}`, Math.ceil(forMs))
      : claimHere(key, forMs);
  };
}
