import type { DomainPrefix, TokenSet, TokenStore } from "@retail-pos/core";
import { checkTokenSet, storeAnswer } from "@retail-pos/core/authoring";

/** A store of the application's, as a command uses it. */
export interface CheckedStore {
  /** @throws {StoredTokensError} the record is no token set of this retailer. */
  load(domainPrefix: DomainPrefix): Promise<TokenSet | undefined>;
  save(next: TokenSet, replacing?: TokenSet): Promise<boolean>;
}

/**
 * What the store gives is checked, and how it fails is told without a token.
 *
 * @throws {StoreFailedError} from both: the store rejected, or did not answer within five seconds.
 */
export function checkedStore(store: TokenStore): CheckedStore {
  return {
    async load(domainPrefix) {
      const record: unknown = await storeAnswer("load", domainPrefix, () => store.load(domainPrefix));
      return record === undefined || record === null ? undefined : checkTokenSet(record, domainPrefix);
    },
    async save(next, replacing) {
      const { domainPrefix } = next;
      return (
        (await storeAnswer("save", domainPrefix, () => store.save(next, replacing), next, replacing)) === true
      );
    },
  };
}
