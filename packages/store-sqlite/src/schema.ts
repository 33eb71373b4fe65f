import type { SqliteDatabase } from "./database.js";
import { insistently } from "./patience.js";

/** The names, quoted for SQL. */
export interface Tables {
  readonly tokens: string;
  readonly locks: string;
}

/** @throws {TypeError} when the name could be read as anything but a name. */
export function tablesFor(table: unknown = "retail_pos_tokens"): Tables {
  if (typeof table !== "string" || !/^[a-z_][a-z0-9_]{0,59}$/i.test(table))
    throw new TypeError(
      "table must be a name of letters, digits and underscores, not a digit first, at most 60",
    );
  if (/^sqlite_/i.test(table))
    throw new TypeError("table must not begin with sqlite_, which is SQLite's own");
  return { tokens: `"${table}"`, locks: `"${table}_locks"` };
}

/**
 * Makes what is missing. SQLite does each statement wholly or not at all, under the file's own lock, so any
 * number of processes may come here at once.
 */
export function createTables(database: SqliteDatabase, { tokens, locks }: Tables): void {
  const statements = [
    `CREATE TABLE IF NOT EXISTS ${tokens} (
      domain_prefix TEXT NOT NULL PRIMARY KEY,
      version TEXT NOT NULL,
      access_token TEXT NOT NULL,
      access_expires_at INTEGER, -- epoch milliseconds, like the instants below
      refresh_token TEXT NOT NULL,
      issued_at INTEGER NOT NULL,
      refused_at INTEGER
    )`,
    `CREATE TABLE IF NOT EXISTS ${locks} (
      key TEXT NOT NULL PRIMARY KEY,
      owner TEXT NOT NULL,
      expires_at INTEGER NOT NULL
    )`,
  ];
  for (const sql of statements) insistently("make its tables", () => database.exec(sql));
}
