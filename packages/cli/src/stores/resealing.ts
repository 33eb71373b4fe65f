import type { DomainPrefix } from "@retail-pos/core";
import type { SealingStore } from "./application-module.js";
import { asked, checkedStore } from "./checked-store.js";

/**
 * What became of one retailer's record: sealed anew; under the first key already; changed by somebody else at the same
 * time; or gone since it was listed.
 */
export type ResealOutcome = "resealed" | "sealed" | "changed" | "gone";

/**
 * Seals one retailer's tokens with the first key, if they are under another: the same set, by compare-and-set over
 * itself, so that a renewal at the same moment wins.
 *
 * @throws {StoredTokensError} the record cannot be opened.
 * @throws {StoreFailedError}
 */
export function resealer(store: SealingStore): (domainPrefix: DomainPrefix) => Promise<ResealOutcome> {
  const { load, save } = checkedStore(store);
  return async (domainPrefix) => {
    const key = await asked("load", domainPrefix, () => store.keyOf(domainPrefix));
    if (key === undefined) return "gone";
    if (key === store.firstKey) return "sealed";
    const set = await load(domainPrefix);
    if (!set) return "gone";
    return (await save(set, set)) ? "resealed" : "changed";
  };
}
