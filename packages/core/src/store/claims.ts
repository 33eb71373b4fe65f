import { BoundedMap } from "../platform/bounded-map.js";
import type { CheckedStore } from "./checked-store.js";

/** Beyond it the oldest go; those keys can be claimed again. */
const MOST_CLAIMS = 100_000;

/**
 * Claims in this process: the first to ask for a key gets `true`, all others get `false` for `forMs` milliseconds.
 *
 * @param clock epoch milliseconds.
 */
export function claimsInMemory(clock: () => number): (key: string, forMs: number) => boolean {
  const endsAtOf = new BoundedMap<string, number>(MOST_CLAIMS);

  return (key, forMs) => {
    const now = clock();
    if (now < (endsAtOf.get(key) ?? now)) return false;
    endsAtOf.set(key, now + forMs);
    return true;
  };
}

/** A year. Some engines refuse much longer times. */
const LONGEST_MS = 366 * 86_400_000;

/**
 * The claims of one client (behaviour 15): the store's, for all processes; or this process's, if the store has no
 * `claim`. Two client ids never share a key.
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
