import { setTimeout as sleep } from "node:timers/promises";
import type { Lock } from "@retail-pos/core";
import type { Ask } from "./pool.js";
import type { Tables } from "./schema.js";

/** How long a killed owner keeps others out. It is extended three times as often while work runs. */
const LEASE_MS = 15_000;
/** Waiters ask again after about this long, then less and less often. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 200;
/** What was done under the lock waits no longer than this for the release of the lock. */
const RELEASE_WITHIN_MS = 1_000;

/** A row of the lock table, known by its owner's name: it ends by itself, on the database's clock, if nobody extends it. */
interface Lease {
  readonly key: string;
  readonly owner: string;
}

/**
 * A lock whose owner is whoever holds the key's lease. An advisory lock would hold a connection while `work`
 * runs; with a lease the pool has each connection back after one statement.
 *
 * A process that sleeps past its lease loses it: its work goes on, and core's compare-and-set keeps
 * it from overwriting what the next owner saved.
 */
export function postgresLock(ask: Ask, { locks }: Tables, leaseMs: number = LEASE_MS): Lock {
  const end = "clock_timestamp() + $3::double precision * interval '1 millisecond'";
  // The condition first: asking for a lease that somebody else holds writes nothing. Asked twice by the same
  // owner, it says yes twice.
  const take = `
    INSERT INTO ${locks} AS held (key, owner, ends_at)
    SELECT $1, $2, ${end}
    WHERE NOT EXISTS (SELECT FROM ${locks} WHERE key = $1 AND owner <> $2 AND ends_at > clock_timestamp())
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at
    WHERE held.ends_at <= clock_timestamp() OR held.owner = excluded.owner`;
  const extend = `UPDATE ${locks} SET ends_at = ${end} WHERE key = $1 AND owner = $2`;
  const erase = `DELETE FROM ${locks} WHERE key = $1 AND owner = $2`;

  return async (key, work) => {
    const lease = { key, owner: crypto.randomUUID() };
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
    for (let pauseMs = FIRST_PAUSE_MS; !(await tryToTake(lease)); pauseMs *= 1.5) {
      await sleep(Math.min(pauseMs, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2));
    }
  }

  async function tryToTake(lease: Lease): Promise<boolean> {
    try {
      return await run("take", take, lease, leaseMs);
    } catch (error) {
      void release(lease); // only the answer may have been lost
      throw error;
    }
  }

  /** Never keeps the process alive. An extension that fails is tried again with the next; a lost lease is not. */
  function keepExtending(lease: Lease): NodeJS.Timeout {
    const timer = setInterval(async () => {
      const isOurs = await run("extend", extend, lease, leaseMs).catch(() => true);
      if (!isOurs) clearInterval(timer);
    }, leaseMs / 3);
    return timer.unref();
  }

  /** The work is done and its result counts, whether or not this succeeds: the lease ends by itself. */
  async function release(lease: Lease): Promise<void> {
    const tryOnce = () => run("release", erase, lease);
    const released = tryOnce()
      .catch(tryOnce)
      .catch(() => {});
    await Promise.race([released, sleep(RELEASE_WITHIN_MS, undefined, { ref: false })]);
  }

  async function run(
    doing: string,
    sql: string,
    { key, owner }: Lease,
    ...more: unknown[]
  ): Promise<boolean> {
    const { count } = await ask(`${doing} the lock ${key}`, sql, [key, owner, ...more]);
    return count === 1;
  }
}
