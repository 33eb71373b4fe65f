import type { CheckedStore } from "./checked-store.js";
import { claimsInMemory } from "./claim-in-memory.js";

/**
 * Claims of one client (behaviour 15): once in all processes if the store can claim, else once in this process. Keys of
 * two client ids never meet.
 *
 * @throws {TypeError} the key is no text or empty, or the time is no number of milliseconds above 0.
 */
export function clientClaims(store: CheckedStore, clientId: string, clock: () => number) {
  const claimHere = claimsInMemory(clock);

  return async (key: string, forMs: number): Promise<boolean> => {
    if (typeof key !== "string" || key === "") throw new TypeError("key must be a non-empty text");
    if (!(typeof forMs === "number" && Number.isFinite(forMs) && forMs > 0))
      throw new TypeError("forMs must be a number of milliseconds above 0");
    return store.claim ? store.claim(`${encodeURIComponent(clientId)}/${key}`, forMs) : claimHere(key, forMs);
  };
}
