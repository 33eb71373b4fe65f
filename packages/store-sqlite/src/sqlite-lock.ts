import { randomUUID } from "node:crypto";
import { type Lock, memoryLock } from "@retail-pos/core";
import type { SqliteDatabase } from "./database.js";
import { insistently, patiently, sleep } from "./patience.js";

export interface SqliteLockOptions {
  /** How long a lease lasts that nobody extends, milliseconds: how soon the lock of a killed process is free. */
  leaseMs?: number;
  /** Epoch milliseconds; the same for all processes, which is why this is for one machine. */
  clock?: () => number;
}

const LEASE_MS = 15_000;
/** A lease that ends later than this from now was written before the clock was set back: it counts as over. */
const LONGEST_LEASE_MS = 60_000;
/** How often somebody who waits looks, milliseconds: soon at first, then less often. */
const POLL_MS = { first: 10, last: 250 };

/**
 * A lease on a row: taken by whoever finds none or an expired one, extended while work runs, given back by
 * its owner alone. Within a process callers queue, so that one at a time looks at the file for each key.
 *
 * @param table quoted for SQL.
 */
export function sqliteLock(
  database: SqliteDatabase,
  table: string,
  { leaseMs = LEASE_MS, clock = Date.now }: SqliteLockOptions = {},
): Lock {
  const inProcess = memoryLock();
  const takeLease = prepare(
    `INSERT INTO ${table} (key, owner, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
     WHERE expires_at NOT BETWEEN ? AND ?`,
  );
  const extendLease = prepare(`UPDATE ${table} SET expires_at = ? WHERE key = ? AND owner = ?`);
  const endLease = prepare(`DELETE FROM ${table} WHERE key = ? AND owner = ?`);

  return (key, work) => inProcess(key, () => underLease(key, work));

  async function underLease<T>(key: string, work: () => Promise<T>): Promise<T> {
    const owner = randomUUID();
    const began = performance.now();
    while (!(await take(key, owner))) await sleep(pauseAfter(performance.now() - began));
    const extending = setInterval(() => extend(key, owner), leaseMs / 3).unref();
    try {
      return await work();
    } finally {
      clearInterval(extending);
      await release(key, owner);
    }
  }

  async function take(key: string, owner: string): Promise<boolean> {
    const { changes } = await patiently(`take the lock ${JSON.stringify(key)}`, () => {
      const now = clock();
      return takeLease.run(key, owner, now + leaseMs, now, now + LONGEST_LEASE_MS);
    });
    return Number(changes) === 1;
  }

  function extend(key: string, owner: string): void {
    try {
      extendLease.run(clock() + leaseMs, key, owner);
    } catch {
      // There is time for another try before the lease is over.
    }
  }

  /** What the work answered counts, even where its lease cannot be given back: that ends by itself. */
  async function release(key: string, owner: string): Promise<void> {
    await patiently(`release the lock ${JSON.stringify(key)}`, () => endLease.run(key, owner)).catch(
      () => {},
    );
  }

  function prepare(sql: string) {
    return insistently(`use the table ${table}`, () => database.prepare(sql));
  }
}

/** A fifth of the wait so far, less up to a half by chance, so that those who wait do not come all at once. */
function pauseAfter(waitedMs: number): number {
  const pauseMs = Math.min(Math.max(waitedMs / 5, POLL_MS.first), POLL_MS.last);
  return pauseMs * (1 - Math.random() / 2);
}
