import type { DomainPrefix } from "@retail-pos/core";
import { lockContract, storeContract } from "@retail-pos/store-contracts";
import { Cluster } from "ioredis";
import Redis5 from "ioredis5";
import { createCluster } from "redis";
import { createCluster as createCluster4 } from "redis4";
import { createCluster as createCluster5 } from "redis5";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCluster } from "../testing/cluster.js";
import { canRun } from "../testing/redis.js";
import { type RedisClient, redisTokens } from "./index.js";

const cluster = canRun ? await startCluster() : undefined;
if (!cluster && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no redis-server to start");
afterAll(() => cluster?.close());

describe.skipIf(!cluster)("on Redis Cluster", () => {
  const port = cluster?.port ?? 0;
  const nodes = [{ host: "127.0.0.1", port }];
  const options = { rootNodes: [{ url: `redis://127.0.0.1:${port}` }], useReplicas: true };
  const ioredis = new Cluster(nodes, { lazyConnect: true, scaleReads: "slave" });
  const ioredis5 = new Redis5.Cluster(nodes, { lazyConnect: true, scaleReads: "slave" });
  const nodeRedis = createCluster(options);
  const nodeRedis5 = createCluster5(options);
  const nodeRedis4 = createCluster4(options);
  beforeAll(() =>
    Promise.all([ioredis, ioredis5, nodeRedis, nodeRedis5, nodeRedis4].map((client) => client.connect())),
  );
  afterAll(async () => {
    for (const client of [ioredis, ioredis5]) client.disconnect();
    for (const client of [nodeRedis, nodeRedis5]) client.destroy();
    await nodeRedis4.disconnect();
  });

  const clients: [string, RedisClient][] = [
    ["ioredis", ioredis],
    ["ioredis 5", ioredis5],
    ["node-redis", nodeRedis],
    ["node-redis 5", nodeRedis5],
    ["node-redis 4", nodeRedis4],
  ];
  describe.each(clients)("with %s", (_name, client) => {
    storeContract(test, () => redisTokens({ client }).store, { shared: true });
    lockContract(test, () => redisTokens({ client }).lock, { shared: true });
  });

  test.each(["retail-pos:", "", "app{1}:", "app{1:"])(
    "all keys of one retailer are in one slot, with the prefix %o",
    async (prefix) => {
      const { store, lock } = redisTokens({ client: ioredis, prefix });
      await ioredis.nodes("master")[0]?.flushall();
      const retailer = "harbour-coffee" as DomainPrefix;
      await store.save({
        domainPrefix: retailer,
        access: { value: "access" },
        refreshToken: "refresh",
        issuedAt: 1,
        version: "one",
      });
      await lock(`client-1/${retailer}`, () =>
        lock(`client-2/${retailer}`, async () => {
          const keys = await ioredis.nodes("master")[0]?.keys("*");
          expect(keys?.sort()).toEqual([
            `${prefix}{harbour-coffee}:lock:client-1/harbour-coffee`,
            `${prefix}{harbour-coffee}:lock:client-2/harbour-coffee`,
            `${prefix}{harbour-coffee}:tokens`,
          ]);
          const slots = await Promise.all((keys ?? []).map((key) => ioredis.cluster("KEYSLOT", key)));
          expect(new Set(slots).size).toBe(1);
        }),
      );
      await store.remove(retailer);
    },
  );
});
