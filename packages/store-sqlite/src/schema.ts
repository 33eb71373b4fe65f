import { createHash } from "node:crypto";
import { COLUMNS } from "@retail-pos/core/authoring";
import { failure, isReadOnly, type SqliteDatabase, withBusyRetry, write } from "./driver.js";

/** The two tables and their index, quoted: ready to stand in a statement. */
export interface Tables {
  readonly tokens: string;
  readonly locks: string;
  /** The index by which ended claims are found. */
  readonly ends: string;
}

/** @throws {TypeError} the name could be read as something else in a statement. */
export function tablesAt(table: unknown): Tables {
  if (typeof table !== "string" || !/^[a-z_][a-z0-9_]{0,59}$/i.test(table))
    throw new TypeError(
      "table must be a name of letters, digits and underscores, not a digit first, at most 60",
    );
  if (/^sqlite_/i.test(table))
    throw new TypeError("table must not begin with sqlite_, which is SQLite's own");
  return { tokens: `"${table}"`, locks: `"${table}_lock"`, ends: `"${table}_ends"` };
}

/** The text that a claim's key is stored as: keys may be of any length, with characters that some drivers refuse. */
export function claimKey(key: string): string {
  return `claim:${createHash("sha256").update(key).digest("hex")}`;
}

/**
 * Makes what is missing. SQLite does each statement wholly or not at all, under the file's own lock, so any
 * number of processes may come here at once.
 */
export function migrate(database: SqliteDatabase, tables: Tables): void {
  const { tokens, locks } = tables;
  for (const [table, sql] of schemaOf(tables))
    withBusyRetry(`use the table ${table}`, () => database.exec(sql));
  // Fails here, at construction, if a table has other columns than ours.
  for (const [table, columns] of [
    [tokens, COLUMNS.join(", ")],
    [locks, "key, owner, ends_at"],
  ]) {
    withBusyRetry(`use the table ${table}`, () => database.prepare(`SELECT ${columns} FROM ${table}`));
  }
  checkWritable(database, tokens);
}

/** A connection that may only read can do all of the above if the tables are there. If another one writes, this may. */
function checkWritable(database: SqliteDatabase, table: string): void {
  try {
    write(database, () => database.exec(`DELETE FROM ${table} WHERE 0`));
  } catch (error) {
    if (isReadOnly(error)) throw failure(`write to the table ${table}`, error);
  }
}

function schemaOf({ tokens, locks, ends }: Tables): [table: string, sql: string][] {
  return [
    [
      tokens,
      `CREATE TABLE IF NOT EXISTS ${tokens} (
        domain_prefix TEXT NOT NULL PRIMARY KEY,
        access_token TEXT NOT NULL,
        expires_at INTEGER, -- epoch milliseconds, like the instants below
        refresh_token TEXT NOT NULL,
        issued_at INTEGER NOT NULL,
        version TEXT NOT NULL,
        refused_at INTEGER,
        refused_early_at INTEGER,
        limited_until INTEGER,
        scope TEXT
      )`,
    ],
    [
      locks,
      `CREATE TABLE IF NOT EXISTS ${locks} (
        key TEXT NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        ends_at INTEGER NOT NULL
      )`,
    ],
    // Ended claims are found by it.
    [locks, `CREATE INDEX IF NOT EXISTS ${ends} ON ${locks} (ends_at) WHERE key LIKE 'claim:%'`],
  ];
}
