import { type DomainPrefix, isRetailPosError, type RetailerStatus, StoreFailedError } from "@retail-pos/core";
import { WordsOnly, wordsOf } from "../terminal/error-message.js";
import type { KeyedStore } from "./application-module.js";
import { asked, type CheckedStore, checkedStore } from "./checked-store.js";

/**
 * What became of one retailer's record: sealed anew; under the first key already; changed by somebody else at the same
 * time; or gone since it was listed.
 */
export type ResealOutcome = "resealed" | "sealed" | "changed" | "gone";

/** So many records may be unusable before the first one that shows which key is the first. */
const MOST_TRIES = 100;

/**
 * The id of the key that the store seals with. A store only says which key a record is under, so a record is saved as
 * it is, and then looked at.
 *
 * @returns `undefined` if the store is empty.
 * @throws {WordsOnly} none of the records, or of the first hundred, could be opened.
 * @throws {StoreFailedError} the store failed with all of them.
 */
export async function firstKeyOf(
  store: KeyedStore,
  retailers: AsyncIterable<RetailerStatus>,
): Promise<string | undefined> {
  const checked = checkedStore(store);
  let tries = 0;
  const failures: unknown[] = [];
  for await (const { domainPrefix } of retailers) {
    try {
      const key = await keyAfterSaving(domainPrefix, store, checked);
      if (key !== undefined) return key;
    } catch (error) {
      failures.push(error);
    }
    tries += 1;
    if (tries === MOST_TRIES) break;
  }
  if (failures.length > 0) throw failureOf(failures);
  if (tries === MOST_TRIES) throw new StoreFailedError("save", "The store's records change all the time");
  return undefined;
}

/** A missing key spoils every record. To name only one of them would read as if only that one were broken. */
function failureOf(failures: readonly unknown[]): unknown {
  const [first] = failures;
  const isOfRecords = failures.every((each) => isRetailPosError(each) && each.code === "bad_stored_tokens");
  if (!isOfRecords || failures.length === 1) return first;
  const records = failures.length === MOST_TRIES ? `the first ${MOST_TRIES}` : `the ${failures.length}`;
  return new WordsOnly(`None of ${records} records could be opened; stopped. First: ${wordsOf(first)}`);
}

/** `undefined` if somebody else has changed the record at the same time: then nobody knows whose key it is. */
async function keyAfterSaving(
  domainPrefix: DomainPrefix,
  store: KeyedStore,
  { load, save }: CheckedStore,
): Promise<string | undefined> {
  const set = await load(domainPrefix);
  if (!set || !(await save(set, set))) return undefined;
  const key = await keyOf(store, domainPrefix);
  return (await load(domainPrefix))?.version === set.version ? key : undefined;
}

/**
 * Seals one retailer's tokens with the first key, if they are under another: the same set, by compare-and-set over
 * itself, so that a renewal at the same moment wins.
 *
 * @throws {StoredTokensError} the record cannot be opened.
 * @throws {StoreFailedError}
 */
export function resealer(
  store: KeyedStore,
  first: string,
): (domainPrefix: DomainPrefix) => Promise<ResealOutcome> {
  const { load, save } = checkedStore(store);
  return async (domainPrefix) => {
    const key = await keyOf(store, domainPrefix);
    if (key === undefined) return "gone";
    if (key === first) return "sealed";
    const set = await load(domainPrefix);
    if (!set) return "gone";
    return (await save(set, set)) ? "resealed" : "changed";
  };
}

function keyOf(store: KeyedStore, domainPrefix: DomainPrefix): Promise<string | undefined> {
  return asked("load", domainPrefix, () => store.keyOf(domainPrefix));
}
