import { type DomainPrefix, retailPos, type TokenSet } from "@retail-pos/core";
import { Redis } from "ioredis";
import Redis5 from "ioredis5";
import { createClient } from "redis";
import { createClient as createClient4 } from "redis4";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { canRun } from "../testing/redis.js";
import { type RedisServer, startServer, until } from "../testing/server.js";
import { type Wire, wireTo } from "../testing/wire.js";
import { type RedisClient, redisTokens } from "./index.js";

const shop = "harbour-coffee" as DomainPrefix;
const set = (version: string): TokenSet => ({
  domainPrefix: shop,
  access: { value: `access-${version}`, expiresAt: 60_000 },
  refreshToken: `refresh-${version}`,
  issuedAt: 1,
  version,
});

const pair = canRun ? [await startServer(), await startServer()] : [];
const [first, second] = pair as [RedisServer, RedisServer];
if (!first && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no redis-server to start");
afterAll(() => Promise.all(pair.map((server) => server?.close())));

/** As the README has it. */
const options = {
  commandTimeout: 5000,
  reconnectOnError: (error: Error) => error.message.includes("READONLY"),
};

interface Connection {
  client: RedisClient;
  /** What the README says to do with a client that does not connect anew by itself. */
  onReadOnly?: () => Promise<unknown>;
  close: () => unknown;
}

const clients: [string, (port: number) => Promise<Connection>][] = [
  [
    "ioredis",
    async (port) => {
      const client = new Redis(port, options).on("error", () => {});
      return { client, close: () => client.disconnect() };
    },
  ],
  [
    "ioredis 5",
    async (port) => {
      const client = new Redis5.default(port, options);
      client.on("error", () => {});
      return { client, close: () => client.disconnect() };
    },
  ],
  [
    "node-redis",
    async (port) => {
      const client = createClient({ url: `redis://127.0.0.1:${port}`, disableOfflineQueue: true });
      await client.on("error", () => {}).connect();
      const onReadOnly = () => {
        client.destroy();
        return client.connect();
      };
      return { client, onReadOnly, close: () => client.destroy() };
    },
  ],
  [
    "node-redis 4",
    async (port) => {
      const client = createClient4({ url: `redis://127.0.0.1:${port}`, disableOfflineQueue: true });
      await client.on("error", () => {}).connect();
      const onReadOnly = async () => {
        await client.disconnect();
        return client.connect();
      };
      return { client, onReadOnly, close: () => client.disconnect() };
    },
  ],
];

describe.skipIf(!first)("a primary that becomes a replica, and its name leads to the new one", () => {
  let wire: Wire;
  beforeEach(async () => {
    await first.admin.replicaof("NO", "ONE");
    await first.admin.flushall(); // the lease of the test before could not be given back
    await second.admin.replicaof("127.0.0.1", first.port);
    await until(async () => (await first.admin.info("replication")).includes("state=online"));
    await until(async () => (await second.admin.dbsize()) === 0);
    wire = await wireTo(first.url);
  });
  afterEach(() => wire.close());

  async function failOver(): Promise<void> {
    await until(async () => (await second.admin.exists(`retail-pos:{${shop}}:tokens`)) === 1);
    await second.admin.replicaof("NO", "ONE");
    await first.admin.replicaof("127.0.0.1", second.port);
  }

  const onSecond = () => second.admin.hget(`retail-pos:{${shop}}:tokens`, "version");

  test.each(clients)(
    "is left by %s after one failed save, also if the name follows late",
    async (_, connect) => {
      const { client, onReadOnly, close } = await connect(Number(new URL(wire.url).port));
      const { store } = redisTokens({ client });
      const save = () =>
        store.save(set("two"), set("one")).catch(async (error: unknown) => {
          if (/READONLY/.test(String(error))) await onReadOnly?.();
          return false;
        });
      await store.save(set("one"));
      await failOver();
      expect(await save()).toBe(false); // the name leads to the old one still
      wire.leadTo(second.url);
      await until(save);
      expect(await onSecond()).toBe("two");
      await close();
    },
  );

  test.each(clients)("costs an application no token through %s", async (_, connect) => {
    const { client, onReadOnly, close } = await connect(Number(new URL(wire.url).port));
    let now = 1_000;
    const pos = retailPos({
      baseUrl: "https://{domain_prefix}.example",
      clientId: "id",
      clientSecret: "secret",
      ...redisTokens({ client }),
      clock: () => now,
      observe: (event) => {
        if (event.type === "store_failed" && /READONLY/.test(String(event.error))) void onReadOnly?.();
      },
      // The service has answered, and the token is not saved yet: this is when it hurts most.
      fetch: async () => {
        await failOver();
        wire.leadTo(second.url);
        return Response.json({ access_token: "renewed", refresh_token: "rotated", expires_in: 3600 });
      },
    });
    await pos.connect(set("one"));
    now += 3_600_000;
    expect((await pos.tokens(shop).token()).value).toBe("renewed");
    const isSaved = async () => {
      await pos.tokens(shop).token(); // each use tries to save again
      return (await second.admin.hget(`retail-pos:{${shop}}:tokens`, "refreshToken")) === "rotated";
    };
    await until(isSaved);
    await close();
  });
});
