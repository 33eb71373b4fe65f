import {
  type DomainPrefix,
  parseDomainPrefix,
  StoredTokensError,
  type TokenSet,
  type TokenStore,
} from "@retail-pos/core";
import {
  checkTokenSet,
  refuseMisspelt,
  sealedVersion,
  versionBeforeSealing,
} from "@retail-pos/core/authoring";
import { checkKeys, type SealingKey } from "./keys.js";
import { sealer, withoutTokens } from "./sealer.js";

/** Which keys seal and open, and what is done about plain records. */
export interface SealedStoreOptions {
  /** The first one seals, all of them open. */
  keys: readonly SealingKey[];
  /**
   * For the change from plain to sealed records, or back, while the application runs. Plain records are read beside
   * sealed ones; `"write"` saves plain records, `"read"` sealed ones. Default: plain records are refused.
   */
  plain?: "write" | "read" | undefined;
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
   * @throws {StoredTokensError} the record is not sealed.
   * @throws the errors of the store underneath.
   */
  keyOf(domainPrefix: string): Promise<string | undefined>;
  /**
   * Seals a retailer's plain record where it is, by compare-and-set: a login or renewal at the same moment wins. The
   * set and its version stay as they are. A record that is sealed already is opened, to see that it can be. Call it
   * only for a store that nobody else could write to while its records were plain, since it takes what it finds for
   * the retailer's tokens.
   *
   * @returns what became of it: `sealed`; `already` sealed; `changed` by another process at the same moment, so call it
   * again; or `gone`: nothing is stored for the retailer.
   * @throws {InvalidDomainPrefixError} the name is not one DNS label.
   * @throws {StoredTokensError} the record is no token set, or cannot be opened.
   * @throws {TypeError} `plain` is `"write"`: this store saves plain records.
   * @throws the errors of the store underneath.
   */
  seal(domainPrefix: string): Promise<SealOutcome>;
  /**
   * The opposite of `seal`, with the same errors. Only a store whose option `plain` is `"write"` has it.
   *
   * @returns `unsealed`; `already` plain; `changed`; or `gone`.
   */
  unseal?(domainPrefix: string): Promise<UnsealOutcome>;
}

/** What became of a retailer's plain record. */
export type SealOutcome = "sealed" | "already" | "changed" | "gone";

/** What became of a retailer's sealed record. */
export type UnsealOutcome = "unsealed" | "already" | "changed" | "gone";

/**
 * The same store, with access and refresh tokens encrypted before they reach it. The rest of a set stays readable:
 * retailer, instants, scope, and the version, which says that the record is sealed. It lists and claims if the store
 * does. Loading rejects with a `StoredTokensError` if a record is not sealed, was changed, belongs to another retailer
 * or version, or was sealed with a key that is not given here. Saving rejects with a `TypeError` if the set is a sealed
 * record itself.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function sealedStore(store: TokenStore, options: SealedStoreOptions): SealedStore {
  const { load, save, remove } = Object(store) as Record<string, unknown>;
  if (![load, save, remove].every((method) => typeof method === "function"))
    throw new TypeError("store must be a token store, with load(), save() and remove()");
  const names = ["keys", "plain"] satisfies (keyof SealedStoreOptions)[];
  refuseMisspelt(options ?? {}, names, { secret: "keys" });
  const keys = checkKeys(options?.keys);
  const { plain } = options;
  if (plain !== undefined && plain !== "write" && plain !== "read")
    throw new TypeError('plain must be "write" or "read", or left out: then plain records are refused');
  const { seal, open, keyOf } = sealer(keys);

  return {
    firstKey: keys.first.id,
    async load(domainPrefix) {
      const record = await store.load(domainPrefix);
      if (!record) return undefined;
      if (plain === undefined && !isSealed(record)) throw notSealed(domainPrefix);
      return open(record, domainPrefix);
    },
    async save(next, replacing) {
      // Opened once, what was sealed twice would still be no token.
      if (isSealed(next))
        throw new TypeError(
          `the set of retailer "${next.domainPrefix}" is sealed already; load it from the sealed store`,
        );
      const record = plain === "write" ? next : await seal(next);
      if (!replacing) return store.save(record);
      // The version tells the two forms apart, and seal() or unseal() may change one into the other between two tries.
      const { version } = replacing;
      for (const each of [sealedVersion(version), version, sealedVersion(version)])
        if (await store.save(record, withoutTokens({ ...replacing, version: each }))) return true;
      return false;
    },
    async remove(domainPrefix) {
      await store.remove(domainPrefix);
    },
    async keyOf(name) {
      const domainPrefix = parseDomainPrefix(name);
      const record = await store.load(domainPrefix);
      if (!record) return undefined;
      if (!isSealed(record)) throw notSealed(domainPrefix);
      return keyOf(record, domainPrefix);
    },
    async seal(name) {
      if (plain === "write")
        throw new TypeError('plain is "write": this store saves plain records, and seals none');
      return rewritten(name, "sealed");
    },
    ...(plain === "write" && { unseal: (name: string) => rewritten(name, "unsealed") }),
    ...(store.list && { list: store.list.bind(store) }),
    ...(store.claim && { claim: store.claim.bind(store) }),
  };

  /** Saves a retailer's record in the other form. */
  async function rewritten<Form extends "sealed" | "unsealed">(name: string, form: Form) {
    const domainPrefix = parseDomainPrefix(name);
    const record = await store.load(domainPrefix);
    if (!record) return "gone";
    const set = checkTokenSet(await open(record, domainPrefix), domainPrefix);
    if (isSealed(record) === (form === "sealed")) return "already";
    const next = form === "sealed" ? await seal(set) : set;
    return (await store.save(next, withoutTokens(record))) ? form : "changed";
  }
}

function notSealed(domainPrefix: DomainPrefix): StoredTokensError {
  const remedy = "If it was stored before the store was sealed, it only needs sealing: retail-pos seal";
  return new StoredTokensError("access.value is not sealed", { domainPrefix }, remedy);
}

function isSealed({ version }: TokenSet): boolean {
  return versionBeforeSealing(version) !== undefined;
}
