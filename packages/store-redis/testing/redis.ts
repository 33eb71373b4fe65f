import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { createClient } from "redis";
import type { RedisClient } from "../src/index.js";

/** The Redis that tests use: `REDIS_URL`, else the default port of this machine. */
export const url: string = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

/** Without a Redis these tests are skipped; where `CI` is set they fail instead. */
export const canRun: boolean = await answers();
if (!canRun && process.env["CI"])
  throw new Error("With CI set nothing may be skipped: no Redis answers at REDIS_URL");

/** What every key of this run begins with. */
export const prefix: string = `test-${randomUUID()}:`;

export interface Connection {
  client: RedisClient;
  close: () => unknown;
}

/** Every kind of client that a user may bring. */
export const kinds: readonly (readonly [string, () => Promise<Connection>])[] = [
  ["ioredis", connectIoRedis],
  ["node-redis", connectNodeRedis],
  ["node-redis with the older protocol", () => connectNodeRedis(2)],
];

export async function connectIoRedis(): Promise<Connection & { client: Redis }> {
  const client = new Redis(url);
  return { client, close: () => client.disconnect() };
}

async function connectNodeRedis(RESP: 2 | 3 = 3): Promise<Connection> {
  const client = createClient({ url, RESP });
  client.on("error", () => {});
  await client.connect();
  return { client, close: () => client.destroy() };
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
