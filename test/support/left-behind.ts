import { Redis } from "ioredis";
import pg from "pg";
import { canRun as hasPostgres, url } from "../../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis, url as redisUrl } from "../../packages/store-redis/testing/redis.js";

/** What is in the services' databases: tables and schemas of PostgreSQL, keys of Redis that never expire. */
export async function contents(): Promise<Set<string>> {
  return new Set([...(hasPostgres ? await tables() : []), ...(hasRedis ? await keys() : [])]);
}

async function tables(): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT 'the table ' || schemaname || '.' || tablename AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
     UNION SELECT 'the schema ' || nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'`,
  );
  await client.end();
  return rows.map(({ name }) => name);
}

async function keys(): Promise<string[]> {
  const client = new Redis(redisUrl);
  const found = new Set<string>();
  for await (const batch of client.scanStream({ count: 1000 })) for (const key of batch) found.add(key);
  const lasting = [];
  for (const key of found) if ((await client.ttl(key)) === -1) lasting.push(`the key ${key}`);
  client.disconnect();
  return lasting;
}
