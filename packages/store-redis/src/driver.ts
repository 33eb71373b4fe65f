import { setTimeout as sleep } from "node:timers/promises";
import { StoreFailedError, type TokenSet } from "@retail-pos/core";
import { type StoreTask, storeFailure } from "@retail-pos/core/authoring";
import { type Evaluate, warningOfEviction } from "./eviction.js";
import type { Keys } from "./schema.js";

/** The part of an `ioredis` client (`Redis` or `Cluster`) that is used here. */
export interface IoRedisClient {
  /** Runs a Lua script. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Not called: it tells this library from the other. */
  readonly evalsha: unknown;
}

/** The part of a `redis` (node-redis) client that is used here: from `createClient`, `createCluster` and the like. */
export interface NodeRedisClient {
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Not called: it tells this library from the other. */
  readonly evalSha: unknown;
}

/** A connected client. It is only used, never configured and never closed. */
export type RedisClient = IoRedisClient | NodeRedisClient;

/**
 * Runs a Lua script on one key. Everything goes through scripts, loading too: a client that sends reads to
 * replicas sends scripts to the primary, and a replica may lag behind by exactly the rotated refresh token.
 *
 * @param task what the script is for, for the error.
 */
export type Ask = (
  task: StoreTask,
  script: string,
  key: string,
  values?: readonly string[],
) => Promise<unknown>;

/**
 * So long an answer keeps a process that has nothing else to do, though its client is unref'd. A second longer than
 * core waits, so that core hears of its own limit.
 */
const ALIVE_MS = 6_000;

const NO_CLIENT = "client must be a client of ioredis or of redis (node-redis)";

/**
 * @throws {TypeError} when `client` is a client of neither library. One that only looks like it is refused with its
 * first answer.
 */
export function asker(client: RedisClient): Ask {
  const evaluate = warningOfEviction(evaluatorOf(client));
  return async (task, script, key, values = []) => {
    const alive = setTimeout(() => {}, ALIVE_MS);
    try {
      const answer = await evaluate(script, key, [...values]);
      // No script of ours answers with nothing.
      if (!isAnswer(answer))
        throw new Error(`${NO_CLIENT}: the client gives no answers (legacyMode of redis 4 is not supported)`);
      return answer;
    } catch (error) {
      throw storeFailure("Redis", task, error, wordsOf(error));
    } finally {
      clearTimeout(alive);
    }
  };
}

function evaluatorOf(client: RedisClient): Evaluate {
  if (typeof client?.eval === "function") {
    if (isOldCluster(client))
      return (script, key, values) => client.sendCommand(key, false, ["EVAL", script, "1", key, ...values]);
    if ("evalSha" in client)
      return (script, key, values) => client.eval(script, { keys: [key], arguments: values });
    if ("evalsha" in client) return (script, key, values) => client.eval(script, 1, key, ...values);
  }
  throw new TypeError(NO_CLIENT);
}

/** A cluster of `redis` 4, whose first versions send a script to any node instead of the one that has the key. */
interface OldCluster {
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>;
}

function isOldCluster(client: object): client is OldCluster {
  const { getMasters, sendCommand } = client as Record<string, unknown>;
  return typeof getMasters === "function" && typeof sendCommand === "function";
}

function isAnswer(answer: unknown): boolean {
  const isText = typeof answer === "string" || Buffer.isBuffer(answer);
  return isText || Array.isArray(answer) || typeof answer === "number" || typeof answer === "bigint";
}

/** A TypeError is of a client that only looks like one of the two, and takes other arguments. */
function wordsOf(error: unknown): string | undefined {
  const { message } = Object(error) as { message?: unknown };
  if (error instanceof TypeError) return `${NO_CLIENT}: its eval() failed with "${message}"`;
  // A server that does not know a command repeats the first of its arguments, tokens among them.
  return message ? String(message).replace(/, with args beginning with.*/s, "") : undefined;
}

/** A text of an answer. Some clients are set up to give bytes. */
export function textOf(reply: unknown): string {
  return Buffer.isBuffer(reply) ? reply.toString("utf8") : String(reply);
}

/** Whether a script answered 1. Some clients are set up to give numbers as text. */
export function isYes(reply: unknown): boolean {
  return textOf(reply) === "1";
}

/** Less than five seconds: core counts a longer silence as a failure. Replicas report once a second. */
const WITHIN_MS = 3_000;
const LOOK_AGAIN_AFTER_MS = 50;

/**
 * Waits until so many replicas have a set that was saved. `WAIT` would not do: it counts only writes of its own
 * connection, and after a failover the client has a new one, on a server that may never have got the set.
 *
 * @returns the function that waits. It rejects with `StoreFailedError` if too few replicas get the set, or if another
 * set is in its place.
 */
export function createReplicaWait(
  ask: Ask,
  keys: Keys,
  replicas: number,
): (saved: TokenSet) => Promise<void> {
  return async ({ domainPrefix, version }) => {
    const task = { operation: "save", domainPrefix } as const;
    const giveUpAt = performance.now() + WITHIN_MS;
    let since = { history: "", offset: Number.POSITIVE_INFINITY };
    for (;;) {
      const reply = (await ask(task, LOOK, keys.tokens(domainPrefix))) as unknown[];
      const [stored, replication] = reply.map(textOf) as [string, string];
      if (stored !== version) throw failed(domainPrefix, "another set is in its place");
      const now = stateOf(replication);
      if (now.history !== since.history) since = now;
      const count = now.replicas.filter((offset) => offset >= since.offset).length;
      if (count >= replicas) return;
      if (performance.now() >= giveUpAt)
        throw failed(domainPrefix, `only ${count} of ${replicas} replicas have them`);
      await sleep(LOOK_AGAIN_AFTER_MS);
    }
  };
}

/** The server's own words: `slave0:ip=...,state=online,offset=123,lag=0`. */
function stateOf(replication: string): { history: string; offset: number; replicas: number[] } {
  const fieldOf = (name: string) => new RegExp(`^${name}:(\\S+)`, "m").exec(replication)?.[1] ?? "";
  const replicas = replication.matchAll(/^slave\d+:.*state=online,offset=(\d+)/gm);
  return {
    history: fieldOf("master_replid"),
    offset: Number(fieldOf("master_repl_offset")),
    replicas: Array.from(replicas, ([, offset]) => Number(offset)),
  };
}

function failed(domainPrefix: string, why: string): StoreFailedError {
  const problem = `Redis could not save the tokens of retailer "${domainPrefix}" safely: ${why}`;
  return new StoreFailedError("save", problem, { domainPrefix });
}

const LOOK = `
return { redis.pcall('HGET', KEYS[1], 'version') or '', redis.call('INFO', 'replication') }`;

/** Redis Cluster spreads keys over so many slots. */
export const SLOTS = 16_384;

/**
 * A key of ours that is in this slot: a command on it reaches the node that has the slot. If the prefix has a hash tag
 * of its own, all keys are in one slot, and so is this one.
 *
 * @returns the key without the prefix.
 */
export function keyInSlot(slot: number, prefix: string): string {
  for (let number = 0; ; number += 1) {
    const key = `{${number}}:list`;
    if (slotOf(prefix + key) === slot || hasTag(prefix)) return key;
  }
}

function hasTag(prefix: string): boolean {
  return /^[^{]*\{[^}]+\}/.test(prefix);
}

/** The checksum of the text in the first braces, else of the whole key (Redis Cluster specification). */
function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return crc16(open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key) % SLOTS;
}

/** CRC-16/XMODEM. */
function crc16(text: string): number {
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0xffff;
}
