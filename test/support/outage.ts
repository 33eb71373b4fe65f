import Database from "libsql";
import { url as databaseUrl } from "../../packages/store-postgres/testing/postgres.js";
import { url as redisUrl } from "../../packages/store-redis/testing/redis.js";
import { cutProxy } from "./cut-proxy.mjs";
import { sqliteFile } from "./engines.mjs";

/** The way that processes have to their engine; the engine itself stays up. */
export interface Way {
  /** Tells a process to take it. */
  readonly env: Record<string, string>;
  /** From now on no process can use the engine. */
  shut(): void;
  open(): void;
  close(): Promise<void>;
}

/** @param namespace names the file of SQLite. */
export async function wayTo(engine: string, namespace: string): Promise<Way> {
  if (engine === "redis") return throughProxy("REDIS_URL", redisUrl, 6379);
  if (engine === "postgres") return throughProxy("DATABASE_URL", databaseUrl, 5432);
  return lockableFile(sqliteFile(namespace));
}

async function throughProxy(variable: string, address: string, defaultPort: number): Promise<Way> {
  const { url, ...way } = await cutProxy(address, defaultPort);
  return { env: { [variable]: url }, ...way };
}

/** Shut, a transaction of this process keeps all others from writing; in WAL mode they can still read. */
function lockableFile(path: string): Way {
  let ours: Database.Database | undefined;
  return {
    // A second, five times for each try, is long; this is enough for a few processes.
    env: { BUSY_TIMEOUT_MS: "400" },
    shut() {
      ours = new Database(path);
      ours.exec("PRAGMA busy_timeout = 5000");
      ours.exec("BEGIN EXCLUSIVE");
    },
    open() {
      ours?.exec("ROLLBACK");
    },
    async close() {
      ours?.close();
    },
  };
}
