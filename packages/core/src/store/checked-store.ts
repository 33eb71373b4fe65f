import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { isRetailPosError, StoredTokensError, StoreFailedError } from "../vocabulary/errors.js";
import { type Tell, tellStoreFailed } from "../vocabulary/events.js";
import {
  isDomainPrefix,
  isRetailerStatus,
  type RetailerStatus,
  retailerStatus,
} from "../vocabulary/retailer-status.js";
import { checkStored, copyStored, redacted, type TokenSet } from "../vocabulary/token-set.js";
import type { Versions } from "../vocabulary/token-set-versions.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { compareAndSet, notSaved, type Put } from "./compare-and-set.js";
import { storeAnswer } from "./store-failure.js";

/** The store as the rest of core uses it. It checks every answer, and shows no secret in errors. */
export interface CheckedStore {
  /** @throws {StoredTokensError} the record is no token set of this retailer and this application. */
  load(domainPrefix: DomainPrefix, held: TokenSet | undefined): Promise<TokenSet | undefined>;
  /** Replaces the stored set, if there is one. */
  save(set: TokenSet): Promise<void>;
  readonly put: Put;
  /** Does the same as `put`, but does not report a failure: a set that the store does not take is tried many times. */
  readonly putQuietly: Put;
  remove(domainPrefix: DomainPrefix): Promise<void>;
  /** One page. Entries that are no valid status are reported and left out. `undefined` if the store has no `list`. */
  readonly list: ((ask: ListAsk) => Promise<ListedPage>) | undefined;
  /** `undefined` if the store has no `claim`. */
  readonly claim: ((key: string, forMs: number) => Promise<boolean>) | undefined;
}

type ListAsk = { limit: number; cursor?: string };
type ListedPage = { retailers: RetailerStatus[]; cursor?: string };

/** @param tell told once of each operation that failed, even if it was tried several times. */
export function checkedStore(store: TokenStore, versions: Versions, tell: Tell): CheckedStore {
  const put = compareAndSet(store, load);

  return {
    load: reporting(load),
    save: reporting(save),
    put: reporting(put),
    putQuietly: put,
    remove: reporting(remove),
    list: typeof store.list === "function" ? reporting(list) : undefined,
    claim: typeof store.claim === "function" ? reporting(claim) : undefined,
  };

  function reporting<Args extends unknown[], T>(
    ask: (...args: Args) => Promise<T>,
  ): (...args: Args) => Promise<T> {
    return async (...args) => {
      try {
        return await ask(...args);
      } catch (error) {
        if (isRetailPosError(error) && error.code === "store_failed") tellStoreFailed(tell, error);
        throw error;
      }
    };
  }

  async function load(domainPrefix: DomainPrefix, held?: TokenSet): Promise<TokenSet | undefined> {
    const record = await storeAnswer("load", domainPrefix, () => store.load(domainPrefix), held);
    if (record === undefined || record === null) return undefined;
    const copy = copyStored(record, domainPrefix);
    // First, because another application's record may be sealed: its keys would not help here.
    if (versions.isForeign(Object(copy).version)) throw new OtherApplicationError(domainPrefix);
    return checkStored(copy, domainPrefix);
  }

  async function save(set: TokenSet): Promise<void> {
    const saved = await storeAnswer("save", set.domainPrefix, () => store.save(redacted(set)), set);
    if (saved) return;
    await load(set.domainPrefix).catch((error: unknown) => {
      // The store refused to replace another application's set. A record that cannot be read has that one's seal.
      throw error instanceof StoredTokensError ? new OtherApplicationError(set.domainPrefix) : error;
    });
    throw notSaved(set);
  }

  async function remove(domainPrefix: DomainPrefix): Promise<void> {
    await storeAnswer("remove", domainPrefix, () => store.remove(domainPrefix));
  }

  async function claim(key: string, forMs: number): Promise<boolean> {
    const answer: unknown = await storeAnswer("claim", undefined, () => store.claim?.(key, forMs));
    if (typeof answer === "boolean") return answer;
    throw new StoreFailedError("claim", "The store's claim() answered neither true nor false");
  }

  async function list(ask: ListAsk): Promise<ListedPage> {
    const page: unknown = await storeAnswer("list", undefined, () => store.list?.(ask));
    const { retailers, cursor } = Object(page) as { retailers?: unknown; cursor?: unknown };
    if (!Array.isArray(retailers) || (cursor !== undefined && typeof cursor !== "string"))
      throw new StoreFailedError("list", "The store's list() answered no page: { retailers, cursor? }");
    const statuses = retailers.map((entry) => retailerStatus(Object(entry))).filter(reportIfInvalid);
    return cursor === undefined ? { retailers: statuses } : { retailers: statuses, cursor };
  }

  function reportIfInvalid(status: RetailerStatus): boolean {
    const isValid = isRetailerStatus(status);
    if (!isValid) tellStoreFailed(tell, leftOut(status));
    return isValid;
  }
}

/** The error for a record that was edited by hand. `load` of that retailer reports which field is wrong. */
function leftOut({ domainPrefix: name }: { domainPrefix: unknown }): StoreFailedError {
  if (!isDomainPrefix(name))
    return new StoreFailedError(
      "list",
      "The list leaves out a record whose domain prefix is not one DNS label",
    );
  const problem = `The list leaves out retailer "${name}": what is stored is unusable. Logging in again replaces it`;
  return new StoreFailedError("list", problem, { domainPrefix: name });
}

/** Two applications share a store by mistake. Neither may use or replace the other's tokens. */
class OtherApplicationError extends StoredTokensError {
  constructor(domainPrefix: DomainPrefix) {
    const problem = "it belongs to another application (client id), and each needs a store of its own";
    super(problem, { domainPrefix }, "Nothing was changed");
  }
  override get isOfAnotherApplication(): boolean {
    return true;
  }
}
