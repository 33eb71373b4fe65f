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
  const names = sortedNames(sets);
  const pages = storePages("memory");
  const claim = claimsInMemory(Date.now);
  return {
    async load(domainPrefix) {
      const kept = sets.get(domainPrefix);
      return kept && redacted(kept); // a copy, so that callers cannot change the stored set
    },
    async save(next, replacing) {
      const stored = sets.get(next.domainPrefix)?.version;
      if (replacing && stored !== replacing.version) return false;
      if (stored !== undefined && areOfTwoApplications(stored, next.version)) return false;
      if (!sets.has(next.domainPrefix)) names.changed();
      sets.set(next.domainPrefix, redacted(next));
      return true;
    },
    async remove(domainPrefix) {
      sets.delete(domainPrefix);
    },
    async list(ask) {
      const { limit, position = "" } = pages.asked(ask);
      const page = names.after(position, limit);
      const last = page.at(-1);
      const retailers = page.flatMap((name) => {
        const kept = sets.get(name);
        return kept ? [statusOf(kept)] : [];
      });
      return {
        retailers,
        ...(last !== undefined && page.length === limit && { cursor: pages.cursorAt(last) }),
      };
    },
    claim: async (key, forMs) => claim(key, forMs),
  };
}

/** The names in order. They are sorted again after one was added; until then, removed names may be among them. */
function sortedNames(sets: ReadonlyMap<DomainPrefix, unknown>) {
  let sorted: DomainPrefix[] | undefined;
  return {
    changed(): void {
      sorted = undefined;
    },
    after(name: string, count: number): DomainPrefix[] {
      sorted ??= [...sets.keys()].sort();
      let [from, to] = [0, sorted.length];
      while (from < to) {
        const middle = (from + to) >>> 1;
        if ((sorted[middle] as string) <= name) from = middle + 1;
        else to = middle;
      }
      return sorted.slice(from, from + count);
    },
  };
}
