import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { statusOf } from "../vocabulary/retailer-status.js";
import { quiet, type TokenSet } from "../vocabulary/token-set.js";
import { areOfTwoApplications } from "../vocabulary/token-set-versions.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { claimsInMemory } from "./claims.js";
import { storePages } from "./store-pages.js";

/** A set as one flat object. With many retailers, these take most of the memory. */
interface Kept {
  readonly value: string;
  readonly refreshToken: string;
  readonly issuedAt: number;
  /** From `issuedAt` to `expiresAt`: a small whole number, which V8 keeps without an object. */
  readonly lifeMs: number | undefined;
  readonly version: string;
  /** What few sets have. */
  readonly rest?: Rest;
}

interface Rest extends Pick<TokenSet, "refusedAt" | "limitedUntil" | "scope"> {
  /** If it is not exactly `issuedAt` and `lifeMs` later. */
  readonly expiresAt: number | undefined;
}

/**
 * Keeps token sets in this process. A restart forgets them, and every retailer has to log in again; two processes know
 * nothing of each other. For development and tests, or if that is acceptable.
 */
export function memoryStore(): TokenStore {
  const sets = new Map<DomainPrefix, Kept>();
  const names = sortedNames(sets);
  const pages = storePages("memory");
  const claim = claimsInMemory(Date.now);
  return {
    async load(domainPrefix) {
      const kept = sets.get(domainPrefix);
      return kept && setOf(domainPrefix, kept); // a copy: a caller that changes it changes nothing here
    },
    async save(next, replacing) {
      const stored = sets.get(next.domainPrefix)?.version;
      if (replacing && stored !== replacing.version) return false;
      if (stored !== undefined && areOfTwoApplications(stored, next.version)) return false;
      if (!sets.has(next.domainPrefix)) names.changed();
      sets.set(next.domainPrefix, flat(next));
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
        return kept ? [statusOf(setOf(name, kept))] : [];
      });
      return {
        retailers,
        ...(last !== undefined && page.length === limit && { cursor: pages.cursorAt(last) }),
      };
    },
    claim: async (key, forMs) => claim(key, forMs),
  };
}

/** The names in order, sorted anew after one was added. Until then, removed ones may be among them. */
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

function flat({ access, refreshToken, issuedAt, version, refusedAt, limitedUntil, scope }: TokenSet): Kept {
  const { value, expiresAt } = access;
  const lifeMs = expiresAt === undefined ? undefined : Math.floor(expiresAt - issuedAt);
  const kept = { value, refreshToken, issuedAt, lifeMs, version };
  const isExact = lifeMs === undefined || issuedAt + lifeMs === expiresAt;
  const isPlain = refusedAt === undefined && limitedUntil === undefined && scope === undefined;
  if (isPlain && isExact) return kept;
  return { ...kept, rest: { expiresAt, refusedAt, limitedUntil, scope } as Rest };
}

function setOf(domainPrefix: DomainPrefix, kept: Kept): TokenSet {
  const { value, refreshToken, issuedAt, lifeMs, version, rest } = kept;
  const { expiresAt = endOf(issuedAt, lifeMs), ...marks } = rest ?? {};
  const access = expiresAt === undefined ? { value } : { value, expiresAt };
  return quiet({ domainPrefix, access, refreshToken, issuedAt, version, ...marks });
}

function endOf(issuedAt: number, lifeMs: number | undefined): number | undefined {
  return lifeMs === undefined ? undefined : issuedAt + lifeMs;
}
