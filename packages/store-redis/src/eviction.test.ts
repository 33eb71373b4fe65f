import type { DomainPrefix } from "@retail-pos/core";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { createCluster as createCluster4 } from "redis4";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startCluster } from "../testing/cluster.js";
import { canRun, connectIoRedis, kinds } from "../testing/redis.js";
import { startServer } from "../testing/server.js";
import { type RedisClient, redisTokens } from "./index.js";

const shop = "harbour-coffee" as DomainPrefix;
const server = canRun ? await startServer() : undefined;
const cluster = canRun ? await startCluster() : undefined;
if (!(server && cluster) && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no redis-server to start");
afterAll(() => Promise.all([server?.close(), cluster?.close()]));

const warnings: Error[] = [];
const note = (warning: Error) => warnings.push(warning);
beforeEach(() => void process.on("warning", note));
afterEach(() => {
  process.off("warning", note);
  warnings.length = 0;
});

/** Asks a store twice, and a lock. Node tells warnings in a later turn. */
async function use(client: RedisClient): Promise<void> {
  const { store, lock } = redisTokens({ client });
  await Promise.all([store.load(shop), store.load(shop)]);
  await lock(`id/${shop}`, async () => {});
  await new Promise((resolve) => setImmediate(resolve));
}

describe.skipIf(!server)("a server whose maxmemory-policy", () => {
  const setPolicy = (policy: string) => server?.admin.config("SET", "maxmemory-policy", policy);
  const tokens = "stored tokens, locks and claims";

  test.each([
    ["allkeys-lru", tokens],
    ["allkeys-random", tokens],
    ["volatile-lru", "locks and claims"],
    ["volatile-ttl", "locks and claims"],
  ])("is %s is warned of once", async (policy, taken) => {
    await setPolicy(policy);
    const { client, close } = await connectIoRedis(server?.url);
    await use(client);
    close();
    expect(warnings).toMatchObject([
      {
        code: "RETAIL_POS_REDIS_EVICTS",
        message: `Redis has the maxmemory-policy ${policy}: when its memory is full it removes ${taken}. Set it to noeviction`,
      },
    ]);
  });

  test.each(kinds)("evicts is warned of through %s", async (_kind, connect) => {
    await setPolicy("allkeys-lfu");
    const { client, close } = await connect(server?.url);
    await use(client);
    await close();
    expect(warnings).toMatchObject([{ message: expect.stringContaining("allkeys-lfu") }]);
  });

  test("is noeviction is not", async () => {
    await setPolicy("noeviction");
    const { client, close } = await connectIoRedis(server?.url);
    await use(client);
    close();
    expect(warnings).toEqual([]);
  });

  test("evicts is warned of if CONFIG is forbidden; if INFO is too, it is not, and all works", async () => {
    await setPolicy("allkeys-lru");
    for (const [user, denied, count] of [
      ["no-config", "-config", 1],
      ["no-info", "-info", 0],
    ] as const) {
      await server?.admin.acl("SETUSER", user, "on", "nopass", "~*", "&*", "+@all", denied);
      const { client, close } = await connectIoRedis(server?.url.replace("//", `//${user}:any@`));
      warnings.length = 0;
      await use(client);
      expect(warnings).toHaveLength(count);
      close();
    }
  });

  test("evicts is warned of though the first question was not answered", async () => {
    await setPolicy("allkeys-lru");
    const { client, close } = await connectIoRedis(server?.url);
    let isAway = true;
    const failing = {
      eval: async (...args: [string, number, ...string[]]) =>
        isAway ? Promise.reject(new Error("away")) : client.eval(...args),
      evalsha: true,
    } as RedisClient;
    const { store } = redisTokens({ client: failing });
    await expect(store.load(shop)).rejects.toThrow("away");
    isAway = false;
    await store.load(shop);
    close();
    await expect.poll(() => warnings).toHaveLength(1);
  });

  test("holds nothing up but the operation whose question after the policy gets no answer", async () => {
    const { client, close } = await connectIoRedis(server?.url);
    let hasAsked = false;
    const silent = {
      eval: (script: string, ...args: [number, ...string[]]) => {
        if (!script.includes("INFO")) return client.eval(script, ...args);
        hasAsked = true;
        return new Promise(() => {}); // of a request that the runtime ended
      },
      evalsha: true,
    } as unknown as RedisClient;
    const { store, lock } = redisTokens({ client: silent });
    void store.load(shop);
    await vi.waitUntil(() => hasAsked);
    expect(await store.load(shop)).toBeUndefined();
    expect(await lock(`id/${shop}`, async () => "held")).toBe("held");
    close();
  });
});

describe.skipIf(!cluster)("a cluster that evicts is warned of", () => {
  const rootNodes = [{ url: `redis://127.0.0.1:${cluster?.port}` }];
  const clusters: [string, () => Promise<{ client: RedisClient; close: () => unknown }>][] = [
    [
      "ioredis",
      async () => {
        const client = new Cluster([{ host: "127.0.0.1", port: cluster?.port }]);
        return { client, close: () => client.disconnect() };
      },
    ],
    [
      "node-redis",
      async () => {
        const client = await createCluster({ rootNodes }).connect();
        return { client, close: () => client.destroy() };
      },
    ],
    [
      "node-redis 4",
      async () => {
        const client = createCluster4({ rootNodes });
        await client.connect();
        return { client, close: () => client.disconnect() };
      },
    ],
  ];
  test.each(clusters)("through %s", async (_name, connect) => {
    await cluster?.servers[0]?.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const { client, close } = await connect();
    await use(client);
    await close();
    expect(warnings).toMatchObject([{ message: expect.stringContaining("allkeys-lru") }]);
  });
});
