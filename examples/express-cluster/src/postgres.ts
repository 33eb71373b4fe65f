import { postgresTokens } from "@retail-pos/store-postgres";
import connectPgSimple from "connect-pg-simple";
import session from "express-session";
import pg from "pg";
import type { Engine } from "./engine.js";
import type { Settings } from "./settings.js";

const PgSessions = connectPgSimple(session);

export const postgres: Engine = {
  async prepare(settings) {
    const pool = connect(settings);
    try {
      await tokensIn(pool, settings).migrate();
      await pool.query(sessionsSql(settings));
    } finally {
      await pool.end();
    }
  },

  async open(settings) {
    const pool = connect(settings);
    const { store, lock } = tokensIn(pool, settings);
    const sessions = new PgSessions({ pool, tableName: sessionsTable(settings) });
    return {
      tokens: { store, lock },
      sessions,
      close: () => void sessions.close(),
    };
  },
};

function connect({ engineUrl }: Settings): pg.Pool {
  const pool = new pg.Pool({
    connectionString: engineUrl,
    max: 5, // of each worker; the server's own limit is for all of them together
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
    allowExitOnIdle: true, // not end(): when the server has closed, a renewal under way still has to be saved
  });
  pool.on("error", (error) => console.error(`PostgreSQL: ${error.message}`));
  return pool;
}

const tokensIn = (pool: pg.Pool, { namespace }: Settings) =>
  postgresTokens({ pool, table: `${namespace}_tokens` });

const sessionsTable = ({ namespace }: Settings) => `${namespace}_sessions`;

/**
 * The table connect-pg-simple reads and writes. It can make its own, but not when two processes start at
 * once, nor beside another one in the same schema. The lock is for machines that start side by side.
 */
function sessionsSql(settings: Settings): string {
  const table = sessionsTable(settings);
  return `
    SELECT pg_advisory_xact_lock(hashtext('${table}'));
    CREATE TABLE IF NOT EXISTS "${table}" (
      sid    varchar PRIMARY KEY,
      sess   json NOT NULL,
      expire timestamp(6) NOT NULL
    );
    CREATE INDEX IF NOT EXISTS "${table}_expire" ON "${table}" (expire);`;
}
