import { setTimeout as sleep } from "node:timers/promises";
import type { Lock } from "@retail-pos/core";
import { isYes, type Run } from "./client.js";

/** How long a killed owner keeps others out. It is extended three times as often while work runs. */
const LEASE_MS = 15_000;
/** Waiters ask again after about this long, then less and less often. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 200;
/** What was done under the lock waits no longer than this for the release of the lock. */
const RELEASE_WITHIN_MS = 1_000;

/** A lease on a key, known by its owner's name: it ends by itself, on the server's clock, if nobody extends it. */
interface Lease {
  readonly key: string;
  readonly owner: string;
}

/**
 * A lock whose owner is whoever holds the key's lease. No well-kept library does this for both clients:
 * `redis-semaphore` and `@sesamecare-oss/redlock` ask for ioredis.
 *
 * A process that sleeps past its lease loses it: its work goes on, and core's compare-and-set keeps
 * it from overwriting what the next owner saved.
 */
export function redisLock(run: Run, prefix: string, leaseMs: number = LEASE_MS): Lock {
  return async (key, work) => {
    const lease = { key: `${prefix}{${retailerOf(key)}}:lock:${key}`, owner: crypto.randomUUID() };
    await wait(lease);
    const extending = keepExtending(lease);
    try {
      return await work();
    } finally {
      clearInterval(extending);
      await release(lease);
    }
  };

  async function wait(lease: Lease): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !(await take(lease)); pauseMs *= 1.5) {
      await sleep(Math.min(pauseMs, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2));
    }
  }

  async function take(lease: Lease): Promise<boolean> {
    try {
      return isYes(await ask("take", TAKE, lease));
    } catch (error) {
      void release(lease); // only the answer may have been lost
      throw error;
    }
  }

  /** Never keeps the process alive. An extension that fails is tried again with the next; a lost lease is not. */
  function keepExtending(lease: Lease): NodeJS.Timeout {
    const timer = setInterval(async () => {
      const isOurs = await ask("extend", EXTEND, lease).then(isYes, () => true);
      if (!isOurs) clearInterval(timer);
    }, leaseMs / 3);
    return timer.unref();
  }

  /** The work is done and its result counts, whether or not this succeeds: the lease ends by itself. */
  async function release(lease: Lease): Promise<void> {
    const tryOnce = () => ask("release", RELEASE, lease);
    const released = tryOnce()
      .catch(tryOnce)
      .catch(() => {});
    await Promise.race([released, sleep(RELEASE_WITHIN_MS, undefined, { ref: false })]);
  }

  function ask(doing: string, script: string, { key, owner }: Lease): Promise<unknown> {
    return run(`${doing} the lock ${key}`, script, key, [owner, String(leaseMs)]);
  }
}

// Asked twice by the same owner (a client sends again what a broken connection left unanswered), it says yes twice.
const TAKE = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const EXTEND = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

/** Core's keys end in the retailer: as hash tag it puts the lock into the slot of the tokens. */
function retailerOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}
