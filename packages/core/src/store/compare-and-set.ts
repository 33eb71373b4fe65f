import { sleep } from "../platform/timers.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { StoreFailedError } from "../vocabulary/errors.js";
import { haveSameAccess, quiet, type TokenSet } from "../vocabulary/token-set.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { isNoAnswer, storeAnswer } from "./store-failure.js";

/** Saves that replace the set they were made from, and nothing that somebody else stored. */
export interface CompareAndSet {
  /**
   * Compare-and-set with several candidates: if earlier saves failed, the store may hold any of our sets.
   *
   * @returns the set that the store holds afterwards: `next`, or another that somebody else stored; `undefined` if the
   * retailer was disconnected.
   * @throws {StoreFailedError | StoredTokensError}
   */
  put(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined>;
  /** As `put`, tried again for about three seconds (behaviour 9). */
  putPatiently(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined>;
}

/** Pauses between the tries. */
const AGAIN_AFTER_MS = [50, 150, 400, 900, 1500];

/** @param load reads the stored record and checks it. */
export function compareAndSet(
  store: TokenStore,
  load: (domainPrefix: DomainPrefix, held: TokenSet) => Promise<TokenSet | undefined>,
): CompareAndSet {
  return { put, putPatiently };

  async function put(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined> {
    let tried = replacing[0];
    for (;;) {
      const { domainPrefix } = next;
      const save = () => store.save(quiet(next), tried);
      if (await storeAnswer("save", domainPrefix, save, next, ...replacing)) return next;
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
        if (isNoAnswer(error)) throw error; // it already took five seconds; do not retry
        await sleep(pauseMs);
      }
    }
    return put(next, replacing);
  }
}

/**
 * Whether `next` may replace a stored set: the set is one of `replacing`; or it has a refresh token of theirs that
 * `next` has replaced, so it is older (another process saved it late); or it has the access token of one of them, and
 * another process noted on it that the service refused the refresh token or answered 429. A note does not replace
 * another note on the same tokens. No clock is asked: those of two processes differ.
 */
export function mayReplace(stored: TokenSet, replacing: readonly TokenSet[], next: TokenSet): boolean {
  const isSpent = next.refreshToken !== stored.refreshToken;
  const isNote = haveSameAccess(next, stored);
  return replacing.some(
    (ours) =>
      ours.version === stored.version ||
      (ours.refreshToken === stored.refreshToken && (isSpent || (!isNote && haveSameAccess(ours, stored)))),
  );
}

export function notSaved({ domainPrefix }: TokenSet): Error {
  return new StoreFailedError("save", `The store did not save the tokens of retailer "${domainPrefix}"`, {
    domainPrefix,
  });
}
