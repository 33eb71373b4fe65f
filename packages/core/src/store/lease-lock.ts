import { sleep, unref, within } from "../platform/timers.js";
import type { Lock } from "../vocabulary/lock.js";
import { inheritHeartbeat, memoryLock } from "./locks.js";

/** A lock on one key that ends by itself unless it is extended. */
export interface Lease {
  /** The key that the lock was called with. */
  readonly key: string;
  /** Random, new for each piece of work. The owner in a key's record has the lock. */
  readonly owner: string;
  /** How long the lease lasts from now, milliseconds; best counted by the database's clock. */
  readonly leaseMs: number;
}

/**
 * The three steps of a {@link leaseLock} on a database. Each is atomic, and afterwards keeps no connection. Each
 * rejects if the database fails. The lock's caller gets the error of `take`, so it must show no secret.
 */
export interface LeaseLockOptions {
  /**
   * Records the owner and the end of the lease if the key has no owner, if its lease has ended, or if it has this owner
   * already, because an answer may be lost and the call repeated. Resolves to whether this owner has the lease now. It
   * is called often while another owner has the lease, and should write nothing then.
   */
  readonly take: (lease: Lease) => Promise<boolean>;
  /**
   * Moves the end of the lease if the key still has this owner, and resolves to whether it has. It must not restore a
   * lease that was released or that another owner took.
   */
  readonly extend: (lease: Lease) => Promise<boolean>;
  /** Ends the lease if the key still has this owner. Its result is ignored. */
  readonly release: (lease: Lease) => Promise<unknown>;
  /**
   * How long others have to wait if the owner is killed, milliseconds; default 15,000. Keep it under 30,000, because
   * callers wait for it. Work may take longer: the lock extends its lease after each third of this time.
   */
  readonly leaseMs?: number;
}

const LEASE_MS = 15_000;
/** A timer cannot wait longer than this. */
const LONGEST_LEASE_MS = 2 ** 31 - 1;
/** Without a limit, some database clients queue commands as long as they have no connection. */
const ANSWER_WITHIN_MS = 5_000;
/**
 * How often `whileWaiting` is called between two tries: a result of it serves all that wait, and the lock only one of
 * them.
 */
const INSTEADS_BETWEEN_TRIES = 2;
/** The caller waits no longer than this for the lock to be released. */
const RELEASE_WITHIN_MS = 1_000;

/**
 * Makes a lock for all processes that share a database, for those who write a lock on their own database. It waits,
 * extends and releases; the database's part is three functions.
 *
 * It rejects if the database fails or does not answer for five seconds; else it settles as the work does. The callers
 * of one process queue, so that only one of them asks the database for a key: make one lock and keep it. While another
 * process has the lock, `whileWaiting` is called twice between two tries. So all waiting callers soon see what that
 * process did, and need not take the lock one after the other.
 *
 * A process that is suspended for longer than its lease loses the lock. Its work goes on, but core's compare-and-set
 * prevents it from overwriting what the next owner saved.
 *
 * @throws {TypeError} naming the option.
 */
export function leaseLock(options: LeaseLockOptions): Lock {
  const { take, extend, release, leaseMs } = checkLeaseLockOptions(options);
  const inProcess = memoryLock();
  return (key, work, whileWaiting) =>
    inProcess(
      key,
      inheritHeartbeat(work, () =>
        underLease({ key, owner: crypto.randomUUID(), leaseMs }, work, whileWaiting),
      ),
    );

  async function underLease<T>(
    lease: Lease,
    work: () => Promise<T>,
    whileWaiting: WhileWaiting<T> | undefined,
  ): Promise<T> {
    const result = await wait(lease, whileWaiting);
    if (result !== undefined) return result;
    const extending = keepExtending(lease);
    try {
      return await work();
    } finally {
      clearInterval(extending);
      await end(lease);
    }
  }

  /** Tries until the lease is ours, or until `whileWaiting`, called twice between two tries, has a result. */
  async function wait<T>(lease: Lease, whileWaiting: WhileWaiting<T> = nothing): Promise<T | undefined> {
    const beganAt = performance.now();
    try {
      while (!(await within(ANSWER_WITHIN_MS, attempt(take, lease), noAnswer))) {
        const pauseMs = pauseAfter(performance.now() - beganAt) / (INSTEADS_BETWEEN_TRIES + 1);
        for (let count = 0; count < INSTEADS_BETWEEN_TRIES; count += 1) {
          await sleep(pauseMs);
          const result = await whileWaiting();
          if (result !== undefined) return result;
        }
        await sleep(pauseMs);
      }
      return undefined;
    } catch (error) {
      void end(lease); // it may have been taken, and only the answer was lost
      throw error;
    }
  }

  /** Does not keep the process alive. If an extension fails, the next one tries again; a lost lease stays lost. */
  function keepExtending(lease: Lease): ReturnType<typeof setInterval> {
    const timer = setInterval(async () => {
      const isOurs = await attempt(extend, lease).catch(() => true);
      if (!isOurs) clearInterval(timer);
    }, leaseMs / 3);
    return unref(timer);
  }

  /** If the release fails, the caller still gets the result of the work, and the lease ends by itself. */
  async function end(lease: Lease): Promise<void> {
    const released = attempt(release, lease)
      .catch(() => attempt(release, lease))
      .catch(() => {});
    await within(RELEASE_WITHIN_MS, released, noAnswer).catch(() => {});
  }
}

type WhileWaiting<T> = () => Promise<T | undefined>;

const nothing = async (): Promise<undefined> => undefined;

function noAnswer(): Error {
  return new Error(`The lock did not answer within ${ANSWER_WITHIN_MS} ms`);
}

/** An async function, so that it also rejects if `ask` throws before it returns a promise. */
async function attempt<T>(ask: (lease: Lease) => Promise<T>, lease: Lease): Promise<T> {
  return ask(lease);
}

/**
 * The pause is an eighth of the time waited so far, so a caller waits at most an eighth longer than needed. A token
 * request takes some 100 ms, and a fixed pause of 100 ms could double that. It is at least 12 and at most 250 ms: about
 * 20 tries in the first 300 ms, later 5 a second. A random part, up to a half, is taken off, so that waiting processes
 * do not all ask at the same moment.
 */
function pauseAfter(waitedMs: number): number {
  return Math.min(Math.max(waitedMs / 8, 12), 250) * (1 - Math.random() / 2);
}

function checkLeaseLockOptions(options: LeaseLockOptions): Required<LeaseLockOptions> {
  if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
  const { take, extend, release, leaseMs = LEASE_MS } = options;
  for (const [name, value] of Object.entries({ take, extend, release })) {
    if (typeof value !== "function") throw new TypeError(`${name} must be a function`);
  }
  if (typeof leaseMs !== "number" || !(leaseMs > 0 && leaseMs <= LONGEST_LEASE_MS)) {
    throw new TypeError(`leaseMs must be a number of milliseconds, more than 0, at most ${LONGEST_LEASE_MS}`);
  }
  return { take, extend, release, leaseMs };
}
