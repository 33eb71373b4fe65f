import { type SqliteDatabase, withBusyRetry } from "./driver.js";

/** How long SQLite itself waits for another process's write, milliseconds. The thread is blocked meanwhile. */
const BUSY_TIMEOUT_MS = 200;
/** `PRAGMA synchronous`: 2 is FULL. */
const FULL = 2;

/** @throws {TypeError} the value is no database, or its driver answers with promises. */
export function checkDatabase(database: unknown): SqliteDatabase {
  const { exec, prepare } = Object(database) as { exec?: unknown; prepare?: unknown };
  if (typeof exec !== "function" || typeof prepare !== "function")
    throw new TypeError("database must be an opened SQLite database, with exec() and prepare()");
  const opened = database as SqliteDatabase;
  const statement = withBusyRetry("use the database", () => opened.prepare("SELECT 1 AS one"));
  const rows = typeof statement?.all === "function" && statement.all();
  if (!Array.isArray(rows) || numberIn(rows[0], "one") !== 1)
    throw new TypeError("database must be of a synchronous driver, and give rows as objects");
  return opened;
}

/** Settings of this connection, except for the journal mode, which stays with the file. Only ever raised. */
export function prepareConnection(database: SqliteDatabase): void {
  withBusyRetry("set the busy timeout", () => {
    if ((pragma(database, "busy_timeout", "timeout") ?? 0) < BUSY_TIMEOUT_MS)
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  });
  preferWal(database);
  // A removed retailer's refresh token cannot be revoked: without this it stays in the file's free pages.
  withBusyRetry("set secure_delete", () => database.exec("PRAGMA secure_delete = ON"));
  // A rotated refresh token cannot be had again, so a save has to outlast a power failure too.
  withBusyRetry("set the durability", () => {
    if ((pragma(database, "synchronous") ?? 0) < FULL) database.exec("PRAGMA synchronous = FULL");
  });
}

/**
 * Deleted rows are still in the write-ahead log. This moves the log into the file and cuts it off, if no other
 * connection reads or writes at this moment; else the next removal does it.
 */
export function cutLog(database: SqliteDatabase): void {
  withoutWaiting(database, () => database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
}

/**
 * Does what may as well be done the next time. If another connection is in the way, it is left undone at once: SQLite
 * would wait the whole busy timeout, and block the thread.
 */
export function withoutWaiting(database: SqliteDatabase, work: () => unknown): void {
  try {
    const timeoutMs = pragma(database, "busy_timeout", "timeout") ?? BUSY_TIMEOUT_MS;
    database.exec("PRAGMA busy_timeout = 0");
    try {
      work();
    } finally {
      database.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
    }
  } catch {
    // Next time.
  }
}

/** Readers and the writer do not block each other in WAL mode. Every other mode is as safe, only slower. */
function preferWal(database: SqliteDatabase): void {
  try {
    const row = database.prepare("PRAGMA journal_mode").get() as { journal_mode?: unknown };
    if (row.journal_mode !== "wal") database.exec("PRAGMA journal_mode = WAL");
  } catch {
    // In use by another process just now (which sets it too), or read-only: it stays as it is.
  }
}

function pragma(database: SqliteDatabase, name: string, column: string = name): number | undefined {
  return numberIn(database.prepare(`PRAGMA ${name}`).get(), column);
}

/** Some drivers give every integer as a bigint. */
function numberIn(row: unknown, column: string): number | undefined {
  const value: unknown = Object(row)[column];
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}
