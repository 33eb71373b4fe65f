import type { Lock, TokenStore } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import { checkDatabase, prepareConnection } from "./connection.js";
import { asker, type SqliteDatabase, type SqliteStatement } from "./driver.js";
import { fileIdentity, inPlace } from "./file.js";
import { createLock } from "./lock.js";
import { migrate, tablesAt } from "./schema.js";
import { createStore } from "./store.js";

export type { SqliteDatabase, SqliteStatement };

/** Which database, and which tables of it. */
export interface SqliteTokensOptions {
  /**
   * An opened database: `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3` or `libsql`.
   * Best a connection of its own: if somebody leaves a transaction open on it, our writes are not committed.
   */
  database: SqliteDatabase;
  /**
   * Where tokens are kept; the lock's rows go to `<table>_lock`. Letters, digits and underscores, not a digit
   * first, at most 60. Two applications on one file need two tables. Default `retail_pos_tokens`.
   */
  table?: string | undefined;
}

/** The `store` and `lock` for `retailPos`: `retailPos({ ..., ...sqliteTokens({ database }) })`. */
export interface SqliteTokens {
  /** One row per retailer; claims are rows beside the lock's. */
  readonly store: TokenStore;
  /** A row while it is held; among the processes of one machine. */
  readonly lock: Lock;
}

const NAMES = ["database", "table"] satisfies (keyof SqliteTokensOptions)[];

/**
 * Keeps tokens in a SQLite file, for the processes of one machine. Makes its tables if they are missing; several
 * processes may do so at once. The database stays the caller's to close.
 *
 * The store rejects with `StoreFailedError` if SQLite fails (the driver's `code` is that of `cause`), or if it wrote to
 * a file or a log (`-wal`) that was deleted, moved or replaced meanwhile; with `StoredTokensError` for a row that
 * somebody edited. The lock rejects with `StoreFailedError` if it cannot be taken; else it settles as the work does.
 *
 * @throws {TypeError} naming the option that is wrong.
 * @throws {Error} the tables can be neither used nor made.
 */
export function sqliteTokens(options: SqliteTokensOptions): SqliteTokens {
  refuseMisspelt(options, NAMES, { db: "database", tablename: "table" });
  const { table = "retail_pos_tokens" } = options;
  const database = checkDatabase(options.database);
  const tables = tablesAt(table);
  prepareConnection(database);
  migrate(database, tables);
  const ask = asker(database);
  const { canWrite, canLock } = fileIdentity(database);
  const store = createStore(inPlace(ask, canWrite), tables, database);
  return { store, lock: createLock(inPlace(ask, canLock), tables) };
}
