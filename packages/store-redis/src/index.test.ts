import type { DomainPrefix } from "@retail-pos/core";
import { type Cluster, Redis } from "ioredis";
import type Redis5 from "ioredis5";
import { createClient, type createClientPool, type createCluster, type createSentinel } from "redis";
import type { createClient as createClient4, createCluster as createCluster4 } from "redis4";
import type {
  createClient as createClient5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from "redis5";
import { expect, expectTypeOf, test } from "vitest";
import { freePort } from "../testing/server.js";
import { type RedisClient, type RedisTokensOptions, redisTokens } from "./index.js";

test("TypeScript takes the clients of every major as they are", () => {
  expectTypeOf<Redis>().toExtend<RedisClient>();
  expectTypeOf<Cluster>().toExtend<RedisClient>();
  expectTypeOf<Redis5.default>().toExtend<RedisClient>();
  expectTypeOf<Redis5.Cluster>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createClient>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createClientPool>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createCluster>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createSentinel>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createClient5>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createCluster5>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createSentinel5>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createClient4>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createCluster4>>().toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof createClient4>>().not.toBeAny(); // its types were found
  expectTypeOf<Redis5.default>().not.toBeAny();
});

const client = { eval: async () => 1, evalsha: async () => 1 };
const mistakes: readonly (readonly [string, object, string])[] = [
  ["no client", {}, "client"],
  ["a client that is null", { client: null }, "client"],
  ["a client that is an address", { client: "redis://127.0.0.1" }, "client"],
  ["a client of another kind", { client: { get() {}, set() {}, eval() {} } }, "client"],
  ["a prefix that is no text", { client, prefix: 7 }, "prefix"],
  ["a prefix that is null", { client, prefix: null }, "prefix"],
];
test.each(mistakes)("%s is a TypeError that names the option", (_what, options, name) => {
  const mistake = () => redisTokens(options as RedisTokensOptions);
  expect(mistake).toThrow(TypeError);
  expect(mistake).toThrow(name);
});

test("without options there is a TypeError too", () => {
  expect(() => redisTokens(undefined as unknown as RedisTokensOptions)).toThrow(TypeError);
});

test("a Redis that cannot be reached rejects what is asked, saying what and why", async () => {
  const port = await freePort();
  const ioredis = new Redis(port, { maxRetriesPerRequest: 0 }).on("error", () => {});
  const nodeRedis = createClient({ url: `redis://127.0.0.1:${port}`, disableOfflineQueue: true });
  for (const each of [ioredis, nodeRedis]) {
    const { store, lock } = redisTokens({ client: each });
    await expect(store.load("harbour-coffee" as DomainPrefix)).rejects.toMatchObject({
      code: "store_failed",
      operation: "load",
      status: 503,
      domainPrefix: "harbour-coffee",
      message: expect.stringMatching(/^Redis could not load the tokens of retailer "harbour-coffee": ./),
    });
    await expect(store.claim?.("login", 1000)).rejects.toMatchObject({
      code: "store_failed",
      operation: "claim",
    });
    await expect(lock("id/harbour-coffee", async () => {})).rejects.toMatchObject({
      code: "store_failed",
      operation: "lock",
      message: expect.stringMatching(/^Redis could not take the lock/),
    });
  }
  ioredis.disconnect();
});
