import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { StoredTokensError, StoreFailedError } from "../vocabulary/errors.js";
import { haveSameAccess, redacted, type TokenSet } from "../vocabulary/token-set.js";
import { sealedVersion } from "../vocabulary/token-set-versions.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { storeAnswer } from "./store-failure.js";

/**
 * Saves `next` if the store holds one of `replacing`, and never replaces what another process stored. There are several
 * after a failed save, because the store may have saved any of them.
 *
 * @returns the set that the store holds afterwards: `next`, or one that another process stored; `undefined` if the
 * retailer was disconnected.
 * @throws {StoreFailedError | StoredTokensError}
 */
export type Put = (next: TokenSet, replacing: readonly TokenSet[]) => Promise<TokenSet | undefined>;

/** @param load reads and checks the stored record. */
export function compareAndSet(
  store: TokenStore,
  load: (domainPrefix: DomainPrefix, held: TokenSet) => Promise<TokenSet | undefined>,
): Put {
  return async (next, replacing) => {
    let tried = replacing[0];
    for (;;) {
      const { domainPrefix } = next;
      const isSaved = (over: TokenSet | undefined) =>
        storeAnswer("save", domainPrefix, () => store.save(redacted(next), over), next, ...replacing);
      if (await isSaved(tried)) return next;
      const stored = await load(domainPrefix, next).catch(async (error: unknown) => {
        const sealed = error instanceof StoredTokensError && sealedMeanwhile(tried, next);
        if (sealed && (await isSaved(sealed))) return next;
        throw error;
      });
      if (stored?.version === next.version) return next; // an earlier try saved it, and its answer was lost
      if (stored && stored.version === tried?.version) throw notSaved(next);
      if (!stored || !mayReplace(stored, replacing, next)) return stored;
      tried = stored;
    }
  };
}

/**
 * The record that `next` replaces, if `retail-pos seal` sealed it during the renewal: by mistake, since this process
 * does not open seals. The new tokens are stored all the same, because the service may have ended the old ones.
 * `undefined` if `next` has no new tokens, but only adds `refusedAt` or `limitedUntil`.
 */
function sealedMeanwhile(replaced: TokenSet | undefined, next: TokenSet): TokenSet | undefined {
  if (!replaced || haveSameAccess(next, replaced)) return undefined;
  return { ...replaced, version: sealedVersion(replaced.version) };
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
