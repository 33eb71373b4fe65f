import type { DomainPrefix } from "./domain-prefix.js";
import { sleep, within } from "./promises.js";
import { withoutSecrets } from "./secrets.js";
import { checkStored, quiet, type TokenSet } from "./token-set.js";
import type { TokenStore } from "./token-store.js";

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
  remove(domainPrefix: DomainPrefix): Promise<void>;
}

/** Pauses between the tries. */
const AGAIN_AFTER_MS = [50, 150, 400, 900, 1500];
/** Some clients queue what they are asked for as long as they have no connection. */
const ANSWER_WITHIN_MS = 5_000;

export function checkedStore(store: TokenStore): CheckedStore {
  return { load, save, put, putPatiently, remove };

  async function load(domainPrefix: DomainPrefix, held?: TokenSet): Promise<TokenSet | undefined> {
    const record = await clean(() => store.load(domainPrefix), held);
    return record === undefined || record === null ? undefined : checkStored(record, domainPrefix);
  }

  async function save(set: TokenSet): Promise<void> {
    if (!(await clean(() => store.save(quiet(set)), set))) throw notSaved(set);
  }

  async function remove(domainPrefix: DomainPrefix): Promise<void> {
    await clean(() => store.remove(domainPrefix));
  }

  async function put(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined> {
    let tried = replacing[0];
    for (;;) {
      if (await clean(() => store.save(quiet(next), tried), next, ...replacing)) return next;
      const stored = await load(next.domainPrefix, next);
      if (stored?.version === next.version) return next; // saved by a try whose answer was lost
      if (stored && stored.version === tried?.version) throw notSaved(next);
      if (!stored || !isOurs(stored, replacing, next)) return stored;
      tried = stored;
    }
  }

  async function putPatiently(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined> {
    for (const pauseMs of AGAIN_AFTER_MS) {
      try {
        return await put(next, replacing);
      } catch (error) {
        if (error instanceof NoAnswerError) throw error; // it had its time
        await sleep(pauseMs);
      }
    }
    return put(next, replacing);
  }
}

/**
 * Whether a stored set may be replaced by `next`: it is one of those; or it holds a refresh token that they held
 * and that `next` has replaced, so it is older (saved late by another process); or another process was refused
 * that refresh token and marked the set.
 */
function isOurs(stored: TokenSet, replacing: readonly TokenSet[], next: TokenSet): boolean {
  const isSpent = next.refreshToken !== stored.refreshToken || stored.refusedAt !== undefined;
  return replacing.some(
    ({ version, refreshToken }) =>
      version === stored.version || (isSpent && refreshToken === stored.refreshToken),
  );
}

/** Asks the store; what it throws may repeat what it was given. */
async function clean<T>(ask: () => Promise<T>, ...sets: readonly (TokenSet | undefined)[]): Promise<T> {
  try {
    // What a renewal saves names what it replaces, so an answer that comes later does no harm.
    return await within(ANSWER_WITHIN_MS, ask(), () => new NoAnswerError());
  } catch (error) {
    throw withoutSecrets(
      error,
      sets.flatMap((set) => (set ? [set.access.value, set.refreshToken] : [])),
    );
  }
}

class NoAnswerError extends Error {
  constructor() {
    super(`The store did not answer within ${ANSWER_WITHIN_MS} ms`);
  }
}

function notSaved({ domainPrefix }: TokenSet): Error {
  return new Error(`The store did not save the tokens of retailer "${domainPrefix}"`);
}
