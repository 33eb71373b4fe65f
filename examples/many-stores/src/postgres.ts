import { postgresTokens } from "@retail-pos/store-postgres";
import connectPgSimple from "connect-pg-simple";
import session from "express-session";
import pg from "pg";
import type { Database } from "./database.js";
import type { Sql, Statement } from "./sql.js";
import { TABLES } from "./tables.js";

const PgSessions = connectPgSimple(session);

/** The table that connect-pg-simple reads and writes. It can make its own, but not when two processes start at once. */
const SESSIONS = [
  "CREATE TABLE IF NOT EXISTS sessions (sid varchar PRIMARY KEY, sess json NOT NULL, expire timestamp(6) NOT NULL)",
  "CREATE INDEX IF NOT EXISTS sessions_expire ON sessions (expire)",
];

/** Opens the database that the address names: it, or the schema of the address's `search_path`, is ours alone. */
export async function openPostgres(connectionString: string): Promise<Database> {
  const pool = new pg.Pool({
    connectionString,
    max: 10,
    connectionTimeoutMillis: 5000,
    query_timeout: 10_000,
    allowExitOnIdle: true, // a process that was told to stop ends by itself
  });
  pool.on("error", (error) => console.error(`PostgreSQL: ${error.message}`));
  const { migrate, ...tokens } = postgresTokens({ pool });
  const sql = sqlOn(pool);
  try {
    await migrate();
    // The lock is for processes that start side by side.
    const lock = "SELECT pg_advisory_xact_lock(hashtext('many-stores'))";
    await sql.together([lock, ...TABLES, ...SESSIONS].map((statement) => [statement] as const));
  } catch (error) {
    await pool.end();
    throw error;
  }
  const sessionStore = new PgSessions({ pool, tableName: "sessions" });
  return {
    tokens,
    sessionStore,
    sql,
    async close() {
      await sessionStore.close();
      await pool.end();
    },
  };
}

function sqlOn(pool: pg.Pool): Sql {
  return {
    query: async (...statement) => (await run(pool, statement)).rows,
    async together(statements) {
      const client = await pool.connect();
      let failure: Error | undefined;
      try {
        await client.query("BEGIN");
        for (const statement of statements) await run(client, statement);
        await client.query("COMMIT");
      } catch (error) {
        failure = error as Error;
        throw error;
      } finally {
        client.release(failure); // one that failed is closed, which rolls back
      }
    },
  };
}

function run(on: pg.Pool | pg.PoolClient, [sql, ...values]: Statement): Promise<pg.QueryResult> {
  let position = 0;
  return on.query(
    sql.replaceAll("?", () => `$${++position}`),
    values,
  );
}
