import type { DomainPrefix } from "./domain-prefix.js";
import type { RetailerStatus } from "./retailer-status.js";
import type { TokenSet } from "./token-set.js";

/**
 * Keeps one {@link TokenSet} per retailer. Every store has to pass `storeContract` of `@retail-pos/store-contracts`.
 * Records must not expire by themselves: the refresh token is valid for longer than the access token.
 */
export interface TokenStore {
  /** The retailer's set, a new copy each time; `undefined` if there is none. */
  load(domainPrefix: DomainPrefix): Promise<TokenSet | undefined>;
  /**
   * Keeps `next`. With `replacing`, it does so only if the store still holds the version of that set (compare-and-set).
   * Without `replacing`, it should refuse to replace another application's set. A version may end in a suffix, a tilde
   * and seven characters; two versions with different suffixes belong to two client ids.
   *
   * @returns whether it saved. It rejects only if it does not know.
   */
  save(next: TokenSet, replacing?: TokenSet): Promise<boolean>;
  /** Removes the retailer's set; does nothing if there is none. */
  remove(domainPrefix: DomainPrefix): Promise<void>;
  /**
   * Optional. Returns one page of the stored retailers, without tokens: at most `limit`, in any order. A page may be
   * empty although more follow. A retailer that is stored from the first page to the last is listed exactly once, even
   * if others are added or removed meanwhile.
   *
   * @param ask `limit` is a whole number from 1 to 10,000. `cursor` is the one of the page before, absent for the first
   * page; it may be hours old and from another process.
   * @returns `cursor` is absent on the last page.
   * @throws {TypeError} naming `limit` or `cursor`.
   */
  list?(ask: { limit: number; cursor?: string }): Promise<{
    /** The retailers on this page. */
    retailers: RetailerStatus[];
    /** Pass it to `list` to get the next page; absent on the last. */
    cursor?: string;
  }>;
  /**
   * Optional. Lets one caller win, in all processes that share the store: the first to ask for a key gets `true`, and
   * all others get `false` until `forMs` have passed on the store's own clock. It is one atomic step. The store removes
   * claims that have ended. Core uses it to finish each login once (behaviour 15).
   *
   * @param key any text; it holds no secret.
   * @param forMs how long the claim lasts, milliseconds, more than 0.
   */
  claim?(key: string, forMs: number): Promise<boolean>;
}
