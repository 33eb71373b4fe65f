import { inspect } from "node:util";
import { type DomainPrefix, retailPos, type TokenSet, type TokenStore } from "@retail-pos/core";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Connection, canRun, connectIoRedis, kinds, prefix, sweep, url } from "../testing/redis.js";
import { type RedisServer, startServer } from "../testing/server.js";
import { asker } from "./driver.js";
import { type RedisClient, redisTokens } from "./index.js";
import { createList } from "./list.js";
import { createKeys } from "./schema.js";

type List = NonNullable<TokenStore["list"]>;

describe.skipIf(!canRun)("a list on Redis", () => {
  let admin: Awaited<ReturnType<typeof connectIoRedis>>;
  beforeAll(async () => {
    admin = await connectIoRedis();
  });
  afterAll(async () => {
    admin.close();
    await sweep();
  });
  const keysOf = async (own: string) =>
    (await admin.client.keys(`${own}*`)).filter((key) => !key.endsWith(":tokens"));

  describe.each(kinds)("through %s", (_kind, connect) => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connect();
    });
    afterAll(() => connection.close());

    test("has ten thousand retailers once each, though most of them go meanwhile, and leaves nothing behind", async () => {
      const own = `${prefix}many:`;
      const names = namesTo(10_000);
      await saveAll(admin.client, own, names);
      const [staying, going] = [names.slice(0, 1000), names.slice(1000)];
      const { store } = redisTokens({ ...connection, prefix: own });
      const seen = await namesIn(store.list as List, 700, async () => {
        // Redis makes its table of keys smaller, which has SCAN show some of them twice.
        for (const name of going.splice(0, 800)) await admin.client.unlink(`${own}{${name}}:tokens`);
      });
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((name) => staying.includes(name)).sort()).toEqual(staying);
      expect(await keysOf(own)).toEqual([]);
      for (const name of staying) await admin.client.unlink(`${own}{${name}}:tokens`);
    });
  });

  test("brings no token into the process", async () => {
    const own = `${prefix}canary:`;
    const replies: unknown[] = [];
    const { store } = redisTokens({ client: heard(admin.client, replies), prefix: own });
    await store.save(set("harbour-coffee"));
    replies.length = 0;
    const { retailers } = await (store.list as List)({ limit: 10 });
    expect(retailers).toEqual([{ domainPrefix: "harbour-coffee", issuedAt: 1, expiresAt: 2 }]);
    expect(inspect(replies, { depth: 9 })).toContain("harbour-coffee");
    expect(inspect(replies, { depth: 9 })).not.toContain("canary-token");
  });

  test("goes on where its names are gone: each is listed once", async () => {
    const own = `${prefix}gone:`;
    const names = namesTo(100);
    await saveAll(admin.client, own, names);
    const { store } = redisTokens({ client: admin.client, prefix: own });
    const seen = await namesIn(store.list as List, 7, async () => {
      const left = await keysOf(own);
      if (left.length > 0) await admin.client.unlink(...left);
    });
    expect(seen).toEqual(names);
  });

  test("keeps its names for ten minutes at most when nobody comes back", async () => {
    const own = `${prefix}idle:`;
    await saveAll(admin.client, own, namesTo(20));
    await (redisTokens({ client: admin.client, prefix: own }).store.list as List)({ limit: 5 });
    const [key = ""] = await keysOf(own);
    const lifeMs = await admin.client.pttl(key);
    expect(lifeMs > 0 && lifeMs <= 600_000).toBe(true);
  });

  test("among many other keys has empty pages rather than slow ones", async () => {
    const own = `${prefix}among:`;
    const fill = admin.client.pipeline();
    for (let each = 0; each < 3000; each += 1) fill.set(`${own}session:${each}`, "x", "EX", 60);
    await fill.exec();
    await saveAll(admin.client, own, namesTo(20));
    const list = createList(asker(admin.client), createKeys(own), { keysAStep: 100, mostSteps: 3 });
    const lengths: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({ limit: 10, ...(cursor !== undefined && { cursor }) });
      lengths.push(page.retailers.length);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(lengths.slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
    expect(lengths.filter(Boolean)).toEqual([10, 10]);
    await admin.client.unlink(...(await keysOf(own)));
  });

  test.each<[string, { keyPrefix?: string }, string]>([
    ["of a client's own", { keyPrefix: "theirs:" }, "ours:"],
    ["with the characters of patterns", {}, "a*[b]?\\c^-:"],
    ["in another alphabet", {}, "店:{é"],
    ["with a hash tag", {}, "app{1}:"],
    ["with half a hash tag", {}, "app{1:"],
    ["that is empty", { keyPrefix: "only theirs:" }, ""],
  ])("knows its own keys behind a prefix %s", async (_, options, own) => {
    const client = new Redis(url, { ...options, keyPrefix: `${prefix}${options.keyPrefix ?? ""}` });
    const { store } = redisTokens({ client, prefix: own });
    const longer = redisTokens({ client, prefix: `${own}b` }).store;
    for (const each of [store, longer]) await each.save(set("harbour-coffee"));
    await longer.save(set("another"));
    expect(await namesIn(store.list as List, 1)).toEqual(["harbour-coffee"]);
    for (const each of [store, longer]) await each.remove("harbour-coffee" as DomainPrefix);
    await longer.remove("another" as DomainPrefix);
    client.disconnect();
  });

  test("leaves out what somebody edited into something else, and tells of it", async () => {
    const own = `${prefix}edited:`;
    await saveAll(admin.client, own, ["fine", "text", "foreign", "late", "odd"]);
    await admin.client.set(`${own}{text}:tokens`, "canary");
    await admin.client.hset(`${own}{foreign}:tokens`, "domainPrefix", "fine");
    await admin.client.hset(`${own}{late}:tokens`, "issuedAt", "yesterday");
    await admin.client.hset(`${own}{odd}:tokens`, "expiresAt", "Infinity");
    const { listed, told } = await listedAndTold(redisTokens({ client: admin.client, prefix: own }).store);
    expect(listed).toEqual(["fine"]);
    const names = ["foreign", "late", "odd", "text"];
    expect(told).toEqual(names.map((name) => ["store_failed", "list", name]));
  });
});

