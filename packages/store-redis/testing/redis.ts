import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import Redis5 from "ioredis5";
import { createClient } from "redis";
import { createClient as createClient4 } from "redis4";
import { createClient as createClient5 } from "redis5";
import type { RedisClient } from "../src/index.js";

/** The Redis that tests use: `REDIS_URL`, else the default port of this machine. */
export const url: string = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

/** Without a Redis these tests are skipped; with `NO_SKIP=1` they fail instead. */
export const canRun: boolean = await answers();
if (!canRun && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no Redis answers at REDIS_URL");

/** What every key of this run begins with. */
export const prefix: string = `test-${randomUUID()}:`;

export interface Connection {
  client: RedisClient;
  close: () => unknown;
}

/** Every kind of client that a user may bring: of each older major the oldest version that package.json allows. */
export const kinds: readonly (readonly [string, (at?: string) => Promise<Connection>])[] = [
  ["ioredis", connectIoRedis],
  ["ioredis 5", connectIoRedis5],
  ["node-redis", connectNodeRedis],
  ["node-redis with the older protocol", (at) => connectNodeRedis(at, 2)],
  ["node-redis 5", connectNodeRedis5],
  ["node-redis 4", connectNodeRedis4],
];

export async function connectIoRedis(at: string = url): Promise<Connection & { client: Redis }> {
  const client = new Redis(at);
  client.on("error", () => {});
  return { client, close: () => client.disconnect() };
}

async function connectIoRedis5(at: string = url): Promise<Connection> {
  const client = new Redis5.default(at);
  client.on("error", () => {});
  return { client, close: () => client.disconnect() };
}

async function connectNodeRedis(at: string = url, RESP: 2 | 3 = 3): Promise<Connection> {
  const client = createClient({ url: at, RESP });
  client.on("error", () => {});
  await client.connect();
  return { client, close: () => client.destroy() };
}

async function connectNodeRedis5(at: string = url): Promise<Connection> {
  const client = createClient5({ url: at });
  client.on("error", () => {});
  await client.connect();
  return { client, close: () => client.destroy() };
}

async function connectNodeRedis4(at: string = url): Promise<Connection> {
  const client = createClient4({ url: at });
  client.on("error", () => {});
  await client.connect();
  return { client, close: () => client.disconnect() };
}

/** Removes what this run left behind, and says what that was. */
export async function sweep(): Promise<string[]> {
  const { client, close } = await connectIoRedis();
  const left: string[] = [];
  for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1000 })) left.push(...keys);
  if (left.length > 0) await client.unlink(...left);
  close();
  return left;
}

async function answers(): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.ping()) === "PONG";
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}
