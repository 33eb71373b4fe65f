import type { DomainPrefix } from "@retail-pos/core";
import { lockContract, storeContract } from "@retail-pos/sandbox/contracts";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCluster } from "../testing/cluster.js";
import { canRun } from "../testing/redis.js";
import { type RedisClient, redisTokens } from "./index.js";

const cluster = canRun ? await startCluster() : undefined;
if (!cluster && process.env["CI"])
  throw new Error("With CI set nothing may be skipped: no redis-server to start");
afterAll(() => cluster?.close());

describe.skipIf(!cluster)("on Redis Cluster", () => {
  const port = cluster?.port ?? 0;
  const ioredis = new Cluster([{ host: "127.0.0.1", port }], { lazyConnect: true, scaleReads: "slave" });
  const nodeRedis = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }], useReplicas: true });
  beforeAll(() => Promise.all([ioredis.connect(), nodeRedis.connect()]));
  afterAll(() => {
    ioredis.disconnect();
    nodeRedis.destroy();
  });

  const clients: [string, RedisClient][] = [
    ["ioredis", ioredis],
    ["node-redis", nodeRedis],
  ];
  describe.each(clients)("with %s", (_name, client) => {
    storeContract(test, () => redisTokens({ client }).store, { shared: true });
    lockContract(test, () => redisTokens({ client }).lock, { shared: true });
  });

  test.each(["retail-pos:", "", "app{1}:", "app{1:"])(
    "all keys of one retailer are in one slot, with the prefix %o",
    async (prefix) => {
      const { store, lock } = redisTokens({ client: ioredis, prefix });
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
