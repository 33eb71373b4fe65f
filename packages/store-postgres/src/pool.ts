/** What is needed of a `Pool` of `pg`. */
export interface PostgresPool {
  /** Runs one statement on any connection. */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{
    /** What it read, by column. */
    rows: Record<string, unknown>[];
    /** How many rows it read or wrote; `null` for a statement that does neither. */
    rowCount: number | null;
  }>;
}

/** What a statement brought. */
export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  /** How many rows it read or wrote. */
  readonly count: number;
}

/**
 * Runs one statement on any connection of the pool, which has it back at once.
 *
 * @param doing completes "PostgreSQL could not ...", for the error.
 * @param secrets what the error must not show.
 */
export type Ask = (doing: string, sql: string, values?: unknown[], secrets?: string[]) => Promise<Answer>;

/** How often a statement is run that lost against another transaction. */
const MOST_TRIES = 10;

export function asker(pool: PostgresPool): Ask {
  return async (doing, sql, values, secrets = []) => {
    for (let tries = 1; ; tries += 1) {
      try {
        const { rows, rowCount } = await pool.query(sql, values);
        return { rows, count: rowCount ?? 0 };
      } catch (error) {
        if (tries < MOST_TRIES && lostARace(error)) continue;
        throw withoutRow(doing, error, secrets);
      }
    }
  };
}

/** Where the database's default isolation is stricter than READ COMMITTED; nothing was done. */
function lostARace(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return code === "40001" || code === "40P01";
}

/**
 * A database error may quote the row or the parameters, in its detail, its context, or its message: what is
 * passed on is a new error with the `code`, and with the server's words only in classes that are about the
 * connection, the schema or the machine (PostgreSQL manual, appendix A).
 */
function withoutRow(doing: string, error: unknown, secrets: readonly string[]): Error {
  const { message, code, severity } = Object(error) as {
    message?: unknown;
    code?: unknown;
    severity?: unknown;
  };
  const isFromServer = severity !== undefined;
  const mayQuote = isFromServer && !/^(08|25|26|28|3D|3F|40|42|53|54|55|57|58)/.test(String(code));
  const reason = mayQuote ? `error ${String(code)}` : String(message || code || "unknown error");
  const cleaned = secrets.reduce((text, secret) => text.replaceAll(secret || "\0", "[hidden]"), reason);
  const failure = new Error(`PostgreSQL could not ${doing}: ${cleaned}`);
  return typeof code === "string" ? Object.assign(failure, { code }) : failure;
}