const hasServer = canRun && (await startServer().then((server) => server?.close().then(() => true)));
describe.skipIf(!hasServer)("a server that is replaced by another while its names are gathered", () => {
  test("costs no retailer, and shows none twice: the other does not know the first one's cursor", async () => {
    const servers = [await startServer(), await startServer()] as RedisServer[];
    const names = namesTo(3000);
    for (const { admin } of servers) await saveAll(admin, "", names);
    let turn = 0;
    const ask = asker({
      eval: (...args: [string, number, ...string[]]) => (servers[turn] as RedisServer).admin.eval(...args),
      evalsha: true,
    } as RedisClient);
    const list = createList(ask, createKeys(""), { keysAStep: 100, mostSteps: 2 });
    const seen = await namesIn(list, 500, async () => {
      turn = 1;
    });
    expect(seen).toEqual(names);
    await Promise.all(servers.map((server) => server.close()));
  });
});

function namesTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `shop-${String(index).padStart(5, "0")}`);
}

/** What an application lists, one retailer on a page, and whom it is told of. */
async function listedAndTold(store: TokenStore) {
  const told: unknown[] = [];
  const { retailers } = retailPos({
    baseUrl: "https://{domain_prefix}.example",
    clientId: "id",
    clientSecret: "secret",
    store: { ...store, list: (ask) => (store.list as List)({ ...ask, limit: 1 }) },
    observe: (event) => told.push([event.type, "operation" in event && event.operation, event.domainPrefix]),
  });
  const listed: string[] = [];
  for await (const { domainPrefix } of retailers()) listed.push(domainPrefix);
  return { listed, told };
}

function set(name: string): TokenSet {
  return {
    domainPrefix: name as DomainPrefix,
    access: { value: `${name}-canary-token`, expiresAt: 2 },
    refreshToken: `${name}-canary-token`,
    issuedAt: 1,
    version: name,
  };
}

async function saveAll(client: Redis, own: string, names: readonly string[]): Promise<void> {
  const { store } = redisTokens({ client, prefix: own });
  for (let from = 0; from < names.length; from += 500)
    await Promise.all(names.slice(from, from + 500).map((name) => store.save(set(name))));
}

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

/** The same client; what the server answers is noted. */
function heard(client: Redis, replies: unknown[]): Redis {
  return new Proxy(client, {
    get: (target, name) =>
      name === "eval"
        ? async (...args: Parameters<Redis["eval"]>) => {
            const reply = await target.eval(...args);
            replies.push(reply);
            return reply;
          }
        : Reflect.get(target, name),
  });
}
