import type { DomainPrefix } from "./domain-prefix.js";
import { type SingleFlight, singleFlight } from "./single-flight.js";
import type { TokenSet } from "./token-set.js";

/** What this process knows of one retailer. */
export interface Retailer {
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
  readonly looking: SingleFlight<TokenSet | undefined>;
  readonly renewing: SingleFlight<TokenSet>;
  readonly savingAgain: SingleFlight<void>;
}

/** The retailers this process has to do with; bounded, because it may serve any number of them. */
export interface KnownRetailers {
  get(domainPrefix: DomainPrefix): Retailer | undefined;
  /** The same, made where it is not there yet. */
  of(domainPrefix: DomainPrefix): Retailer;
}

/** Past this many, the retailers known for longest leave this process's memory (never the store). */
const MOST_RETAILERS = 10_000;

export function knownRetailers(): KnownRetailers {
  const retailers = new Map<DomainPrefix, Retailer>();
  return {
    get: (domainPrefix) => retailers.get(domainPrefix),
    of(domainPrefix) {
      const known = retailers.get(domainPrefix);
      if (known) return known;
      if (retailers.size >= MOST_RETAILERS) forgetIdle();
      const retailer = unknownRetailer(domainPrefix);
      retailers.set(domainPrefix, retailer);
      return retailer;
    },
  };

  /** Makes room by a tenth, oldest first; what is under way or not yet saved stays. */
  function forgetIdle(): void {
    let room = MOST_RETAILERS / 10;
    for (const [domainPrefix, retailer] of retailers) {
      if (room === 0) return;
      const { looking, renewing } = retailer;
      if (looking.underWay || renewing.underWay || isUnsaved(retailer)) continue;
      retailers.delete(domainPrefix);
      room -= 1;
    }
  }
}

function unknownRetailer(domainPrefix: DomainPrefix): Retailer {
  return {
    domainPrefix,
    held: undefined,
    checkedAt: Number.NEGATIVE_INFINITY,
    asOf: 0,
    logins: 0,
    unsavedOver: [],
    rejected: [],
    looking: singleFlight(),
    renewing: singleFlight(),
    savingAgain: singleFlight(),
  };
}

/** Whether this process holds a set that the store has not taken. */
export function isUnsaved({ unsavedOver }: Retailer): boolean {
  return unsavedOver.length > 0;
}
