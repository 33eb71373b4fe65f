import { sleep, unref, within } from "../platform/timers.js";
import type { Lock } from "../vocabulary/lock.js";
import { memoryLock } from "./locks.js";

/** A lock on one key that ends by itself, unless it is extended. */
export interface Lease {
  /** The key that the lock was called with. */
  readonly key: string;
  /** Random, and new for each piece of work. The owner that is recorded for a key has the lock. */
  readonly owner: string;
  /** How long it shall last from now, milliseconds; best counted on the database's clock. */
  readonly leaseMs: number;
}

/**
 * The three steps of a {@link leaseLock} on a database. Each is atomic and keeps no connection afterwards. Each rejects
 * if the database cannot be used. The error of `take` reaches the lock's caller, so it must show no secret.
 */
export interface LeaseLockOptions {
  /**
   * Records the owner and the end if the key has no owner, if its lease is over, or if this is its owner already: the
   * question is repeated if its answer was lost. Says whether this owner has the lease now. It is asked often while
   * another owner has the lease, and should write nothing then.
   */
  readonly take: (lease: Lease) => Promise<boolean>;
  /**
   * Moves the end while the key's owner is still this one, and says whether it is. It never brings back a
   * lease that was released or taken over.
   */
  readonly extend: (lease: Lease) => Promise<boolean>;
  /** Ends the lease if the key's owner is still this one. Its answer is ignored. */
  readonly release: (lease: Lease) => Promise<unknown>;
  /**
   * How long the owner's death can keep others out, milliseconds. Default 15,000; keep it under 30,000,
   * since callers wait for it. Work may take longer: its lease is extended three times as often.
   */
  readonly leaseMs?: number;
}

const LEASE_MS = 15_000;
/** A timer cannot wait longer than this. */
const LONGEST_LEASE_MS = 2 ** 31 - 1;
/** Some clients queue what they are asked for as long as they have no connection. */
const ANSWER_WITHIN_MS = 5_000;
/** What was done elsewhere comes to all who wait, the lock to one of them; and to look writes nothing. */
const LOOKS_BETWEEN_TRIES = 2;
/** The caller waits no longer than this for the lock to be released. */
const RELEASE_WITHIN_MS = 1_000;

/**
 * For those who write a lock on a database of their own: a lock for all processes that share it. It waits, extends
 * and releases; the database's part is three functions.
 *
 * It rejects if the database cannot be used, or does not answer for five seconds; else it settles as the work does.
 * Callers of one process queue, so that only one of them asks the database for a key: make one lock, and keep it.
 * While another process has the lock, `instead` is asked twice between two tries. So all who wait learn at once what
 * that process did, and do not take the lock one after the other to see it.
 *
 * A process that sleeps past its lease loses it: its work goes on, and core's compare-and-set keeps it from
 * overwriting what the next owner saved.
 *
 * @throws {TypeError} naming the option.
 */
export function leaseLock(options: LeaseLockOptions): Lock {
  const { take, extend, release, leaseMs } = checked(options);
  const inProcess = memoryLock();
  return (key, work, instead) =>
    inProcess(key, () => underLease({ key, owner: crypto.randomUUID(), leaseMs }, work, instead));

  async function underLease<T>(
    lease: Lease,
    work: () => Promise<T>,
    instead: Instead<T> | undefined,
  ): Promise<T> {
    const found = await wait(lease, instead);
    if (found !== undefined) return found;
    const extending = keepExtending(lease);
    try {
      return await work();
    } finally {
      clearInterval(extending);
      await letGo(lease);
    }
  }

  /** Tries until the lease is ours, or until `instead`, asked twice between two tries, has something. */
  async function wait<T>(lease: Lease, instead: Instead<T> = nothing): Promise<T | undefined> {
    const beganAt = performance.now();
    try {
      while (!(await within(ANSWER_WITHIN_MS, attempt(take, lease), noAnswer))) {
        const lookAfterMs = pauseAfter(performance.now() - beganAt) / (LOOKS_BETWEEN_TRIES + 1);
        for (let look = 1; look <= LOOKS_BETWEEN_TRIES; look += 1) {
          await sleep(lookAfterMs);
          const found = await instead();
          if (found !== undefined) return found;
        }
        await sleep(lookAfterMs);
      }
      return undefined;
    } catch (error) {
      void letGo(lease); // perhaps it was taken, and only the answer was lost
      throw error;
    }
  }

  /** Never keeps the process alive. If an extension fails, the next one tries again; a lost lease is not taken back. */
  function keepExtending(lease: Lease): ReturnType<typeof setInterval> {
    const timer = setInterval(async () => {
      const isOurs = await attempt(extend, lease).catch(() => true);
      if (!isOurs) clearInterval(timer);
    }, leaseMs / 3);
    return unref(timer);
  }

  /** If this fails, the lease ends by itself; the result of the work counts all the same. */
  async function letGo(lease: Lease): Promise<void> {
    const released = attempt(release, lease)
      .catch(() => attempt(release, lease))
      .catch(() => {});
    const longEnough = new Promise((resolve) => unref(setTimeout(resolve, RELEASE_WITHIN_MS)));
    await Promise.race([released, longEnough]);
  }
}

type Instead<T> = () => Promise<T | undefined>;

const nothing = async (): Promise<undefined> => undefined;

function noAnswer(): Error {
  return new Error(`The lock did not answer within ${ANSWER_WITHIN_MS} ms`);
}

/** Rejects also if `ask` throws before it returns a promise. */
async function attempt<T>(ask: (lease: Lease) => Promise<T>, lease: Lease): Promise<T> {
  return ask(lease);
}

/**
 * An eighth of the wait so far, so that nobody waits more than an eighth too long. A token request takes some 100 ms; a
 * fixed pause of 100 ms could double that for the callers that wait for it. At least 12 ms and at most 250: about 20
 * tries in the first 300 ms, then fewer and fewer, in the end 5 a second. Shortened by up to a half at random, so that
 * those who wait do not all ask at one moment.
 */
function pauseAfter(waitedMs: number): number {
  return Math.min(Math.max(waitedMs / 8, 12), 250) * (1 - Math.random() / 2);
}

function checked(options: LeaseLockOptions): Required<LeaseLockOptions> {
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
