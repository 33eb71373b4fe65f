import { quiet, type TokenSet } from "./token-set.js";
import type { TokenStore } from "./token-store.js";

/**
 * Keeps token sets in this process. A restart forgets them: every retailer has to log in again, and two
 * processes know nothing of each other. For development and tests, or where that is acceptable.
 */
export function memoryStore(): TokenStore {
  const sets = new Map<string, TokenSet>();
  return {
    async load(domainPrefix) {
      const set = sets.get(domainPrefix);
      return set && quiet(set); // a copy: what a caller does to it stays with the caller
    },
    async save(next, replacing) {
      if (replacing && sets.get(next.domainPrefix)?.version !== replacing.version) return false;
      sets.set(next.domainPrefix, quiet(next));
      return true;
    },
    async remove(domainPrefix) {
      sets.delete(domainPrefix);
    },
  };
}
