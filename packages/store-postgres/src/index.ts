import type { Lock, TokenStore } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import { asker, type PostgresPool } from "./driver.js";
import { createLock } from "./lock.js";
import { migrate, tablesAt } from "./schema.js";
import { createStore } from "./store.js";

export type { PostgresPool };

/** Which database, and which tables of it. */
export interface PostgresTokensOptions {
  /** A `Pool` of `pg`; two connections are enough. You end it. */
  pool: PostgresPool;
  /**
   * Name of the tokens' table, `schema.name` or a name on the search path; the lock's is that name with `_lock`.
   * Default `retail_pos_tokens`. Letter case counts. Two applications in one database need two tables.
   */
  table?: string | undefined;
}

/** The `store` and `lock` for `retailPos`, and `migrate`, which makes the tables. */
export interface PostgresTokens {
  /** One row per retailer; claims are rows beside the lock's. */
  readonly store: TokenStore;
  /** A lease in a row, on the database's clock. */
  readonly lock: Lock;
  /**
   * Creates the two tables and their index if they are missing; safe to call at every start, from many processes at
   * once. The schema has to exist. Rejects with an `Error` if it cannot.
   */
  readonly migrate: () => Promise<void>;
}

const NAMES = ["pool", "table"] satisfies (keyof PostgresTokensOptions)[];

/**
 * Keeps tokens in PostgreSQL, and lets one process at a time renew a retailer's. No connection is held
 * between statements.
 *
 * The store rejects with `StoreFailedError` if PostgreSQL cannot be used (the SQLSTATE or the network's `code` is that
 * of `cause`). The lock rejects with it if it cannot be taken because PostgreSQL cannot be used; else it settles as the
 * work does.
 *
 * @throws {TypeError} naming the option.
 */
export function postgresTokens(options: PostgresTokensOptions): PostgresTokens {
  refuseMisspelt(options, NAMES, { client: "pool", tablename: "table" });
  const { pool, table = "retail_pos_tokens" } = options;
  if (typeof pool?.query !== "function") throw new TypeError("pool must be a Pool of pg");
  const tables = tablesAt(table);
  const ask = asker(pool);
  return {
    store: createStore(ask, tables),
    lock: createLock(ask, tables),
    migrate: () => migrate(pool, tables),
  };
}
