import { ABANDONED, type Heartbeat } from "../platform/heartbeat.js";
import { soon } from "../platform/timers.js";
import { isRetailPosError, StoreFailedError } from "../vocabulary/errors.js";
import type { Lock } from "../vocabulary/lock.js";

/** One caller's turn at a lock. */
interface LockTurn {
  readonly over: Promise<undefined>;
  readonly heartbeat: Heartbeat | undefined;
}

/** The heartbeat of the work that core gives to a lock. */
const heartbeatOf = new WeakMap<() => Promise<unknown>, Heartbeat>();

/** For a lock around another: `wrapped` is that work, with something before or after it. */
export function inheritHeartbeat<T>(
  work: () => Promise<unknown>,
  wrapped: () => Promise<T>,
): () => Promise<T> {
  const heartbeat = heartbeatOf.get(work);
  if (heartbeat) heartbeatOf.set(wrapped, heartbeat);
  return wrapped;
}

/**
 * A lock within this process: first come, first served. Enough while one process renews. If the work that has the lock
 * was ended by the runtime, the next in the queue takes the lock.
 */
export function memoryLock(): Lock {
  const queues = new Map<string, LockTurn[]>();

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? [];
    queues.set(key, queue);
    let end!: () => void;
    const over = new Promise<undefined>((resolve) => {
      end = () => resolve(undefined);
    });
    const turn = { over, heartbeat: heartbeatOf.get(work) };
    queue.push(turn);
    try {
      for (let first = queue[0]; first && first !== turn; first = queue[0]) {
        if ((await endOf(first)) === ABANDONED) leave(first);
      }
      return await work();
    } finally {
      end();
      leave(turn);
    }

    function leave(one: LockTurn): void {
      const place = queue.indexOf(one);
      if (place >= 0) queue.splice(place, 1);
      if (queue.length === 0 && queues.get(key) === queue) queues.delete(key);
    }
  };
}

/** A turn never fails: if waiting for it does, the runtime has ended the request that had it. */
function endOf({ heartbeat, over }: LockTurn): Promise<undefined | typeof ABANDONED> {
  return heartbeat?.wait(over, () => false) ?? over.catch(() => ABANDONED);
}

/**
 * Runs the work under the lock. It settles as the work does, as soon as the lock has sent its release to the database.
 * It does not wait for the answer to that; but a script may close its database next, so the release has to be sent.
 *
 * @param heartbeat how far the work has come: a memory lock gives the next caller its turn once the work is abandoned.
 * @throws {StoreFailedError} the lock cannot be taken.
 */
export function underLock<T>(
  lock: Lock,
  key: string,
  work: () => Promise<T>,
  { whileWaiting, heartbeat }: { whileWaiting?: () => Promise<T | undefined>; heartbeat?: Heartbeat } = {},
): Promise<T> {
  const start = inCallersContext(work);
  return new Promise((resolve, reject) => {
    // A turn later the lock has asked for its release. In order, so that the work's own result comes first and counts.
    const succeed = (value: T) => soon(() => resolve(value));
    const fail = (error: unknown) => soon(() => reject(error));
    const atWork = () => {
      const result = start();
      result.then(succeed, fail);
      return result;
    };
    if (heartbeat) heartbeatOf.set(atWork, heartbeat);
    const whileLockWaits =
      whileWaiting &&
      (async () => {
        const result = await whileWaiting();
        if (result !== undefined) succeed(result);
        return result;
      });
    const over = (async () => lock(key, atWork, whileLockWaits))();
    over.then(
      () => fail(lockFailed("it did not run its work")),
      (error) => fail(lockFailed(error)),
    );
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
