import { claimsInMemory } from "./claims.js";
import type { DomainPrefix } from "./domain-prefix.js";
import { quiet, type TokenSet } from "./token-set.js";
import type { TokenStore } from "./token-store.js";
import { areOfTwoApplications } from "./versions.js";

/** A set in one flat piece: with many retailers it is what the memory goes to. */
interface Kept {
  readonly value: string;
  readonly expiresAt: number | undefined;
  readonly refreshToken: string;
  readonly issuedAt: number;
  readonly version: string;
  readonly refusedAt: number | undefined;
}

/**
 * Keeps token sets in this process. A restart forgets them: every retailer has to log in again, and two
 * processes know nothing of each other. For development and tests, or where that is acceptable.
 */
export function memoryStore(): TokenStore {
  const sets = new Map<DomainPrefix, Kept>();
  const claim = claimsInMemory(Date.now);
  return {
    async load(domainPrefix) {
      const kept = sets.get(domainPrefix);
      return kept && setOf(domainPrefix, kept); // a copy: what a caller does to it stays with the caller
    },
    async save(next, replacing) {
      const stored = sets.get(next.domainPrefix)?.version;
      if (replacing && stored !== replacing.version) return false;
      if (stored !== undefined && areOfTwoApplications(stored, next.version)) return false;
      sets.set(next.domainPrefix, flat(next));
      return true;
    },
    async remove(domainPrefix) {
      sets.delete(domainPrefix);
    },
    claim: async (key, forMs) => claim(key, forMs),
  };
}

function flat({ access: { value, expiresAt }, refreshToken, issuedAt, version, refusedAt }: TokenSet): Kept {
  return { value, expiresAt, refreshToken, issuedAt, version, refusedAt };
}

function setOf(domainPrefix: DomainPrefix, kept: Kept): TokenSet {
  const { value, expiresAt, refreshToken, issuedAt, version, refusedAt } = kept;
  const access = expiresAt === undefined ? { value } : { value, expiresAt };
  const set = { domainPrefix, access, refreshToken, issuedAt, version };
  return quiet(refusedAt === undefined ? set : { ...set, refusedAt });
}
