import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { DomainPrefix } from "@retail-pos/core";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { describe, expect, test } from "vitest";
import { canRun, prefix, url } from "../testing/redis.js";
import { freePort } from "../testing/server.js";
import { type RedisTokensOptions, redisTokens } from "./index.js";

const client = { eval: async () => 1, evalsha: async () => 1 };
const mistakes: readonly (readonly [string, object, string])[] = [
  ["no client", {}, "client"],
  ["a client that is null", { client: null }, "client"],
  ["a client that is an address", { client: "redis://127.0.0.1" }, "client"],
  ["a client of another kind", { client: { get() {}, set() {}, eval() {} } }, "client"],
  ["a prefix that is no text", { client, prefix: 7 }, "prefix"],
  ["a prefix that is null", { client, prefix: null }, "prefix"],
  ["no replicas", { client, replicas: 0 }, "replicas"],
  ["half a replica", { client, replicas: 1.5 }, "replicas"],
  ["a client by another name", { redis: client }, "redis is no option; it is called client here"],
  ["a misspelt prefix", { client, prefx: "a:" }, "prefx is no option; it is called prefix here"],
  ["ioredis's prefix", { client, keyPrefix: "a:" }, "keyPrefix is no option; it is called prefix here"],
  ["replicas that are null", { client, replicas: null }, "replicas"],
  ["replicas that are text", { client, replicas: "1" }, "replicas"],
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

test("a client that gives no answers is an error, and no wait without end", async () => {
  const client = { eval: () => undefined, evalSha() {} } as unknown as RedisTokensOptions["client"];
  const { store, lock } = redisTokens({ client });
  await expect(store.load("harbour-coffee" as DomainPrefix)).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringMatching(/: the client gives no answers/),
  });
  await expect(lock("id/harbour-coffee", async () => {})).rejects.toMatchObject({
    code: "store_failed",
    operation: "lock",
  });
});

test.skipIf(!canRun).each(["ioredis", "redis"])(
  "an unref'd client of %s lets the process end, but not before what the store and the lock were asked",
  async (kind) => {
    const program = fileURLToPath(new URL("../testing/unref.mjs", import.meta.url));
    const child = spawn(process.execPath, [program, url, prefix, kind], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    expect(await text(child.stdout)).toBe("none yet: undefined\n");
    expect(await ended).toEqual([0, null]);
  },
);

/** Clients that have eval and evalsha, and are none of ioredis. */
const alike: readonly (readonly [what: string, answer: (...args: unknown[]) => unknown])[] = [
  ["takes the keys as a list", (_script, keys) => [...(keys as string[])]],
  [
    "takes an object, and says so in a promise",
    async (_script, options) => (options as { keys: string[] }).keys.length,
  ],
  ["answers nothing", async () => undefined],
  ["answers null", async () => null],
  ["answers an object", async () => ({ result: 1 })],
];
describe.each(alike)("a client that only looks like ioredis, and %s", (_what, answer) => {
  const { store, lock } = redisTokens({ client: { eval: answer as () => Promise<unknown>, evalsha() {} } });
  const retailer = "harbour-coffee" as DomainPrefix;
  test.each([
    ["load", () => store.load(retailer)],
    ["claim", () => store.claim?.("login", 1000)],
    ["lock", () => lock("id/harbour-coffee", async () => "worked")],
  ])("is refused by name at its first answer: %s", async (operation, work) => {
    await expect(work()).rejects.toMatchObject({
      code: "store_failed",
      operation,
      message: expect.stringContaining("client must be a client of ioredis or of redis (node-redis)"),
    });
  });
});
