import { setTimeout as sleep } from "node:timers/promises";
import { type StoreTask, storeFailure } from "@retail-pos/core/authoring";

/** The part of an opened database that is used here. Every synchronous driver has it. */
export interface SqliteDatabase {
  /** Runs statements that answer nothing. */
  exec(sql: string): unknown;
  /** Compiles one statement. */
  prepare(sql: string): SqliteStatement;
}

/** A compiled statement. */
export interface SqliteStatement {
  /** The first row as an object, or nothing. */
  // biome-ignore lint/suspicious/noExplicitAny: no narrower type fits what all the drivers declare
  get(...values: any[]): unknown;
  /** All rows as objects. */
  // biome-ignore lint/suspicious/noExplicitAny: the same
  all(...values: any[]): unknown[];
  /** Runs it; tells how many rows it wrote. */
  // biome-ignore lint/suspicious/noExplicitAny: the same
  run(...values: any[]): {
    /** How many rows were written. */
    changes: number | bigint;
  };
}

/** A row as it is in the file. Somebody may have edited it. */
export type Row = Readonly<Record<string, unknown>>;

/** The result of a statement. */
export interface Answer {
  readonly rows: readonly Row[];
  /** How many rows it wrote. */
  readonly count: number;
}

/**
 * Runs one statement, a write in a transaction of its own. While other processes keep the file locked it is run again,
 * a bounded number of times.
 *
 * @param task what the statement is for, for the error.
 * @param values if a function, it is called for each try: a try may come a second later.
 */
export type Ask = (task: StoreTask, sql: string, values: Values | (() => Values)) => Promise<Answer>;

type Values = readonly (string | number | null)[];

/** Pauses between the tries when the file stays locked although SQLite has waited itself. */
const AGAIN_AFTER_MS = [20, 50, 100, 200];

export function asker(database: SqliteDatabase): Ask {
  const statements = new Map<string, SqliteStatement>();
  return async (task, sql, values) => {
    for (let tries = 0; ; tries += 1) {
      try {
        return answerOf(sql, typeof values === "function" ? values() : values);
      } catch (error) {
        const pauseMs = AGAIN_AFTER_MS[tries];
        if (pauseMs === undefined || !isBusy(error)) throw storeFailure("SQLite", task, error);
        await sleep(pauseMs * (0.5 + Math.random()));
      }
    }
  };

  function answerOf(sql: string, values: Values): Answer {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    if (/^\s*SELECT/.test(sql)) return { rows: statement.all(...values) as Row[], count: 0 };
    const { changes } = Object(write(database, () => statement.run(...values)));
    // Without the number, every write would seem to have been lost.
    if (typeof changes !== "number" && typeof changes !== "bigint")
      throw new TypeError(
        "database must be of a driver whose run() tells how many rows it wrote, in changes",
      );
    return { rows: [], count: Number(changes) };
  }
}

/**
 * Runs one write in a transaction of its own. A write that gives up on a locked file can leave its statement in
 * progress (libsql does), and what other statements write afterwards is then not committed: it would be a rotated
 * token that counts as saved. If the transaction cannot begin, nothing has been written yet; if it cannot end,
 * COMMIT fails.
 */
export function write<T>(database: SqliteDatabase, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // Some errors, as that of a full disk, have ended the transaction themselves.
  }
}

/**
 * For statements while a program starts: as patient, but the thread is blocked.
 *
 * @param doing completes "SQLite could not ...", for the error.
 */
export function withBusyRetry<T>(doing: string, work: () => T): T {
  for (let tries = 0; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      const pauseMs = AGAIN_AFTER_MS[tries];
      if (pauseMs === undefined || !isBusy(error)) throw failure(doing, error);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

/** Whether it is SQLITE_BUSY (5) or SQLITE_LOCKED (6). */
function isBusy(error: unknown): boolean {
  return isOneOf(error, /^SQLITE_(BUSY|LOCKED)/, [5, 6]);
}

/** Whether it is SQLITE_READONLY (8). */
export function isReadOnly(error: unknown): boolean {
  return isOneOf(error, /^SQLITE_READONLY/, [8]);
}

/** Also in their extended forms, in the words of each driver. */
function isOneOf(error: unknown, names: RegExp, numbers: readonly number[]): boolean {
  const { code, errcode, rawCode } = Object(error) as Record<string, unknown>;
  if (typeof code === "string" && names.test(code)) return true;
  const number = errcode ?? rawCode;
  return typeof number === "number" && numbers.includes(number & 0xff);
}

/** What goes wrong outside a store and a lock. */
export function failure(doing: string, error: unknown): Error {
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  const failed = new Error(`SQLite could not ${doing}: ${String(message)}`);
  return typeof code === "string" ? Object.assign(failed, { code }) : failed;
}
