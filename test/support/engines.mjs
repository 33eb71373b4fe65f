// What several processes share, by the name of the engine; each call opens a connection of its own.
import { tmpdir } from "node:os";
import { join } from "node:path";

const { REDIS_URL, DATABASE_URL } = process.env;

/** The file of a namespace. */
export const sqliteFile = (namespace) => join(tmpdir(), `${namespace}.sqlite`);

export const engines = {
  async redis(namespace) {
    const [{ Redis }, { redisTokens }] = [await import("ioredis"), await import("@retail-pos/store-redis")];
    const client = new Redis(REDIS_URL);
    return { tokens: redisTokens({ client, prefix: `${namespace}:` }), close: () => client.quit() };
  },
  async postgres(namespace) {
    const [{ default: pg }, { postgresTokens }] = [
      await import("pg"),
      await import("@retail-pos/store-postgres"),
    ];
    const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2 });
    const { migrate, ...tokens } = postgresTokens({ pool, table: namespace });
    await migrate();
    return { tokens, close: () => pool.end() };
  },
  async sqlite(namespace) {
    const [{ default: Database }, { sqliteTokens }] = [
      await import("libsql"),
      await import("@retail-pos/store-sqlite"),
    ];
    const database = new Database(sqliteFile(namespace));
    return { tokens: sqliteTokens({ database }), close: () => database.close() };
  },
};
