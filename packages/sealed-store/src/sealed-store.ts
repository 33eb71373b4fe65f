import { type DomainPrefix, parseDomainPrefix, type TokenSet, type TokenStore } from "@retail-pos/core";
import { checkTokenSet, refuseMisspelt } from "@retail-pos/core/authoring";
import { checkKeys, type SealingKey } from "./keys.js";
import { type Place, sealer } from "./sealer.js";

/** The keys, and nothing else. */
export interface SealedStoreOptions {
  /** The first one seals, all of them open. */
  keys: readonly SealingKey[];
}

/** A store whose tokens are sealed. */
export interface SealedStore extends TokenStore {
  /** The id of the key that seals: of the first one in `keys`. */
  readonly firstKey: string;
  /**
   * The id of the key that a retailer's tokens are sealed with, also of one that is not among `keys` any more; of the
   * older one if its two tokens differ. No token is opened.
   *
   * @returns `undefined` if nothing is stored for the retailer.
   * @throws {InvalidDomainPrefixError} the name is not one DNS label.
   * @throws {StoredTokensError} a token is not sealed.
   * @throws the errors of the store underneath.
   */
  keyOf(domainPrefix: string): Promise<string | undefined>;
  /**
   * Seals a retailer's plain tokens where they are, by compare-and-set: a login or renewal at the same moment wins.
   * The set and its version stay as they are. Call it only for a store that nobody else could write to while its
   * tokens were plain, since it takes what it finds for the retailer's tokens.
   *
   * @returns what became of them: `sealed`; `already` sealed; `changed` by somebody else at the same moment, so look
   * again; or `gone`: nothing is stored for the retailer.
   * @throws {InvalidDomainPrefixError} the name is not one DNS label.
   * @throws {StoredTokensError} the record is no token set, or only one of its two tokens is plain.
   * @throws the errors of the store underneath.
   */
  seal(domainPrefix: string): Promise<SealOutcome>;
}

/** What became of a retailer's plain tokens. */
export type SealOutcome = "sealed" | "already" | "changed" | "gone";

/**
 * The same store, with access and refresh tokens encrypted before they reach it. The rest of a set stays readable:
 * retailer, version, instants, scope. It lists and claims if the store does. Loading rejects with a
 * `StoredTokensError` if a record is not sealed, was changed, belongs to another retailer or version, or was sealed
 * with a key that is not given here. Saving rejects with a `TypeError` if a token is sealed already.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function sealedStore(store: TokenStore, options: SealedStoreOptions): SealedStore {
  checkStore(store);
  refuseMisspelt(options ?? {}, ["keys"] satisfies (keyof SealedStoreOptions)[], { secret: "keys" });
  const keys = checkKeys(options?.keys);
  const { seal, open, keyIdOf, isPlain } = sealer(keys);

  return {
    firstKey: keys.first.id,
    async load(domainPrefix) {
      const record = await store.load(domainPrefix);
      return record ? opened(record, domainPrefix) : undefined;
    },
    async save(next, replacing) {
      // A store compares versions only, so the set that is replaced needs no seal.
      return store.save(await sealed(next), replacing && withTokens(replacing, "sealed", "sealed"));
    },
    async remove(domainPrefix) {
      await store.remove(domainPrefix);
    },
    async keyOf(name) {
      const domainPrefix = parseDomainPrefix(name);
      const record = await store.load(domainPrefix);
      if (!record) return undefined;
      return keysOf(record, domainPrefix).find((id) => id !== keys.first.id) ?? keys.first.id;
    },
    async seal(name) {
      const domainPrefix = parseDomainPrefix(name);
      const record = await store.load(domainPrefix);
      if (!record) return "gone";
      if (!isPlain(record.access?.value) || !isPlain(record.refreshToken)) {
        keysOf(record, domainPrefix); // throws if one of the two is not sealed
        return "already";
      }
      const set = checkTokenSet(record, domainPrefix);
      return (await store.save(await sealed(set), withTokens(set, "sealed", "sealed")))
        ? "sealed"
        : "changed";
    },
    ...(store.list && { list: store.list.bind(store) }),
    ...(store.claim && { claim: store.claim.bind(store) }),
  };

  function keysOf({ access, refreshToken }: TokenSet, domainPrefix: DomainPrefix): string[] {
    return [keyIdOf(access?.value, "access", domainPrefix), keyIdOf(refreshToken, "refresh", domainPrefix)];
  }

  async function sealed(set: TokenSet): Promise<TokenSet> {
    const { domainPrefix, version, access, refreshToken } = set;
    const sealing = withTokens(set, "", ""); // a copy: the caller may change its set while this one is sealed
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
