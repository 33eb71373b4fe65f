import { within } from "./deadline.js";
import type { DomainPrefix } from "./domain-prefix.js";
import { isRetailPosError, StoreFailedError, type StoreOperation } from "./errors.js";
import { inPlainWords, withoutSecrets } from "./errors-without-secrets.js";
import { doingOf } from "./store-failure.js";
import type { TokenSet } from "./token-set.js";

/** Some database clients queue commands for as long as they have no connection. */
const ANSWER_WITHIN_MS = 5_000;

/**
 * Asks the store, for five seconds at most.
 *
 * @param sets the tokens it is given or may return: its error may repeat them.
 * @throws {StoreFailedError} the store's own error is the `cause`, without secrets.
 */
export async function storeAnswer<T>(
  operation: StoreOperation,
  domainPrefix: DomainPrefix | undefined,
  ask: () => Promise<T> | T,
  ...sets: readonly (TokenSet | undefined)[]
): Promise<T> {
  try {
    // A renewal's save names the set that it replaces, so it does no harm if it takes effect later.
    return await within(ANSWER_WITHIN_MS, ask(), () => new NoAnswerError());
  } catch (error) {
    const secrets = sets.flatMap((set) => (set ? [set.access.value, set.refreshToken] : []));
    const isOurs = isRetailPosError(error) || error instanceof NoAnswerError;
    // A foreign store's error may repeat a record that this process has never seen.
    const said = isOurs ? error : inPlainWords(error);
    throw storeFailed(operation, domainPrefix, withoutSecrets(said, secrets));
  }
}

/**
 * The stores of our own packages throw a `RetailPosError`, which needs no other around it; but `list` and `claim` ask
 * for no record that could be bad.
 */
function storeFailed(
  operation: StoreOperation,
  domainPrefix: DomainPrefix | undefined,
  cause: unknown,
): Error {
  const isAboutRecord = operation !== "list" && operation !== "claim";
  if (isRetailPosError(cause) && (isAboutRecord || cause.code === "store_failed")) return cause;
  const reason = (cause as { message?: unknown } | null)?.message ?? cause;
  const message = `The store could not ${doingOf(operation, domainPrefix)}: ${reason}`;
  return new StoreFailedError(operation, message, { domainPrefix, cause });
}

class NoAnswerError extends Error {
  constructor() {
    super(`The store did not answer within ${ANSWER_WITHIN_MS} ms`);
  }
}

/** Whether the store took five seconds and said nothing. */
export function isNoAnswer(error: unknown): boolean {
  return (error as { cause?: unknown } | null)?.cause instanceof NoAnswerError;
}
