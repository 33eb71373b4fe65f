import { within } from "./deadline.js";
import type { Lock } from "./lock.js";
import { memoryLock } from "./memory-lock.js";
import { sleep, unref } from "./timers.js";

/** A claim on a key that ends by itself where nobody extends it. */
export interface Lease {
  /** The key that the lock was called with. */
  readonly key: string;
  /** Random, and new for each piece of work. Whoever it is recorded for has the lock. */
  readonly owner: string;
  /** How long from now it shall last, milliseconds; best counted on the database's clock. */
  readonly leaseMs: number;
}

/**
 * What a database does for a {@link leaseLock}: each in one atomic step, with no connection kept afterwards.
 * Where the database cannot be used they reject. What `take` rejects with reaches the lock's caller, so it
 * shows no secret.
 */
export interface LeaseLockOptions {
  /**
   * Records the owner and the end where the key has no owner, where its lease is over, and where the owner is
   * this one already: a repeated question, whose first answer was lost, is answered yes twice. Says whether
   * the owner has the lease now. It is asked often while somebody else has it, and best writes nothing then.
   */
  readonly take: (lease: Lease) => Promise<boolean>;
  /**
   * Moves the end while the key's owner is still this one, and says whether it is. It never brings back a
   * lease that was released or taken over.
   */
  readonly extend: (lease: Lease) => Promise<boolean>;
  /** Ends the lease if the key's owner is still this one. What it answers is not looked at. */
  readonly release: (lease: Lease) => Promise<unknown>;
  /**
   * How long the owner's death can keep others out, milliseconds. Default 15,000; keep it under 30,000,
   * since callers wait for it. Work may take longer: its lease is extended three times as often.
   */
  readonly leaseMs?: number;
}

const LEASE_MS = 15_000;
/** Longer, and the timer of the extensions would not keep its time. */
const LONGEST_LEASE_MS = 2 ** 31 - 1;
/** Some clients queue what they are asked for as long as they have no connection. */
const ANSWER_WITHIN_MS = 5_000;
/** What was done under the lock waits no longer than this for the release of the lock. */
const RELEASE_WITHIN_MS = 1_000;

/**
 * A lock among all processes that share a database, for those who write one on a database of their own: the
 * waiting, extending and letting go around three functions.
 *
 * It rejects when it cannot be taken because the database cannot be used, or does not answer for five seconds;
 * else it settles as the work does.
 * Callers of one process queue, so that one of them at a time asks for a key: make one lock, and keep it.
 *
 * A process that sleeps past its lease loses it: its work goes on, and core's compare-and-set keeps it from
 * overwriting what the next owner saved.
 *
 * @throws {TypeError} naming the option.
 */
export function leaseLock(options: LeaseLockOptions): Lock {
  const { take, extend, release, leaseMs } = checked(options);
  const inProcess = memoryLock();
  return (key, work) => inProcess(key, () => underLease({ key, owner: crypto.randomUUID(), leaseMs }, work));

  async function underLease<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
    await wait(lease);
    const extending = keepExtending(lease);
    try {
      return await work();
    } finally {
      clearInterval(extending);
      await letGo(lease);
    }
  }

  async function wait(lease: Lease): Promise<void> {
    const beganAt = performance.now();
    try {
      while (!(await within(ANSWER_WITHIN_MS, attempt(take, lease), noAnswer))) {
        await sleep(pauseAfter(performance.now() - beganAt));
      }
    } catch (error) {
      void letGo(lease); // only the answer may have been lost
      throw error;
    }
  }

  /** Never keeps the process alive. An extension that fails is tried again with the next; a lost lease is not. */
  function keepExtending(lease: Lease): ReturnType<typeof setInterval> {
    const timer = setInterval(async () => {
      const isOurs = await attempt(extend, lease).catch(() => true);
      if (!isOurs) clearInterval(timer);
    }, leaseMs / 3);
    return unref(timer);
  }

  /** The work is done and its result counts, whether or not this succeeds: the lease ends by itself. */
  async function letGo(lease: Lease): Promise<void> {
    const released = attempt(release, lease)
      .catch(() => attempt(release, lease))
      .catch(() => {});
    const longEnough = new Promise((resolve) => unref(setTimeout(resolve, RELEASE_WITHIN_MS)));
    await Promise.race([released, longEnough]);
  }
}

function noAnswer(): Error {
  return new Error(`The lock did not answer within ${ANSWER_WITHIN_MS} ms`);
}

/** What throws at once rejects. */
async function attempt<T>(ask: (lease: Lease) => Promise<T>, lease: Lease): Promise<T> {
  return ask(lease);
}

/**
 * A tenth of the wait so far, so that nobody waits a tenth longer than there is need: a token request takes
 * some 100 ms, and that its waiters notice its end only 100 ms later would double it for their callers. At
 * least 10 ms and at most 250: some 25 questions in the first 300 ms, then ever fewer, in the end 5 a second.
 * Less up to a half by chance, so that those who wait do not come all at once.
 */
function pauseAfter(waitedMs: number): number {
  return Math.min(Math.max(waitedMs / 10, 10), 250) * (1 - Math.random() / 2);
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
