import type { SqliteDatabase } from "./database.js";
import { insistently } from "./patience.js";

/** The names, quoted for SQL. */
export interface Tables {
  readonly tokens: string;
  readonly locks: string;
  /** The index by which ended claims are found. */
  readonly ends: string;
}

/** @throws {TypeError} when the name could be read as anything but a name. */
export function tablesFor(table: unknown = "retail_pos_tokens"): Tables {
  if (typeof table !== "string" || !/^[a-z_][a-z0-9_]{0,59}$/i.test(table))
    throw new TypeError(
      "table must be a name of letters, digits and underscores, not a digit first, at most 60",
    );
  if (/^sqlite_/i.test(table))
    throw new TypeError("table must not begin with sqlite_, which is SQLite's own");
  return { tokens: `"${table}"`, locks: `"${table}_locks"`, ends: `"${table}_ends"` };
}

/**
 * Makes what is missing. SQLite does each statement wholly or not at all, under the file's own lock, so any
 * number of processes may come here at once.
 */
export function createTables(database: SqliteDatabase, { tokens, locks, ends }: Tables): void {
  const statements: [table: string, sql: string][] = [
    [
      tokens,
      `CREATE TABLE IF NOT EXISTS ${tokens} (
        domain_prefix TEXT NOT NULL PRIMARY KEY,
        version TEXT NOT NULL,
        access_token TEXT NOT NULL,
        access_expires_at INTEGER, -- epoch milliseconds, like the instants below
        refresh_token TEXT NOT NULL,
        issued_at INTEGER NOT NULL,
        refused_at INTEGER
      )`,
    ],
    [
      locks,
      `CREATE TABLE IF NOT EXISTS ${locks} (
        key TEXT NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        expires_at INTEGER NOT NULL
      )`,
    ],
    // Claims that have ended are cleared away by it.
    [locks, `CREATE INDEX IF NOT EXISTS ${ends} ON ${locks} (expires_at) WHERE key LIKE 'claim:%'`],
  ];
  for (const [table, sql] of statements) insistently(`use the table ${table}`, () => database.exec(sql));
}
