import type { DomainPrefix } from "./domain-prefix.js";
import type { HeldTokens } from "./held-tokens.js";

/** The retailers this process has to do with; bounded, because it may serve any number of them. */
export interface KnownRetailers {
  get(domainPrefix: DomainPrefix): HeldTokens | undefined;
  /** The same, made if it is not there yet. */
  of(domainPrefix: DomainPrefix): HeldTokens;
  /** Drops one that nothing would be lost with. */
  forget(retailer: HeldTokens): void;
}

/** Up to so many are remembered however long nobody asked for them. */
const KEPT_WHEN_IDLE = 10_000;
/** How long one counts as in use after its copy was last compared with the store, and how often that is looked at. */
const IN_USE_MS = 60_000;
/** Past this many, those known for longest leave this process's memory, in use or not (never the store). */
const MOST_RETAILERS = 200_000;

export function knownRetailers(
  clock: () => number,
  unknown: (domainPrefix: DomainPrefix) => HeldTokens,
): KnownRetailers {
  const retailers = new Map<DomainPrefix, HeldTokens>();
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    get: (domainPrefix) => retailers.get(domainPrefix),
    of(domainPrefix) {
      const known = retailers.get(domainPrefix);
      if (known) return known;
      makeRoom();
      const retailer = unknown(domainPrefix);
      retailers.set(domainPrefix, retailer);
      return retailer;
    },
    forget(retailer) {
      if (!retailer.isNeeded && !retailer.hasRejections) drop(retailer);
    },
  };

  function drop(retailer: HeldTokens): void {
    retailers.delete(retailer.domainPrefix);
    retailer.goodUntil = Number.NEGATIVE_INFINITY; // whoever still has it looks for its successor
  }

  function makeRoom(): void {
    if (retailers.size < KEPT_WHEN_IDLE) return;
    const now = clock();
    if (Math.abs(now - sweptAt) >= IN_USE_MS) {
      sweptAt = now;
      const isIdle = (retailer: HeldTokens) =>
        Math.abs(now - retailer.checkedAt) >= IN_USE_MS && !retailer.hasRejections;
      forgetSome(retailers.size - KEPT_WHEN_IDLE + 1, isIdle);
    }
    if (retailers.size >= MOST_RETAILERS) forgetSome(MOST_RETAILERS / 10, () => true);
  }

  /** The first of these; what is under way or not yet saved stays. */
  function forgetSome(most: number, mayGo: (retailer: HeldTokens) => boolean): void {
    let left = most;
    for (const retailer of retailers.values()) {
      if (left === 0) return;
      if (retailer.isNeeded || !mayGo(retailer)) continue;
      drop(retailer);
      left -= 1;
    }
  }
}
