import { StoreFailedError, type StoreOperation } from "./errors.js";
import { redact } from "./redact.js";

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
