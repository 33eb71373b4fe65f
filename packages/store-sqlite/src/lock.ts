import { type Lease, type Lock, leaseLock } from "@retail-pos/core";
import type { StoreTask } from "@retail-pos/core/authoring";
import type { Ask } from "./driver.js";
import type { Tables } from "./schema.js";

export interface LockOptions {
  /** How long a killed owner keeps others out, milliseconds; core's default if not given. */
  leaseMs?: number;
  /** Epoch milliseconds; the same for all processes, which is why this is for one machine. */
  clock?: () => number;
}

/** A lease that ends later than this from now was written before the clock was set back: it counts as over. */
const LONGEST_LEASE_MS = 60_000;

/** Leases in a table. Nothing in the file is locked while work runs. */
export function createLock(
  ask: Ask,
  { locks }: Tables,
  { leaseMs, clock = Date.now }: LockOptions = {},
): Lock {
  const take = createTake(ask, locks, LONGEST_LEASE_MS, clock);
  const extend = `UPDATE ${locks} SET ends_at = ? WHERE key = ? AND owner = ?`;
  const release = `DELETE FROM ${locks} WHERE key = ? AND owner = ?`;

  return leaseLock({
    take: (lease) => take(taskOf("take", lease.key), lease),
    async extend({ key, owner, leaseMs }) {
      const { count } = await ask(taskOf("extend", key), extend, () => [clock() + leaseMs, key, owner]);
      return count === 1;
    },
    release: ({ key, owner }: Lease) => ask(taskOf("release", key), release, [key, owner]),
    ...(leaseMs !== undefined && { leaseMs }),
  });
}

/**
 * Takes a lease. Also how a key is claimed.
 *
 * @param longestMs one that seems to last longer counts as over.
 */
export function createTake(ask: Ask, locks: string, longestMs: number, clock: () => number = Date.now): Take {
  const find = `SELECT 1 FROM ${locks} WHERE key = ? AND owner <> ? AND ends_at BETWEEN ? AND ?`;
  const take = `
    INSERT INTO ${locks} (key, owner, ends_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at
    WHERE owner = excluded.owner OR ends_at NOT BETWEEN ? AND ?`;
  return async (task, { key, owner, leaseMs }) => {
    const alive = (now: number) => [now, now + longestMs];
    // A read first: it waits for no writer, and a write would block the thread until it may begin.
    const { rows } = await ask(task, find, () => [key, owner, ...alive(clock())]);
    if (rows.length > 0) return false;
    const { count } = await ask(task, take, () => {
      const now = clock();
      return [key, owner, Math.ceil(now + leaseMs), ...alive(now)];
    });
    return count === 1;
  };
}

/** Resolves to whether the owner has the lease now. */
type Take = (task: StoreTask, lease: Lease) => Promise<boolean>;

function taskOf(doing: string, key: string) {
  return { operation: "lock", doing: `${doing} the lock ${JSON.stringify(key)}` } as const;
}
