import type { DomainPrefix } from "./domain-prefix.js";
import type { AccessToken, TokenSet } from "./token-set.js";

/** What this process knows of one retailer. */
export interface Retailer {
  /** While `checkedAt <= now < goodUntil`, this is handed out without a further look: `held.access`. */
  access: AccessToken | undefined;
  /** When something has to be done: ask the store, renew, wait. Epoch milliseconds. */
  goodUntil: number;
  readonly domainPrefix: DomainPrefix;
  /** This process's copy of the stored set. */
  held: TokenSet | undefined;
  /** When the copy was last compared with the store, epoch milliseconds. */
  checkedAt: number;
  /** The tick of what `held` rests on: a look at the store that began earlier has nothing to add. */
  asOf: number;
  /** Counts logins and disconnects here: what a renewal saves does not outlast one that came in between. */
  logins: number;
  /** While the store has not taken `held`: the sets of which it should still hold one (behaviour 9). Else empty. */
  unsavedOver: readonly TokenSet[];
  /** The last access tokens the API answered 401 to. */
  rejected: readonly string[];
  /** How many in a row were rejected soon after they had been issued, and when the last of them was. */
  rejections: { readonly count: number; readonly at: number };
  /** What is under way. */
  looking: Promise<TokenSet | undefined> | undefined;
  renewing: Promise<TokenSet> | undefined;
  savingAgain: Promise<void> | undefined;
}

/** The retailers this process has to do with; bounded, because it may serve any number of them. */
export interface KnownRetailers {
  get(domainPrefix: DomainPrefix): Retailer | undefined;
  /** The same, made where it is not there yet. */
  of(domainPrefix: DomainPrefix): Retailer;
}

/** Up to so many are remembered however long nobody asked for them. */
const KEPT_WHEN_IDLE = 10_000;
/** How long one counts as in use after its copy was last compared with the store, and how often that is looked at. */
const IN_USE_MS = 60_000;
/** Past this many, those known for longest leave this process's memory, in use or not (never the store). */
const MOST_RETAILERS = 200_000;

export function knownRetailers(clock: () => number): KnownRetailers {
  const retailers = new Map<DomainPrefix, Retailer>();
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    get: (domainPrefix) => retailers.get(domainPrefix),
    of(domainPrefix) {
      const known = retailers.get(domainPrefix);
      if (known) return known;
      makeRoom();
      const retailer = unknownRetailer(domainPrefix);
      retailers.set(domainPrefix, retailer);
      return retailer;
    },
  };

  function makeRoom(): void {
    if (retailers.size < KEPT_WHEN_IDLE) return;
    const now = clock();
    if (Math.abs(now - sweptAt) >= IN_USE_MS) {
      sweptAt = now;
      const isOver = (retailer: Retailer) =>
        Math.abs(now - retailer.checkedAt) >= IN_USE_MS && retailer.rejected.length === 0;
      forget(retailers.size - KEPT_WHEN_IDLE + 1, isOver);
    }
    if (retailers.size >= MOST_RETAILERS) forget(MOST_RETAILERS / 10, () => true);
  }

  /** The first of these; what is under way or not yet saved stays. */
  function forget(most: number, isOver: (retailer: Retailer) => boolean): void {
    let left = most;
    for (const [domainPrefix, retailer] of retailers) {
      if (left === 0) return;
      const { looking, renewing, savingAgain } = retailer;
      if (looking || renewing || savingAgain || isUnsaved(retailer) || !isOver(retailer)) continue;
      retailers.delete(domainPrefix);
      retailer.goodUntil = Number.NEGATIVE_INFINITY; // who still holds it has to look for its successor
      left -= 1;
    }
  }
}

const NONE: readonly never[] = [];
const NEVER = { count: 0, at: Number.NEGATIVE_INFINITY };

function unknownRetailer(domainPrefix: DomainPrefix): Retailer {
  return {
    access: undefined,
    goodUntil: Number.NEGATIVE_INFINITY,
    domainPrefix,
    held: undefined,
    checkedAt: Number.NEGATIVE_INFINITY,
    asOf: 0,
    logins: 0,
    unsavedOver: NONE,
    rejected: NONE,
    rejections: NEVER,
    looking: undefined,
    renewing: undefined,
    savingAgain: undefined,
  };
}

/** Whether this process holds a set that the store has not taken. */
export function isUnsaved({ unsavedOver }: Retailer): boolean {
  return unsavedOver.length > 0;
}
