import { within } from "./deadline.js";
import type { DomainPrefix } from "./domain-prefix.js";
import { isRetailPosError, StoredTokensError, StoreFailedError, type StoreOperation } from "./errors.js";
import { type RetailerStatus, retailerStatus } from "./retailer-status.js";
import { inPlainWords, withoutSecrets } from "./secrets.js";
import { doingOf } from "./store-failure.js";
import { sleep } from "./timers.js";
import { checkStored, quiet, type TokenSet } from "./token-set.js";
import type { TokenStore } from "./token-store.js";
import type { Versions } from "./versions.js";

/** A token store as the rest of core uses it: records checked, errors without secrets, saves seen through. */
export interface CheckedStore {
  /** @throws {StoredTokensError} for a record that is no token set of this retailer. */
  load(domainPrefix: DomainPrefix, held: TokenSet | undefined): Promise<TokenSet | undefined>;
  /** Replaces whatever is stored. */
  save(set: TokenSet): Promise<void>;
  /**
   * Compare-and-set over any of these: where earlier saves failed, nobody knows which of ours the store
   * holds. Returns what it holds afterwards: `next`, or what somebody else put there, or nothing where the
   * retailer was disconnected.
   */
  put(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined>;
  /** The same, tried again for about three seconds (behaviour 9). */
  putPatiently(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined>;
  /** The same as `put`, for a set whose failure to be saved was told already. */
  putQuietly(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined>;
  remove(domainPrefix: DomainPrefix): Promise<void>;
  /** One page, as the store gave it; what is no status is left out. Absent if the store cannot list. */
  readonly list: ((ask: PageAsk) => Promise<Page>) | undefined;
  /** Absent if the store cannot claim. */
  readonly claim: ((key: string, forMs: number) => Promise<boolean>) | undefined;
}

/** What a page is asked for, and what it is. */
type PageAsk = { limit: number; cursor?: string };
type Page = { retailers: RetailerStatus[]; cursor?: string };

/** Pauses between the tries. */
const AGAIN_AFTER_MS = [50, 150, 400, 900, 1500];
/** Some clients queue what they are asked for as long as they have no connection. */
const ANSWER_WITHIN_MS = 5_000;

/** @param failed told of each operation that failed, once however often it was tried. */
export function checkedStore(
  store: TokenStore,
  versions: Versions,
  failed: (error: StoreFailedError) => void,
): CheckedStore {
  return {
    load: told(load),
    save: told(save),
    put: told(put),
    putPatiently: told(putPatiently),
    putQuietly: put,
    remove: told(remove),
    list: typeof store.list === "function" ? told(list) : undefined,
    claim: typeof store.claim === "function" ? told(claim) : undefined,
  };

  function told<Args extends unknown[], T>(
    ask: (...args: Args) => Promise<T>,
  ): (...args: Args) => Promise<T> {
    return async (...args) => {
      try {
        return await ask(...args);
      } catch (error) {
        if (isRetailPosError(error) && error.code === "store_failed") failed(error);
        throw error;
      }
    };
  }

  async function load(domainPrefix: DomainPrefix, held?: TokenSet): Promise<TokenSet | undefined> {
    const record = await clean("load", domainPrefix, () => store.load(domainPrefix), held);
    if (record === undefined || record === null) return undefined;
    const set = checkStored(record, domainPrefix);
    if (versions.isForeign(set.version)) throw new OtherApplicationError(domainPrefix);
    return set;
  }

  async function save(set: TokenSet): Promise<void> {
    const saved = await clean("save", set.domainPrefix, () => store.save(quiet(set)), set);
    if (saved) return;
    await load(set.domainPrefix); // throws if another application's set is there
    throw notSaved(set);
  }

  async function remove(domainPrefix: DomainPrefix): Promise<void> {
    await clean("remove", domainPrefix, () => store.remove(domainPrefix));
  }

  async function claim(key: string, forMs: number): Promise<boolean> {
    const answer: unknown = await clean("claim", undefined, () => store.claim?.(key, forMs));
    if (typeof answer === "boolean") return answer;
    throw new StoreFailedError("claim", "The store's claim() answered neither true nor false");
  }

  async function list(ask: PageAsk): Promise<Page> {
    const page: unknown = await clean("list", undefined, () => store.list?.(ask));
    const { retailers, cursor } = Object(page) as { retailers?: unknown; cursor?: unknown };
    if (!Array.isArray(retailers) || (cursor !== undefined && typeof cursor !== "string"))
      throw new StoreFailedError("list", "The store's list() answered no page: { retailers, cursor? }");
    const statuses = retailers.flatMap((status) => retailerStatus(Object(status)) ?? []);
    return cursor === undefined ? { retailers: statuses } : { retailers: statuses, cursor };
  }

  async function put(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined> {
    let tried = replacing[0];
    for (;;) {
      const { domainPrefix } = next;
      const save = () => store.save(quiet(next), tried);
      if (await clean("save", domainPrefix, save, next, ...replacing)) return next;
      const stored = await load(domainPrefix, next);
      if (stored?.version === next.version) return next; // saved by a try whose answer was lost
      if (stored && stored.version === tried?.version) throw notSaved(next);
      if (!stored || !mayReplace(stored, replacing, next)) return stored;
      tried = stored;
    }
  }

  async function putPatiently(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined> {
    for (const pauseMs of AGAIN_AFTER_MS) {
      try {
        return await put(next, replacing);
      } catch (error) {
        if (isNoAnswer(error)) throw error; // it had its time
        await sleep(pauseMs);
      }
    }
    return put(next, replacing);
  }
}

/**
 * Whether a stored set may be replaced by `next`: it is one of those; or it holds a refresh token that they held
 * and that `next` has replaced, so it is older (saved late by another process); or another process was refused
 * that refresh token, or met a 429 with it, and noted that on the set.
 */
export function mayReplace(stored: TokenSet, replacing: readonly TokenSet[], next: TokenSet): boolean {
  const isNoteOver = stored.limitedUntil !== undefined && stored.issuedAt < next.issuedAt;
  const isSpent =
    next.refreshToken !== stored.refreshToken ||
    isNoteOver ||
    (stored.refusedAt !== undefined && next.limitedUntil === undefined); // a note of a 429 leaves a mark be
  return replacing.some(
    ({ version, refreshToken }) =>
      version === stored.version || (isSpent && refreshToken === stored.refreshToken),
  );
}

/** Asks the store; what it throws may repeat what it was given, and becomes the cause of our own error. */
async function clean<T>(
  operation: StoreOperation,
  domainPrefix: DomainPrefix | undefined,
  ask: () => Promise<T> | T,
  ...sets: readonly (TokenSet | undefined)[]
): Promise<T> {
  try {
    // What a renewal saves names what it replaces, so an answer that comes later does no harm.
    return await within(ANSWER_WITHIN_MS, ask(), () => new NoAnswerError());
  } catch (error) {
    const secrets = sets.flatMap((set) => (set ? [set.access.value, set.refreshToken] : []));
    const isOurs = isRetailPosError(error) || error instanceof NoAnswerError;
    // What a foreign store says may repeat a record, and this may be the first that we hear of that record.
    const said = isOurs ? error : inPlainWords(error);
    throw storeFailed(operation, domainPrefix, withoutSecrets(said, secrets));
  }
}

/** Our stores throw errors of ours, which say it already. */
function storeFailed(
  operation: StoreOperation,
  domainPrefix: DomainPrefix | undefined,
  cause: unknown,
): Error {
  if (isRetailPosError(cause)) return cause;
  const reason = (cause as { message?: unknown } | null)?.message ?? cause;
  const message = `The store could not ${doingOf(operation, domainPrefix)}: ${reason}`;
  return new StoreFailedError(operation, message, { domainPrefix, cause });
}

/** Two applications share a store by mistake: neither may use, replace or delete what the other keeps. */
class OtherApplicationError extends StoredTokensError {
  constructor(domainPrefix: DomainPrefix) {
    const problem = "it belongs to another application (client id), and each needs a store of its own";
    super(problem, { domainPrefix }, "Nothing was changed");
  }
}

class NoAnswerError extends Error {
  constructor() {
    super(`The store did not answer within ${ANSWER_WITHIN_MS} ms`);
  }
}

function isNoAnswer(error: unknown): boolean {
  return (error as { cause?: unknown } | null)?.cause instanceof NoAnswerError;
}

function notSaved({ domainPrefix }: TokenSet): Error {
  return new StoreFailedError("save", `The store did not save the tokens of retailer "${domainPrefix}"`, {
    domainPrefix,
  });
}
