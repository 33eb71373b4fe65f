import { type Lock, leaseLock } from "@retail-pos/core";
import { type SqliteDatabase, write } from "./database.js";
import { insistently, patiently } from "./patience.js";

export interface SqliteLockOptions {
  /** How long a killed owner keeps others out, milliseconds; core's default if not given. */
  leaseMs?: number;
  /** Epoch milliseconds; the same for all processes, which is why this is for one machine. */
  clock?: () => number;
}

/** A lease that ends later than this from now was written before the clock was set back: it counts as over. */
const LONGEST_LEASE_MS = 60_000;

/**
 * Leases in a table. Nothing in the file is locked while work runs.
 *
 * @param table quoted for SQL.
 */
export function sqliteLock(
  database: SqliteDatabase,
  table: string,
  { leaseMs, clock = Date.now }: SqliteLockOptions = {},
): Lock {
  const findOther = prepare(
    `SELECT 1 FROM ${table} WHERE key = ? AND owner <> ? AND expires_at BETWEEN ? AND ?`,
  );
  const takeLease = prepare(
    `INSERT INTO ${table} (key, owner, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
     WHERE owner = excluded.owner OR expires_at NOT BETWEEN ? AND ?`,
  );
  const extendLease = prepare(`UPDATE ${table} SET expires_at = ? WHERE key = ? AND owner = ?`);
  const endLease = prepare(`DELETE FROM ${table} WHERE key = ? AND owner = ?`);

  return leaseLock({
    take: ({ key, owner, leaseMs }) =>
      patiently({ operation: "lock", doing: `take the lock ${JSON.stringify(key)}` }, () => {
        const now = clock();
        const alive = [now, now + LONGEST_LEASE_MS];
        // To look first, which no writer keeps waiting: whoever asks to write stands still until it may.
        if (findOther.get(key, owner, ...alive)) return false;
        return hasChanged(write(database, () => takeLease.run(key, owner, now + leaseMs, ...alive)));
      }),
    extend: ({ key, owner, leaseMs }) =>
      patiently({ operation: "lock", doing: "extend a lock" }, () =>
        hasChanged(write(database, () => extendLease.run(clock() + leaseMs, key, owner))),
      ),
    release: ({ key, owner }) =>
      patiently({ operation: "lock", doing: "release a lock" }, () =>
        write(database, () => endLease.run(key, owner)),
      ),
    ...(leaseMs !== undefined && { leaseMs }),
  });

  function prepare(sql: string) {
    return insistently(`use the table ${table}`, () => database.prepare(sql));
  }
}

function hasChanged({ changes }: { changes: number | bigint }): boolean {
  return Number(changes) === 1;
}
