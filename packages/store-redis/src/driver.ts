import { type StoreTask, storeFailure } from "@retail-pos/core";
import { type Evaluate, warningOfEviction } from "./eviction.js";

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

/** So long an answer keeps a process that has nothing else to do, though its client is unref'd. Core's limit. */
const ALIVE_MS = 5_000;

/** @throws {TypeError} when `client` is a client of neither library. */
export function asker(client: RedisClient): Ask {
  const evaluate = warningOfEviction(evaluatorOf(client));
  return async (task, script, key, values = []) => {
    const alive = setTimeout(() => {}, ALIVE_MS);
    try {
      const answer = await evaluate(script, key, [...values]);
      if (answer === undefined)
        throw new Error("the client gives no answers (legacyMode of redis 4 is not supported)");
      return answer;
    } catch (error) {
      throw storeFailure("Redis", task, error, withoutArguments(error));
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
  throw new TypeError("client must be a client of ioredis or of redis (node-redis)");
}

/** A cluster of `redis` 4, whose first versions send a script to any node instead of the one that has the key. */
interface OldCluster {
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>;
}

function isOldCluster(client: object): client is OldCluster {
  const { getMasters, sendCommand } = client as Record<string, unknown>;
  return typeof getMasters === "function" && typeof sendCommand === "function";
}

/** A server that does not know a command repeats the first of its arguments, tokens among them. */
function withoutArguments(error: unknown): string | undefined {
  const { message } = Object(error) as { message?: unknown };
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

/** NaN if it is no number: core's error then names the field. */
export function instant(text: string | undefined): number {
  return text?.trim() ? Number(text) : Number.NaN;
}
