import { type StoreTask, storeFailure } from "@retail-pos/core/authoring";

/** The part of a `Pool` of `pg` that is used here. */
export interface PostgresPool {
  /** Runs one statement on any connection. */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{
    /** The rows that it read, by column. */
    rows: Record<string, unknown>[];
    /** How many rows it read or wrote; `null` for a statement that does neither. */
    rowCount: number | null;
  }>;
}

/** The result of a statement. */
export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  /** How many rows it read or wrote. */
  readonly count: number;
}

/**
 * Runs one statement on any connection of the pool, and gives the connection back at once.
 *
 * @param task what the statement is for, for the error.
 */
export type Ask = (task: StoreTask, sql: string, values?: unknown[]) => Promise<Answer>;

/** How often a statement is run that lost against another transaction. */
const MOST_TRIES = 10;

export function asker(pool: PostgresPool): Ask {
  return async (task, sql, values) => {
    try {
      return await answerOf(pool, sql, values);
    } catch (error) {
      throw storeFailure("PostgreSQL", task, error, wordsOf(error));
    }
  };
}

/**
 * Runs one statement, again if it lost against another transaction.
 *
 * @throws {TypeError} the pool only looks like one of `pg`: without a count, every write would seem to have been lost.
 */
export async function answerOf(pool: PostgresPool, sql: string, values: unknown[] = []): Promise<Answer> {
  const { rows, rowCount } = Object(await run(pool, sql, values)) as Record<string, unknown>;
  if (!Array.isArray(rows) || typeof rowCount !== "number")
    throw new TypeError("pool must be a Pool of pg; its answer has no rows, or no number in rowCount");
  return { rows, count: rowCount };
}

/** The same with statements in one text, without their answers. */
export async function run(pool: PostgresPool, sql: string, values?: unknown[]): Promise<unknown> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await pool.query(sql, values);
    } catch (error) {
      if (tries >= MOST_TRIES || !lostARace(error)) throw error;
    }
  }
}

/** Where the database's default isolation is stricter than READ COMMITTED; nothing was done. */
function lostARace(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return code === "40001" || code === "40P01";
}

/** What goes wrong outside a store and a lock. */
export function failure(pool: PostgresPool, doing: string, error: unknown): Error {
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  const reason = wordsOf(error) ?? String(message || code || "unknown error");
  const failed = new Error(`PostgreSQL could not ${doing}: ${reason}${unaddressed(pool, error)}`);
  return typeof code === "string" ? Object.assign(failed, { code }) : failed;
}

/** `pg` then tries its defaults, such as a server on this machine, and the error does not tell why. */
function unaddressed(pool: PostgresPool, error: unknown): string {
  const { code, severity } = Object(error) as Record<string, unknown>;
  const isRefused = severity === undefined || /^(28|3D)/.test(String(code));
  const { options } = pool as { options?: { connectionString?: unknown; host?: unknown } };
  if (!isRefused || !options || options.connectionString || options.host) return "";
  return "; the pool was given neither connectionString nor host: is DATABASE_URL set?";
}

/**
 * A database error may quote the row or the parameters, in its detail, its context, or its message: the server's words
 * are passed on only in classes that are about the connection, the schema or the machine (PostgreSQL manual,
 * appendix A).
 */
function wordsOf(error: unknown): string | undefined {
  const { code, severity, message } = Object(error) as Record<string, unknown>;
  const isFromServer = severity !== undefined;
  const mayQuote = isFromServer && !/^(08|25|26|28|3D|3F|40|42|53|54|55|57|58)/.test(String(code));
  if (mayQuote) return `error ${String(code)}`;
  const mend = 'call "await tokens.migrate()" when the program starts, or run your copy of schema.sql';
  return code === "42P01" ? `${message}; ${mend}` : undefined; // a table is missing
}
