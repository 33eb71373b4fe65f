import { type DomainPrefix, StoredTokensError, StoreFailedError } from "@retail-pos/core";
import { areOfTwoApplications } from "@retail-pos/core/authoring";
import type { CheckedStore } from "./checked-store.js";

/**
 * What became of one retailer: copied; there already; newer in the store that is copied to; or gone from the other one
 * since it was listed.
 */
export type CopyOutcome = "copied" | "same" | "newer" | "gone";

/** Somebody else changes a record while it is copied, again and again. */
const MOST_TRIES = 10;

/**
 * Copies one retailer's token set, as both stores have it now. The later `issuedAt` wins, in a tie the source. It
 * replaces by compare-and-set, so that what comes into the other store meanwhile is compared, not overwritten. Only if
 * nothing is there it cannot compare: stores have no "save if absent". So nobody else may log in there meanwhile.
 *
 * @throws {StoredTokensError} one of the records is no token set, or they are of two applications.
 * @throws {StoreFailedError}
 */
export async function copyRetailer(
  domainPrefix: DomainPrefix,
  from: CheckedStore,
  to: CheckedStore,
): Promise<CopyOutcome> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const source = await from.load(domainPrefix);
    if (!source) return "gone";
    const target = await to.load(domainPrefix);
    if (target) {
      if (target.version === source.version) return "same";
      if (areOfTwoApplications(target.version, source.version)) throw otherApplication(domainPrefix);
      if (target.issuedAt > source.issuedAt) return "newer";
    }
    if (await to.save(source, target)) return "copied";
  }
  throw new StoreFailedError("save", `The tokens of retailer "${domainPrefix}" change all the time`, {
    domainPrefix,
  });
}

function otherApplication(domainPrefix: DomainPrefix): Error {
  const problem =
    "in the other store it belongs to another application (client id), and each needs a store of its own";
  return new StoredTokensError(problem, { domainPrefix });
}
