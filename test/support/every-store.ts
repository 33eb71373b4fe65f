import { randomUUID } from "node:crypto";
import { type Lock, memoryStore, type TokenStore } from "@retail-pos/core";
import { postgresTokens } from "@retail-pos/store-postgres";
import { redisTokens } from "@retail-pos/store-redis";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import { Redis } from "ioredis";
import Database from "libsql";
import pg from "pg";
import { onTestFinished } from "vitest";
import { url as databaseUrl, canRun as hasPostgres } from "../../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis, url as redisUrl } from "../../packages/store-redis/testing/redis.js";
import { forget } from "./processes.js";

interface Tokens {
  readonly store: TokenStore;
  readonly lock?: Lock;
}

const made: Record<string, () => Promise<Tokens>> = {
  memory: async () => ({ store: memoryStore() }),
  sqlite: async () => sqliteTokens({ database: new Database(":memory:") }),
  ...(hasRedis && {
    redis: async () => {
      const client = new Redis(redisUrl);
      const namespace = `every-store-${randomUUID()}`;
      onTestFinished(async () => {
        client.disconnect();
        await forget("redis", namespace);
      });
      return redisTokens({ client, prefix: `${namespace}:` });
    },
  }),
  ...(hasPostgres && {
    postgres: async () => {
      const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
      const table = `every_store_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
      const tokens = postgresTokens({ pool, table });
      await tokens.migrate();
      onTestFinished(async () => {
        await pool.query(`DROP TABLE ${table}, ${table}_lock`);
        await pool.end();
      });
      return tokens;
    },
  }),
};

/** The stores that this machine can run. */
export const engines: readonly string[] = Object.keys(made);

/** An empty store of an engine, with its lock; it is gone when the test is over. */
export async function newTokens(engine: string): Promise<Tokens> {
  return (made[engine] as () => Promise<Tokens>)();
}
