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
  const sets = new Map<DomainPrefix, TokenSet>();
  /** Until one is added; removed ones may be among them. */
  let names: readonly DomainPrefix[] | undefined;
  const pages = storePages("memory");
  const claim = claimsInMemory(Date.now);
  return {
    async load(domainPrefix) {
      const stored = sets.get(domainPrefix);
      return stored && redacted(stored); // a copy, so that callers cannot change the stored set
    },
    async save(next, replacing) {
      const version = sets.get(next.domainPrefix)?.version;
      if (replacing && version !== replacing.version) return false;
      if (version !== undefined && areOfTwoApplications(version, next.version)) return false;
      if (version === undefined) names = undefined;
      sets.set(next.domainPrefix, redacted(next));
      return true;
    },
    async remove(domainPrefix) {
      sets.delete(domainPrefix);
    },
    async list(ask) {
      const { limit, position = "" } = pages.asked(ask);
      names ??= [...sets.keys()].sort();
      const page = names.filter((name) => name > position && sets.has(name)).slice(0, limit);
      const last = page.length === limit ? page.at(-1) : undefined;
      return {
        retailers: page.map((name) => statusOf(sets.get(name) as TokenSet)),
        ...(last !== undefined && { cursor: pages.cursorAt(last) }),
      };
    },
    claim: async (key, forMs) => claim(key, forMs),
  };
}
