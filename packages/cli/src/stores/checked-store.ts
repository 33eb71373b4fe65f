import {
  type DomainPrefix,
  isRetailPosError,
  StoreFailedError,
  type StoreOperation,
  type TokenSet,
  type TokenStore,
} from "@retail-pos/core";
import { checkTokenSet, inPlainWords, storeFailure } from "@retail-pos/core/authoring";

/** A store of the application's, as a command uses it. */
export interface CheckedStore {
  /** @throws {StoredTokensError} the record is no token set of this retailer. */
  load(domainPrefix: DomainPrefix): Promise<TokenSet | undefined>;
  save(next: TokenSet, replacing?: TokenSet): Promise<boolean>;
}

/** A store that takes longer has failed. */
const ANSWER_WITHIN_MS = 30_000;

/**
 * What the store gives is checked, and how it fails is told without a token.
 *
 * @throws {StoreFailedError} from both: the store rejected, or did not answer within 30 seconds.
 */
export function checkedStore(store: TokenStore): CheckedStore {
  return {
    async load(domainPrefix) {
      const record: unknown = await asked("load", domainPrefix, () => store.load(domainPrefix));
      return record === undefined || record === null ? undefined : checkTokenSet(record, domainPrefix);
    },
    async save(next, replacing) {
      return (await asked("save", next.domainPrefix, () => store.save(next, replacing))) === true;
    },
  };
}

/** Runs one operation of a store. */
export async function asked<T>(
  operation: StoreOperation,
  domainPrefix: DomainPrefix,
  ask: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const tooLate = () =>
      reject(new StoreFailedError(operation, `The store did not answer within ${ANSWER_WITHIN_MS} ms`));
    timer = setTimeout(tooLate, ANSWER_WITHIN_MS);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    if (isRetailPosError(error)) throw error;
    // A driver's error may repeat the record, and nobody knows its tokens.
    throw storeFailure("The store", { operation, domainPrefix }, inPlainWords(error));
  } finally {
    clearTimeout(timer);
  }
}
