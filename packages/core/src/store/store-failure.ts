import { within } from "../platform/timers.js";
import { inPlainWords, messageOf, withoutSecrets } from "../secrets/errors-without-secrets.js";
import { redact } from "../secrets/redact.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { isRetailPosError, StoreFailedError, type StoreOperation } from "../vocabulary/errors.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** Describes one operation of a store, for the error if it fails. */
export interface StoreTask {
  /** Which operation. */
  readonly operation: StoreOperation;
  /** The retailer concerned, if there is one. */
  readonly domainPrefix?: string;
  /** Completes "Redis could not ..."; default by operation, such as "load the tokens of retailer ...". */
  readonly doing?: string;
  /** The tokens that were given to the engine: the error will not show them. */
  readonly secrets?: readonly string[];
}

/**
 * Makes the error that a store rejects with if its engine fails, for those who write a store. It does not contain the
 * driver's error, which may carry the statement with all its values. `cause` is a new error with the engine's message,
 * without secrets, and its `code`.
 *
 * @param engine the first word of the message, such as "Redis".
 * @param error as the driver threw it.
 * @param words used in place of the driver's message, if that shows too much.
 */
export function storeFailure(
  engine: string,
  task: StoreTask,
  error: unknown,
  words?: string,
): StoreFailedError {
  const { operation, domainPrefix, doing = doingOf(operation, domainPrefix), secrets = [] } = task;
  const { code } = Object(error) as { code?: unknown };
  const said = redact(words ?? messageOf(error), secrets);
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

/** Completes "could not ...": "load the tokens of retailer ...". */
export function doingOf(operation: StoreOperation, domainPrefix: string | undefined): string {
  return domainPrefix === undefined ? DOING[operation] : `${DOING[operation]} of retailer "${domainPrefix}"`;
}

/** Without a limit, some database clients queue commands as long as they have no connection. */
const ANSWER_WITHIN_MS = 5_000;

/** The longest that a load and a save take together, if the store answers neither, and a little more. */
export const STORE_MAY_TAKE_MS: number = 2 * ANSWER_WITHIN_MS + 1000;

/**
 * Asks the store, and waits five seconds at most.
 *
 * @param sets the token sets that the store gets or may return: its error may repeat them.
 * @throws {StoreFailedError} `cause` is the store's own error, without secrets.
 */
export async function storeAnswer<T>(
  operation: StoreOperation,
  domainPrefix: DomainPrefix | undefined,
  ask: () => Promise<T> | T,
  ...sets: readonly (TokenSet | undefined)[]
): Promise<T> {
  try {
    // A save that comes too late may still take effect. A renewal's does no harm: it names the set that it replaces.
    return await within(ANSWER_WITHIN_MS, ask(), () => new NoAnswerError());
  } catch (error) {
    const secrets = sets.flatMap((set) => (set ? [set.access.value, set.refreshToken] : []));
    const isOurs = isRetailPosError(error) || error instanceof NoAnswerError;
    // The error of an application's own store may repeat a record that this process has never read.
    const shown = isOurs ? error : inPlainWords(error);
    throw storeFailed(operation, domainPrefix, withoutSecrets(shown, secrets));
  }
}

/**
 * The stores of our own packages throw a `RetailPosError`, which is used as it is. For `list` and `claim`, only a
 * `StoreFailedError` is: they read no record that could be unusable.
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

/** Whether the store did not answer within five seconds. */
export function isNoAnswer(error: unknown): boolean {
  return (error as { cause?: unknown } | null)?.cause instanceof NoAnswerError;
}
