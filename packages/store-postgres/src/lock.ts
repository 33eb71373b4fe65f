import { type Lease, type Lock, leaseLock } from "@retail-pos/core";
import type { Ask } from "./driver.js";
import type { Tables } from "./schema.js";

/**
 * Leases in a table, ended by the database's clock. An advisory lock would hold a connection while `work`
 * runs; with a lease the pool has each connection back after one statement.
 *
 * @param leaseMs how long a killed owner keeps others out; core's default if not given.
 */
export function createLock(ask: Ask, { locks }: Tables, leaseMs?: number): Lock {
  const take = takeSql(locks, LONGEST_LEASE_MS);
  const extend = `UPDATE ${locks} SET ends_at = ${END} WHERE key = $1 AND owner = $2`;
  const release = `DELETE FROM ${locks} WHERE key = $1 AND owner = $2`;

  return leaseLock({
    take: (lease) => run("take", take, lease, lease.leaseMs),
    extend: (lease) => run("extend", extend, lease, lease.leaseMs),
    release: (lease) => run("release", release, lease),
    ...(leaseMs !== undefined && { leaseMs }),
  });

  async function run(
    doing: string,
    sql: string,
    { key, owner }: Lease,
    ...more: unknown[]
  ): Promise<boolean> {
    const task = { operation: "lock", doing: `${doing} the lock ${key}` } as const;
    const { count } = await ask(task, sql, [key, owner, ...more]);
    return count === 1;
  }
}

const END = "clock_timestamp() + $3::double precision * interval '1 millisecond'";

/** A lease that ends later than this from now was written before the database's clock was set back: it is over. */
const LONGEST_LEASE_MS = 60_000;

/**
 * Takes a lease: $1 the key, $2 the owner, $3 how long, milliseconds. Also how a key is claimed. The condition first:
 * asking for a lease that somebody else holds writes nothing.
 *
 * @param longestMs one that seems to last longer counts as over.
 */
export function takeSql(locks: string, longestMs?: number): string {
  const isAlive = (endsAt: string) =>
    longestMs === undefined
      ? `${endsAt} > clock_timestamp()`
      : `${endsAt} > clock_timestamp() AND ${endsAt} <= clock_timestamp() + interval '${longestMs} milliseconds'`;
  return `
    INSERT INTO ${locks} AS held (key, owner, ends_at)
    SELECT $1, $2, ${END}
    WHERE NOT EXISTS (SELECT FROM ${locks} WHERE key = $1 AND owner <> $2 AND ${isAlive("ends_at")})
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at
    WHERE NOT (${isAlive("held.ends_at")}) OR held.owner = excluded.owner`;
}
