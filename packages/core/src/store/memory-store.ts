import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { statusOf } from "../vocabulary/retailer-status.js";
import { redacted, type TokenSet } from "../vocabulary/token-set.js";
import { areOfTwoApplications } from "../vocabulary/token-set-versions.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { claimsInMemory } from "./claims.js";
import { storePages } from "./store-pages.js";

/**
 * Keeps token sets in this process only. After a restart they are gone, and every retailer has to log in again; other
 * processes do not see them. For development and tests.
 */
export function memoryStore(): TokenStore {
  const kept = new Map<DomainPrefix, { readonly set: TokenSet; readonly place: number }>();
  let places = 0;
  const pages = storePages("memory");
  const claim = claimsInMemory(Date.now);
  return {
    async load(domainPrefix) {
      const stored = kept.get(domainPrefix);
      return stored && redacted(stored.set); // a copy, so that callers cannot change the stored set
    },
    async save(next, replacing) {
      const stored = kept.get(next.domainPrefix);
      const version = stored?.set.version;
      if (replacing && version !== replacing.version) return false;
      if (version !== undefined && areOfTwoApplications(version, next.version)) return false;
      places += 1;
      kept.set(next.domainPrefix, { set: redacted(next), place: stored?.place ?? places });
      return true;
    },
    async remove(domainPrefix) {
      kept.delete(domainPrefix);
    },
    async list(ask) {
      const { limit, position = "0" } = pages.asked(ask);
      const page = [...kept.values()].filter(({ place }) => place > Number(position)).slice(0, limit);
      const last = page.at(-1);
      return {
        retailers: page.map(({ set }) => statusOf(set)),
        ...(last && page.length === limit && { cursor: pages.cursorAt(String(last.place)) }),
      };
    },
    claim: async (key, forMs) => claim(key, forMs),
  };
}
