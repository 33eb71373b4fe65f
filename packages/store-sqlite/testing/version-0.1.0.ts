import type Database from "libsql";

const columns = [
  "version",
  "access_token",
  "access_expires_at",
  "refresh_token",
  "issued_at",
  "refused_at",
] as const;

/** The tables and statements of version 0.1.0, as it had them, for the default name. */
export const version010 = {
  makeTables(database: Database.Database): void {
    database.exec(`CREATE TABLE IF NOT EXISTS "retail_pos_tokens" (
      domain_prefix TEXT NOT NULL PRIMARY KEY,
      version TEXT NOT NULL,
      access_token TEXT NOT NULL,
      access_expires_at INTEGER, -- epoch milliseconds, like the instants below
      refresh_token TEXT NOT NULL,
      issued_at INTEGER NOT NULL,
      refused_at INTEGER
    )`);
    database.exec(`CREATE TABLE IF NOT EXISTS "retail_pos_tokens_locks" (
      key TEXT NOT NULL PRIMARY KEY,
      owner TEXT NOT NULL,
      expires_at INTEGER NOT NULL
    )`);
  },
  /** With the six values in the order of its columns, the retailer last. */
  save(database: Database.Database, ...values: (string | number | null)[]): void {
    const assigned = columns.map((column) => `${column} = excluded.${column}`);
    database
      .prepare(
        `INSERT INTO "retail_pos_tokens" (${columns}, domain_prefix) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (domain_prefix) DO UPDATE SET ${assigned}`,
      )
      .run(...values);
  },
  takeLock(database: Database.Database, key: string): void {
    database
      .prepare(`INSERT INTO "retail_pos_tokens_locks" (key, owner, expires_at) VALUES (?, ?, ?)`)
      .run(key, "somebody", Date.now() + 15_000);
  },
};
