import { isRetailPosError, StoreFailedError } from "./errors.js";
import { soon } from "./timers.js";

/**
 * Runs `work` while nobody else who shares the lock runs work of the same key, and settles as `work`
 * does. It must outlast slow work, and be free again soon after its owner is killed. The contract is
 * `lockContract` of `@retail-pos/sandbox/contracts`.
 */
export type Lock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Settles as the work does: nobody has to wait until the lock is let go, only until that has been asked for (a
 * script may close its database next).
 *
 * @throws {StoreFailedError} the lock cannot be taken.
 */
export function underLock<T>(lock: Lock, key: string, work: () => Promise<T>): Promise<T> {
  const start = startedByAnybody(work);
  return new Promise((resolve, reject) => {
    // A turn later, by when a lock has asked; and in order, so that what the work said comes first and counts.
    const succeed = (value: T) => soon(() => resolve(value));
    const fail = (error: unknown) => soon(() => reject(error));
    const over = (async () =>
      lock(key, () => {
        const result = start();
        result.then(succeed, fail);
        return result;
      }))();
    over.then(
      () => fail(lockFailed("it did not run its work")),
      (error) => fail(lockFailed(error)),
    );
  });
}

/**
 * The work for a lock that may start it from anywhere, such as the end of the work before: it runs in the async context
 * of who makes this, and what it tells an observer belongs to that caller (`AsyncLocalStorage`, a trace). A promise
 * keeps the context in which `then` was called, on every platform.
 */
function startedByAnybody<T>(work: () => Promise<T>): () => Promise<T> {
  let start!: () => void;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const result = started.then(work);
  return () => {
    start();
    return result;
  };
}

/** Our locks reject with an error of ours, which says it already. */
function lockFailed(cause: unknown): Error {
  if (isRetailPosError(cause)) return cause;
  const reason = (cause as { message?: unknown } | null)?.message ?? cause;
  return new StoreFailedError("lock", `The lock failed: ${reason}`, { cause });
}
