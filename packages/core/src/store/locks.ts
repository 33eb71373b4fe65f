import { soon } from "../platform/timers.js";
import { isRetailPosError, StoreFailedError } from "../vocabulary/errors.js";
import type { Lock } from "../vocabulary/lock.js";

/** A lock within this process: first come, first served. Enough while one process renews. */
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
 * Settles as the work does, once the lock's release has been asked for. It does not wait for the release itself; but
 * a script may close its database next, so the release has to be under way by then.
 *
 * @throws {StoreFailedError} the lock cannot be taken.
 */
export function underLock<T>(
  lock: Lock,
  key: string,
  work: () => Promise<T>,
  instead?: () => Promise<T | undefined>,
): Promise<T> {
  const start = startedByAnybody(work);
  return new Promise((resolve, reject) => {
    let isSettled = false;
    // A turn later the lock has asked for its release. In order, so that the work's own result comes first and counts.
    const succeed = (value: T) => soon(() => settle(() => resolve(value)));
    const fail = (error: () => unknown) => soon(() => settle(() => reject(error())));
    const atWork = () => {
      const result = start();
      result.then(succeed, (error) => fail(() => error));
      return result;
    };
    const asked =
      instead &&
      (async () => {
        const result = await instead();
        if (result !== undefined) succeed(result);
        return result;
      });
    const over = (async () => lock(key, atWork, asked))();
    over.then(
      () => fail(() => lockFailed("it did not run its work")),
      (error) => fail(() => lockFailed(error)),
    );

    /** An error is made only for somebody who gets it: its stack costs a login as much as reading the answer. */
    function settle(how: () => void): void {
      if (isSettled) return;
      isSettled = true;
      how();
    }
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

/** The locks of our own packages reject with a `RetailPosError`, which needs no other around it. */
function lockFailed(cause: unknown): Error {
  if (isRetailPosError(cause)) return cause;
  const reason = (cause as { message?: unknown } | null)?.message ?? cause;
  return new StoreFailedError("lock", `The lock failed: ${reason}`, { cause });
}
