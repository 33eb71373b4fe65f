import { soon } from "../platform/timers.js";
import { isRetailPosError, StoreFailedError } from "../vocabulary/errors.js";
import type { Lock } from "../vocabulary/lock.js";

/** A lock for one process: work of one key runs in the order of the calls. Enough if only one process renews. */
export function memoryLock(): Lock {
  const tails = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (tails.get(key) ?? Promise.resolve()).then(work);
    const tail = turn.then(done, done);
    tails.set(key, tail);
    return turn;

    function done() {
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
}

/**
 * Runs the work under the lock. It settles as the work does, as soon as the lock has sent its release to the database.
 * It does not wait for the answer to that; but a script may close its database next, so the release has to be sent.
 *
 * @throws {StoreFailedError} the lock cannot be taken.
 */
export function underLock<T>(
  lock: Lock,
  key: string,
  work: () => Promise<T>,
  instead?: () => Promise<T | undefined>,
): Promise<T> {
  const start = inCallersContext(work);
  return new Promise((resolve, reject) => {
    let isSettled = false;
    // `soon` lets the lock send its release first. It keeps the order, so the work's result comes before the lock's.
    const succeed = (value: T) => soon(() => settle(() => resolve(value)));
    const fail = (error: () => unknown) => soon(() => settle(() => reject(error())));
    const atWork = () => {
      const result = start();
      result.then(succeed, (error) => fail(() => error));
      return result;
    };
    const insteadOfWork =
      instead &&
      (async () => {
        const result = await instead();
        if (result !== undefined) succeed(result);
        return result;
      });
    const locked = (async () => lock(key, atWork, insteadOfWork))();
    locked.then(
      () => fail(() => lockFailed("it did not run its work")),
      (error) => fail(() => lockFailed(error)),
    );

    /** Takes a function, so that an error and its stack are made only if the caller gets it. */
    function settle(how: () => void): void {
      if (isSettled) return;
      isSettled = true;
      how();
    }
  });
}

/**
 * Returns a function that runs the work in the async context of the present caller (`AsyncLocalStorage`, a trace). A
 * lock may start the work from another context, such as the end of the work before; an observer would then see the
 * wrong caller. On every platform, a promise's `then` keeps the context in which it was called.
 */
function inCallersContext<T>(work: () => Promise<T>): () => Promise<T> {
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

/** The locks of our own packages reject with a `RetailPosError`, which is used as it is. */
function lockFailed(cause: unknown): Error {
  if (isRetailPosError(cause)) return cause;
  const reason = (cause as { message?: unknown } | null)?.message ?? cause;
  return new StoreFailedError("lock", `The lock failed: ${reason}`, { cause });
}
