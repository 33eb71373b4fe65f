// What several processes share, by the name of the engine; each call opens a connection of its own.
import { tmpdir } from "node:os";
import { join } from "node:path";

const { REDIS_URL, REDIS_CLUSTER_PORT, REDIS_REPLICAS, DATABASE_URL, BUSY_TIMEOUT_MS } = process.env;

/** The file of a namespace. */
export const sqliteFile = (namespace) => join(tmpdir(), `${namespace}.sqlite`);

export const engines = {
  async redis(namespace) {
    const [{ Cluster, Redis }, { redisTokens }] = [
      await import("ioredis"),
      await import("@retail-pos/store-redis"),
    ];
    // Without these a command waits ten seconds for a server that is away.
    const patience = { maxRetriesPerRequest: 2, retryStrategy: () => 100 };
    const client = REDIS_CLUSTER_PORT
      ? new Cluster([{ host: "127.0.0.1", port: Number(REDIS_CLUSTER_PORT) }])
      : new Redis(REDIS_URL, patience);
    client.on("error", () => {});
    const replicas = REDIS_REPLICAS ? { replicas: Number(REDIS_REPLICAS) } : {};
    return redisTokens({ client, prefix: `${namespace}:`, ...replicas });
  },
  async postgres(namespace) {
    const [{ default: pg }, { postgresTokens }] = [
      await import("pg"),
      await import("@retail-pos/store-postgres"),
    ];
    const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 1 });
    pool.on("error", () => {});
    const tokens = postgresTokens({ pool, table: namespace });
    await tokens.migrate();
    return tokens;
  },
  async sqlite(namespace) {
    const [{ default: Database }, { sqliteTokens }] = [
      await import("libsql"),
      await import("@retail-pos/store-sqlite"),
    ];
    const database = new Database(sqliteFile(namespace));
    const tokens = sqliteTokens({ database });
    if (BUSY_TIMEOUT_MS) database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return tokens;
  },
};
