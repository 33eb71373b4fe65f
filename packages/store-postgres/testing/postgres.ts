import { randomBytes } from "node:crypto";
import pg from "pg";
import pg803 from "pg803";

/** The database that tests use: `DATABASE_URL`, else `test` on this machine. */
export const url: string = process.env["DATABASE_URL"] ?? "postgresql://root@127.0.0.1:5432/test";

/** Without a PostgreSQL these tests are skipped; with `NO_SKIP=1` they fail instead. */
export const canRun: boolean = await answers();
if (!canRun && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no PostgreSQL answers at DATABASE_URL");

/** A schema of this run's own: whatever a test makes is in it, and goes with it. */
export const schema: string = `test_${randomBytes(8).toString("hex")}`;

const pools: pg.Pool[] = [];

/** The other driver that a user may bring: the oldest that package.json allows. */
export const oldest: typeof pg = pg803;

/** A pool that `tearDown` ends. */
export function connect(config: pg.PoolConfig = {}, driver: typeof pg = pg): pg.Pool {
  const pool = new driver.Pool({ connectionString: url, ...config });
  pool.on("error", () => {});
  pools.push(pool);
  return pool;
}

export async function setUp(): Promise<void> {
  await connect({ max: 1 }).query(`CREATE SCHEMA ${schema}`);
}

export async function tearDown(): Promise<void> {
  const ended = pools.splice(0);
  await ended[0]?.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await Promise.all(ended.map((pool) => pool.end()));
}

async function answers(): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 20_000 });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
