import { sleep } from "../platform/timers.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { StoreFailedError } from "../vocabulary/errors.js";
import { haveSameAccess, quiet, type TokenSet } from "../vocabulary/token-set.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { isNoAnswer, storeAnswer } from "./store-failure.js";

/** Saves that replace only the sets that they were made from, and never what another process stored. */
export interface CompareAndSet {
  /**
   * Saves `next` if the store holds one of `replacing`. There are several after a failed save, because the store may
   * have saved any of them.
   *
   * @returns the set that the store holds afterwards: `next`, or one that another process stored; `undefined` if the
   * retailer was disconnected.
   * @throws {StoreFailedError | StoredTokensError}
   */
  put(next: TokenSet, replacing: readonly TokenSet[]): Promise<TokenSet | undefined>;
  /**
   * Does the same as `put`, and tries again for about three seconds if the store fails (behaviour 9).
   *
   * @param tries called before each try: some drivers hold up the whole thread for seconds in one.
   */
  putPatiently(
    next: TokenSet,
    replacing: readonly TokenSet[],
    tries?: () => void,
  ): Promise<TokenSet | undefined>;
}

/** The pauses between the tries. */
const AGAIN_AFTER_MS = [50, 150, 400, 900, 1500];

/** @param load reads and checks the stored record. */
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
      if (stored?.version === next.version) return next; // an earlier try saved it, and its answer was lost
      if (stored && stored.version === tried?.version) throw notSaved(next);
      if (!stored || !mayReplace(stored, replacing, next)) return stored;
      tried = stored;
    }
  }

  async function putPatiently(
    next: TokenSet,
    replacing: readonly TokenSet[],
    tries?: () => void,
  ): Promise<TokenSet | undefined> {
    for (const pauseMs of AGAIN_AFTER_MS) {
      tries?.();
      try {
        return await put(next, replacing);
      } catch (error) {
        if (isNoAnswer(error)) throw error; // the caller has waited five seconds already
        await sleep(pauseMs);
      }
    }
    tries?.();
    return put(next, replacing);
  }
}

/**
 * Whether `next` may replace a stored set. It may in three cases:
 * - the stored set is one of `replacing`;
 * - it has the refresh token of one of them, and `next` has a newer one: another process saved an older set late;
 * - it has the tokens of one of them, and another process added `refusedAt` or `limitedUntil`. If `next` itself only
 *   adds one of these to the same tokens, it does not replace the other process's.
 *
 * Clocks are not compared, because those of two processes differ.
 */
export function mayReplace(stored: TokenSet, replacing: readonly TokenSet[], next: TokenSet): boolean {
  const isOlder = next.refreshToken !== stored.refreshToken;
  const isNote = haveSameAccess(next, stored);
  return replacing.some(
    (ours) =>
      ours.version === stored.version ||
      (ours.refreshToken === stored.refreshToken && (isOlder || (!isNote && haveSameAccess(ours, stored)))),
  );
}

export function notSaved({ domainPrefix }: TokenSet): Error {
  return new StoreFailedError("save", `The store did not save the tokens of retailer "${domainPrefix}"`, {
    domainPrefix,
  });
}
