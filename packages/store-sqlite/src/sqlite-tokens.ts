import type { Lock, TokenStore } from "@retail-pos/core";
import { checkDatabase, prepareConnection, type SqliteDatabase } from "./database.js";
import { createTables, tablesFor } from "./schema.js";
import { sqliteLock } from "./sqlite-lock.js";
import { sqliteStore } from "./sqlite-store.js";

/** Which database, and which tables of it. */
export interface SqliteTokensOptions {
  /**
   * An opened database: `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3` or `libsql`.
   * Best a connection of its own: a transaction that somebody leaves open on it would take our writes with it.
   */
  database: SqliteDatabase;
  /**
   * Where tokens are kept; the lock's rows go to `<table>_locks`. Letters, digits and underscores, not a digit
   * first, at most 60. Two applications on one file need two tables. Default `retail_pos_tokens`.
   */
  table?: string;
}

/** What `retailPos` takes: `retailPos({ ..., ...sqliteTokens({ database }) })`. */
export interface SqliteTokens {
  /** One row per retailer; claims are rows beside the lock's. */
  readonly store: TokenStore;
  /** A row while it is held; among the processes of one machine. */
  readonly lock: Lock;
}

/**
 * Keeps tokens in a SQLite file, for the processes of one machine. Makes its tables where they are missing;
 * several processes may do so at once. The database stays the caller's to close.
 *
 * @throws {TypeError} naming the option that is wrong.
 * @throws {Error} when the tables can be neither used nor made.
 */
export function sqliteTokens(options: SqliteTokensOptions): SqliteTokens {
  const database = checkDatabase(options?.database);
  const tables = tablesFor(options.table);
  prepareConnection(database);
  createTables(database, tables);
  return { store: sqliteStore(database, tables), lock: sqliteLock(database, tables.locks) };
}
