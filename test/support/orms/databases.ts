import { randomBytes } from "node:crypto";
import { postgresTokens } from "@retail-pos/store-postgres";
import pg from "pg";
import { connect, tearDown, url } from "../../../packages/store-postgres/testing/postgres.js";

const made: string[] = [];

/** A database of a test's own: an ORM looks at everything in the schema. `dropDatabases` drops it. */
export async function newDatabase(template = "template1"): Promise<string> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  await connect({ max: 1 }).query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  made.push(name);
  return Object.assign(new URL(url), { pathname: `/${name}` }).href;
}

export async function dropDatabases(): Promise<void> {
  const pool = connect({ max: 1 });
  for (const name of made.splice(0)) await pool.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await tearDown();
}

/** The same tables and rows in another database. */
export function copyOf(database: string): Promise<string> {
  return newDatabase(new URL(database).pathname.slice(1));
}

/** Runs our `migrate()`. */
export async function migrate(database: string): Promise<void> {
  await on(database, (pool) => postgresTokens({ pool }).migrate());
}

/** Rejects if our `migrate()` finds something to do. */
export async function expectMigrated(database: string): Promise<void> {
  await on(`${database}?options=-c%20default_transaction_read_only=on`, (pool) =>
    postgresTokens({ pool }).migrate(),
  );
}

export async function lockTable(database: string): Promise<"unlogged" | "logged" | "missing"> {
  const question = "SELECT relpersistence FROM pg_class WHERE relname = 'retail_pos_tokens_lock'";
  const { rows } = await on(database, (pool) => pool.query(question));
  if (rows.length === 0) return "missing";
  return rows[0].relpersistence === "u" ? "unlogged" : "logged";
}

async function on<T>(connectionString: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
