import type { DomainPrefix, TokenSet, TokenStore } from "@retail-pos/core";
import { checkKeys, type SealingKey } from "./keys.js";
import { type Place, sealer } from "./sealer.js";

/** The keys, and nothing else. */
export interface SealedStoreOptions {
  /** The first one seals, all of them open. */
  keys: readonly SealingKey[];
}

/**
 * The same store, with access and refresh tokens encrypted before they reach it. What else a set holds stays
 * readable: retailer, version, instants. It claims if the store does. Loading rejects with a `StoredTokensError` where
 * a record is not sealed, was changed, is another retailer's or of another version, or was sealed with a key not given
 * here.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function sealedStore(store: TokenStore, options: SealedStoreOptions): TokenStore {
  checkStore(store);
  const { seal, open } = sealer(checkKeys(options?.keys));

  return {
    async load(domainPrefix) {
      const record = await store.load(domainPrefix);
      return record ? opened(record, domainPrefix) : undefined;
    },
    async save(next, replacing) {
      // Which version is replaced is all that a store has to know.
      return store.save(await sealed(next), replacing && withTokens(replacing, "sealed", "sealed"));
    },
    async remove(domainPrefix) {
      await store.remove(domainPrefix);
    },
    ...(store.claim && { claim: store.claim.bind(store) }),
  };

  async function sealed(set: TokenSet): Promise<TokenSet> {
    const { domainPrefix, version, access, refreshToken } = set;
    const sealing = withTokens(set, "", ""); // a copy as it is now, whatever the caller does meanwhile
    const place: Place = { domainPrefix, version };
    const [accessSeal, refreshSeal] = await Promise.all([
      seal(access.value, "access", place),
      seal(refreshToken, "refresh", place),
    ]);
    return withTokens(sealing, accessSeal, refreshSeal);
  }

  async function opened(record: TokenSet, domainPrefix: DomainPrefix): Promise<TokenSet> {
    const place: Place = { domainPrefix, version: record.version };
    const value = await open(record.access?.value, "access", place);
    const refreshToken = await open(record.refreshToken, "refresh", place);
    return withTokens(record, value, refreshToken);
  }
}

function withTokens(set: TokenSet, value: string, refreshToken: string): TokenSet {
  return { ...set, access: { ...set.access, value }, refreshToken };
}

function checkStore(store: unknown): void {
  const { load, save, remove } = Object(store) as Record<string, unknown>;
  if (![load, save, remove].every((method) => typeof method === "function"))
    throw new TypeError("store must be a token store, with load(), save() and remove()");
}
