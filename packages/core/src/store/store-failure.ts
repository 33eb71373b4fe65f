import { within } from "../platform/timers.js";
import { inPlainWords, withoutSecrets } from "../secrets/errors-without-secrets.js";
import { redact } from "../secrets/redact.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { isRetailPosError, StoreFailedError, type StoreOperation } from "../vocabulary/errors.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** One operation of a store, for the error if it fails. */
export interface StoreTask {
  /** Which operation. */
  readonly operation: StoreOperation;
  /** The retailer concerned, if it is about one. */
  readonly domainPrefix?: string;
  /** Completes "Redis could not ...". Default by operation: "load the tokens of retailer ...". */
  readonly doing?: string;
  /** The tokens that the engine is given: no error shows them. */
  readonly secrets?: readonly string[];
}

/**
 * For those who write a store: the error that it rejects with if its engine fails. Nothing of the driver's error is
 * kept, because that may carry the statement with all its values. `cause` is a new error with the engine's message,
 * without secrets, and its `code`.
 *
 * @param engine begins the message: "Redis".
 * @param error as the driver threw it.
 * @param words the engine's own message, if the driver's says too much.
 */
export function storeFailure(
  engine: string,
  task: StoreTask,
  error: unknown,
  words?: string,
): StoreFailedError {
  const { operation, domainPrefix, doing = doingOf(operation, domainPrefix), secrets = [] } = task;
  const { name, message, code } = Object(error) as { name?: unknown; message?: unknown; code?: unknown };
  const said = redact(words ?? String(message || code || name || "unknown error"), secrets);
  const cause = new Error(said);
  if (typeof code === "string" || typeof code === "number") {
    Object.assign(cause, { code: typeof code === "string" ? redact(code, secrets) : code });
  }
  return new StoreFailedError(operation, `${engine} could not ${doing}: ${said}`, { domainPrefix, cause });
}

const DOING: Record<StoreOperation, string> = {
  load: "load the tokens",
  save: "save the tokens",
  remove: "remove the tokens",
  list: "list the retailers",
  claim: "claim a key",
  lock: "take the lock",
};

/** "load the tokens of retailer ..." */
export function doingOf(operation: StoreOperation, domainPrefix: string | undefined): string {
  return domainPrefix === undefined ? DOING[operation] : `${DOING[operation]} of retailer "${domainPrefix}"`;
}

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
