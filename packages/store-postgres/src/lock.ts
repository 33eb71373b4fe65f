import { type Lease, type Lock, leaseLock } from "@retail-pos/core";
import type { Ask } from "./driver.js";
import type { Tables } from "./schema.js";

/**
 * Leases in a table, ended by the database's clock. An advisory lock would hold a connection while `work`
 * runs; with a lease the pool has each connection back after one statement.
 *
 * @param leaseMs how long a killed owner keeps others out; core's default if not given.
 */
export function lockOn(ask: Ask, { locks }: Tables, leaseMs?: number): Lock {
  const take = takeSql(locks);
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

/**
 * Takes a lease: $1 the key, $2 the owner, $3 how long, milliseconds. Also how a key is claimed. The condition first:
 * asking for a lease that somebody else holds writes nothing.
 */
export function takeSql(locks: string): string {
  return `
    INSERT INTO ${locks} AS held (key, owner, ends_at)
    SELECT $1, $2, ${END}
    WHERE NOT EXISTS (SELECT FROM ${locks} WHERE key = $1 AND owner <> $2 AND ends_at > clock_timestamp())
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at
    WHERE held.ends_at <= clock_timestamp() OR held.owner = excluded.owner`;
}
