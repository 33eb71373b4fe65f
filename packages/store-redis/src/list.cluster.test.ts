import type { DomainPrefix, TokenStore } from "@retail-pos/core";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { createCluster as createCluster4 } from "redis4";
import { createCluster as createCluster5 } from "redis5";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCluster } from "../testing/cluster.js";
import { canRun } from "../testing/redis.js";
import { type RedisServer, until } from "../testing/server.js";
import { asker } from "./driver.js";
import { type RedisClient, redisTokens } from "./index.js";
import { createList } from "./list.js";
import { createKeys } from "./schema.js";

type List = NonNullable<TokenStore["list"]>;

const cluster = canRun ? await startCluster(3) : undefined;
if (!cluster && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no redis-server to start");
afterAll(() => cluster?.close());

describe.skipIf(!cluster)("a list on a cluster of three nodes", () => {
  const port = cluster?.port ?? 0;
  const options = { rootNodes: [{ url: `redis://127.0.0.1:${port}` }] };
  const ioredis = new Cluster([{ host: "127.0.0.1", port }], { lazyConnect: true });
  const [newest, five, four] = [createCluster(options), createCluster5(options), createCluster4(options)];
  const names = Array.from({ length: 2000 }, (_, index) => `shop-${String(index).padStart(5, "0")}`);
  beforeAll(async () => {
    await Promise.all([ioredis, newest, five, four].map((client) => client.connect()));
    await saveAll("retail-pos:");
  });
  afterAll(async () => {
    ioredis.disconnect();
    for (const client of [newest, five]) client.destroy();
    await four.disconnect();
  });

  const clients: [string, RedisClient][] = [
    ["ioredis", ioredis],
    ["node-redis", newest],
    ["node-redis 5", five],
    ["node-redis 4", four],
  ];
  test.each(clients)("has every retailer once, through %s", async (_, client) => {
    expect(await sizes()).not.toContain(0);
    expect(await namesIn(redisTokens({ client }).store.list as List, 300)).toEqual(names);
  });

  test.each(["", "app{1}:", "app{1:"])("has every retailer once, behind the prefix %o", async (prefix) => {
    await saveAll(prefix);
    expect(await namesIn(redisTokens({ client: ioredis, prefix }).store.list as List, 700)).toEqual(names);
  });

  test("loses and repeats nobody while slots go to another node between its pages", async () => {
    const list = createList(asker(ioredis), createKeys("retail-pos:"), { keysAStep: 200, mostSteps: 2 });
    let slot = 0;
    const seen = await namesIn(list, 100, async () => {
      // Forty slots from the first node to the second, then back again, one for each page.
      const [from, to] = Math.floor(slot / 40) % 2 === 0 ? [0, 1] : [1, 0];
      await moveSlot(slot % 40, from as 0 | 1, to as 0 | 1);
      slot += 1;
    });
    expect(slot).toBeGreaterThan(20);
    expect(seen).toEqual(names);
  });

  test("says so while a slot is being moved: nobody knows then on which node its keys are", async () => {
    const [first, second] = (cluster?.servers ?? []) as RedisServer[];
    const target = await second?.admin.cluster("MYID");
    await first?.admin.call("CLUSTER", "SETSLOT", 3000, "MIGRATING", String(target));
    const list = redisTokens({ client: ioredis }).store.list as List;
    await expect(list({ limit: 10 })).rejects.toMatchObject({
      code: "store_failed",
      operation: "list",
      message: expect.stringContaining("slots are being moved"),
    });
    await first?.admin.call("CLUSTER", "SETSLOT", 3000, "STABLE");
    expect((await list({ limit: 10 })).retailers).toHaveLength(10);
  });

  const sizes = async () => Promise.all((cluster?.servers ?? []).map(({ admin }) => admin.dbsize()));

  async function saveAll(prefix: string): Promise<void> {
    const { store } = redisTokens({ client: ioredis, prefix });
    const set = { access: { value: "access" }, refreshToken: "refresh", issuedAt: 1, version: "one" };
    await Promise.all(names.map((name) => store.save({ ...set, domainPrefix: name as DomainPrefix })));
  }

  async function moveSlot(slot: number, from: 0 | 1, to: 0 | 1): Promise<void> {
    const servers = (cluster?.servers ?? []) as RedisServer[];
    const [source, target] = [servers[from], servers[to]] as [RedisServer, RedisServer];
    const [sourceId, targetId] = [await source.admin.cluster("MYID"), await target.admin.cluster("MYID")];
    await target.admin.call("CLUSTER", "SETSLOT", slot, "IMPORTING", String(sourceId));
    await source.admin.call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(targetId));
    const keys = (await source.admin.cluster("GETKEYSINSLOT", slot, 10_000)) as string[];
    for (const key of keys) await source.admin.migrate("127.0.0.1", target.port, key, 0, 5000);
    for (const { admin } of [target, source, ...servers])
      await admin.call("CLUSTER", "SETSLOT", slot, "NODE", String(targetId));
    await until(async () => !String(await source.admin.cluster("NODES")).includes("["));
  }
});

async function namesIn(list: List, limit: number, between?: () => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ limit, ...(cursor !== undefined && { cursor }) });
    seen.push(...page.retailers.map(({ domainPrefix }) => domainPrefix));
    cursor = page.cursor;
    if (cursor !== undefined) await between?.();
  } while (cursor !== undefined);
  return seen;
}
