import type { DomainPrefix } from "./domain-prefix.js";
import type { RetailerStatus } from "./retailer-status.js";
import type { TokenSet } from "./token-set.js";

/**
 * Keeps one {@link TokenSet} per retailer. The contract that every store has to pass is
 * `storeContract` of `@retail-pos/sandbox/contracts`. A record must not expire by itself: the refresh
 * token outlives the access token.
 */
export interface TokenStore {
  /** The retailer's set, as a copy of its own; `undefined` when there is none. */
  load(domainPrefix: DomainPrefix): Promise<TokenSet | undefined>;
  /**
   * Keeps `next`. With `replacing`: only while the store still holds that version (compare-and-set). Without it,
   * the store should refuse to replace another application's set: two versions that both end in a mark, a tilde and
   * seven characters, belong to two client ids if their marks differ.
   *
   * @returns whether it saved. It rejects only when it cannot tell.
   */
  save(next: TokenSet, replacing?: TokenSet): Promise<boolean>;
  /** Forgets the retailer; nothing happens when there is nothing. */
  remove(domainPrefix: DomainPrefix): Promise<void>;
  /**
   * Optional. One page of what is stored: at most `limit` retailers, in any order, maybe none though more follow. A
   * retailer that is there from the first page to the last comes exactly once, whoever comes and goes meanwhile. No
   * token is in it.
   *
   * @param ask `limit` is a whole number from 1 to 10,000; `cursor` is that of the page before, also of one that
   * another process got hours ago; absent for the first page.
   * @returns `cursor` is absent on the last page.
   * @throws {TypeError} naming `limit` or `cursor`.
   */
  list?(ask: { limit: number; cursor?: string }): Promise<{
    /** Who is on this page. */
    retailers: RetailerStatus[];
    /** Asks for the next page; absent on the last. */
    cursor?: string;
  }>;
  /**
   * Optional. Lets one caller win, in all processes that share the store: the first to ask for a key gets `true`,
   * everybody else `false` until `forMs` have passed on the store's own clock. One atomic step. Claims that have
   * ended are removed. Core uses it to finish each login once (behaviour 15).
   *
   * @param key any text; it holds no secret.
   * @param forMs how long the claim lasts, milliseconds, more than 0.
   */
  claim?(key: string, forMs: number): Promise<boolean>;
}
