import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import type { RetailerCache } from "./retailer-cache.js";

/** The retailers that this process knows. The number is bounded, because it may serve any number of them. */
export type KnownRetailers = ReturnType<typeof knownRetailers>;

/** How many retailers are remembered. */
export interface KnownRetailersBounds {
  /** Up to this many even if no caller asks for them. */
  readonly keptWhenIdle: number;
  /** From this many on, the oldest leave this process's memory, in use or not. The store keeps them. */
  readonly most: number;
}

const BOUNDS: KnownRetailersBounds = { keptWhenIdle: 10_000, most: 200_000 };
/** A retailer is in use for this long after its copy was compared with the store; also how often that is checked. */
const IN_USE_MS = 60_000;

export function knownRetailers(
  clock: () => number,
  create: (domainPrefix: DomainPrefix) => RetailerCache,
  { keptWhenIdle, most }: KnownRetailersBounds = BOUNDS,
) {
  const retailers = new Map<DomainPrefix, RetailerCache>();
  /** A job has met it, and no caller has asked for it since. */
  const visited = new Set<RetailerCache>();
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    get: (domainPrefix: DomainPrefix): RetailerCache | undefined => get(domainPrefix),
    /** The same; a new one is made if it is not known yet. */
    of: (domainPrefix: DomainPrefix): RetailerCache => get(domainPrefix) ?? add(domainPrefix),
    /** The same, for a job that goes through all retailers: it calls `leave` at the end. */
    visit(domainPrefix: DomainPrefix): RetailerCache {
      const known = retailers.get(domainPrefix);
      if (known) return known;
      const retailer = add(domainPrefix);
      visited.add(retailer);
      return retailer;
    },
    /**
     * Drops a retailer that a job was the first to visit, unless a caller has asked for it or something would be lost.
     */
    leave(retailer: RetailerCache): void {
      if (visited.has(retailer) && !retailer.isNeeded && !retailer.hasRejections) drop(retailer);
    },
  };

  function get(domainPrefix: DomainPrefix): RetailerCache | undefined {
    const known = retailers.get(domainPrefix);
    if (known && visited.size > 0) visited.delete(known);
    return known;
  }

  function add(domainPrefix: DomainPrefix): RetailerCache {
    makeRoom();
    const retailer = create(domainPrefix);
    retailers.set(domainPrefix, retailer);
    return retailer;
  }

  function drop(retailer: RetailerCache): void {
    visited.delete(retailer);
    retailers.delete(retailer.domainPrefix);
  }

  function makeRoom(): void {
    if (retailers.size < keptWhenIdle) return;
    const now = clock();
    if (Math.abs(now - sweptAt) >= IN_USE_MS) {
      sweptAt = now;
      const isIdle = (retailer: RetailerCache) =>
        Math.abs(retailer.ageMs(now)) >= IN_USE_MS && !retailer.hasRejections;
      forgetSome(retailers.size - keptWhenIdle + 1, isIdle);
    }
    if (retailers.size >= most) forgetSome(most / 10, () => true);
  }

  /** Forgets the first of those that may go. Retailers with work under way or an unsaved set stay. */
  function forgetSome(count: number, mayGo: (retailer: RetailerCache) => boolean): void {
    let left = count;
    for (const retailer of retailers.values()) {
      if (left === 0) return;
      if (retailer.isNeeded || !mayGo(retailer)) continue;
      drop(retailer);
      left -= 1;
    }
  }
}
