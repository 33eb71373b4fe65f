import { describe, expect, type TestContext, test } from "vitest";
import { startPgBouncer } from "../packages/store-postgres/testing/pgbouncer.js";
import { canRun as hasPostgres } from "../packages/store-postgres/testing/postgres.js";
import { startCluster } from "../packages/store-redis/testing/cluster.js";
import { canRun as hasRedis } from "../packages/store-redis/testing/redis.js";
import { startServer, until } from "../packages/store-redis/testing/server.js";
import { type Fleet, fleetOf, LIFETIME_MS, sumOf } from "./support/fleet.js";
import type { Way } from "./support/outage.js";

// What an operator puts between the processes and their engine, or in its place. The contracts of store and lock run
// on each of them beside the packages.

const SIZE = 100;

describe.skipIf(!hasPostgres)("a fleet on PostgreSQL behind PgBouncer in transaction mode", () => {
  test("is renewed by four processes, each retailer by one request", {
    timeout: 180_000,
  }, async (context) => {
    const bouncer = running(await startPgBouncer(), "pgbouncer", context);
    const way = wayOf({ DATABASE_URL: bouncer.url });
    await isRenewedOnce(
      await fleetOf(SIZE, { engine: "postgres", way, onTestFinished: context.onTestFinished }),
    );
  });
});

describe.skipIf(!hasRedis)("a fleet on Redis", () => {
  test("Cluster is renewed by four processes, each retailer by one request", {
    timeout: 180_000,
  }, async (context) => {
    const cluster = running(await startCluster(3), "redis-server", context);
    const way = wayOf({ REDIS_CLUSTER_PORT: String(cluster.port) });
    await isRenewedOnce(
      await fleetOf(SIZE, { engine: "redis", way, onTestFinished: context.onTestFinished }),
    );
    for (const { admin } of cluster.servers) expect(await admin.dbsize()).toBeGreaterThan(SIZE / 10);
  });

  test("with a replica is renewed, and after a failover the replica has every token", {
    timeout: 180_000,
  }, async (context) => {
    const [primary, replica] = [
      running(await startServer(), "redis-server", context),
      running(await startServer(), "redis-server", context),
    ];
    await replica.admin.replicaof("127.0.0.1", primary.port);
    await until(async () => (await primary.admin.info("replication")).includes("state=online"));
    const way = wayOf({ REDIS_URL: primary.url, REDIS_REPLICAS: "1" });
    const app = await fleetOf(SIZE, { engine: "redis", way, onTestFinished: context.onTestFinished });
    await isRenewedOnce(app);

    await primary.close();
    await replica.admin.replicaof("NO", "ONE");
    const kept = await replica.admin.keys("*:tokens");
    const tokens = await Promise.all(
      kept.map((key) => replica.admin.hmget(key, "domainPrefix", "refreshToken")),
    );
    const good = tokens.filter(([name, token]) => app.sandbox.accepts(name ?? "", token ?? ""));
    expect(good).toHaveLength(SIZE);
  });
});

async function isRenewedOnce(app: Fleet): Promise<void> {
  for (let expiry = 1; expiry <= 2; expiry += 1) {
    await app.letPass(LIFETIME_MS);
    const reports = await app.renewDue();
    expect([sumOf(reports, "renewed"), sumOf(reports, "failed")]).toEqual([SIZE, 0]);
    expect(app.refreshes()).toEqual(new Map(app.names.map((name) => [name, Array(expiry).fill(200)])));
    for (const report of await app.renewDue()) expect(report).toMatchObject({ seen: SIZE, due: 0 });
  }
}

/** Ends with its test. If it is not installed the test is skipped; in CI nothing may be. */
function running<T extends { close(): Promise<void> }>(
  started: T | undefined,
  program: string,
  { skip, onTestFinished }: TestContext,
): T {
  if (started === undefined && process.env["NO_SKIP"])
    throw new Error(`With NO_SKIP=1 nothing may be skipped: no ${program}`);
  if (started === undefined) return skip(`no ${program} to start`);
  onTestFinished(() => started.close());
  return started;
}

/** It stays open. */
function wayOf(env: Record<string, string>): Way {
  return { env, shut: () => {}, open: () => {}, close: async () => {} };
}
