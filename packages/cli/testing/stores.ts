import { randomUUID } from "node:crypto";
import type { TokenStore } from "@retail-pos/core";
import { postgresTokens } from "@retail-pos/store-postgres";
import { redisTokens } from "@retail-pos/store-redis";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";
import pg from "pg";
import { onTestFinished } from "vitest";
import { sqliteFile } from "../../../test/support/engines.mjs";
import { forget } from "../../../test/support/processes.js";
import { url as databaseUrl, canRun as hasPostgres } from "../../store-postgres/testing/postgres.js";
import { connectIoRedis, canRun as hasRedis, url as redisUrl } from "../../store-redis/testing/redis.js";

/** The engines that this machine has. */
export const engines: readonly string[] = [
  "sqlite",
  ...(hasRedis ? ["redis"] : []),
  ...(hasPostgres ? ["postgres"] : []),
];

/** How another process reaches the same. */
export const addresses = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };

/** A place of its own in an engine, emptied when the test is over. */
export function newNamespace(engine: string): string {
  const namespace = `retail_pos_cli_${randomUUID().replaceAll("-", "")}`;
  onTestFinished(() => forget(engine, namespace));
  return namespace;
}

/** The store of a namespace, as `retail-pos.mjs` opens it in another process; closed when the test is over. */
export async function openStore(engine: string, namespace: string): Promise<TokenStore> {
  if (engine === "sqlite") {
    const database = new Database(sqliteFile(namespace));
    onTestFinished(() => void database.close());
    return sqliteTokens({ database }).store;
  }
  if (engine === "redis") {
    const { client, close } = await connectIoRedis();
    onTestFinished(() => void close());
    return redisTokens({ client, prefix: `${namespace}:` }).store;
  }
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  onTestFinished(() => pool.end());
  const { store, migrate } = postgresTokens({ pool, table: namespace });
  await migrate();
  return store;
}
