import type { Lock, TokenStore } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import {
  asker,
  createReplicaWait,
  type IoRedisClient,
  type NodeRedisClient,
  type RedisClient,
} from "./driver.js";
import { createLock } from "./lock.js";
import { createKeys } from "./schema.js";
import { createStore } from "./store.js";

export type { IoRedisClient, NodeRedisClient, RedisClient };

/** Which Redis, and which keys of it. */
export interface RedisTokensOptions {
  /** A connected client of `ioredis` or `redis`, of one server or of a cluster. You close it. */
  client: RedisClient;
  /** The beginning of every key. Default `retail-pos:`. Two applications on one Redis need two prefixes. */
  prefix?: string | undefined;
  /**
   * How many replicas must have a set before its save counts, at least 1; it takes up to a second longer, and rejects
   * if they do not have it after three seconds. Default: none, a save counts when the primary has it.
   */
  replicas?: number | undefined;
}

/** The `store` and `lock` for `retailPos`. */
export interface RedisTokens {
  /** One hash per retailer, without a time-to-live; claims are keys with one. */
  readonly store: TokenStore;
  /** A lease in a key, on the server's clock. */
  readonly lock: Lock;
}

const NAMES = ["client", "prefix", "replicas"] satisfies (keyof RedisTokensOptions)[];

/**
 * Keeps tokens in Redis, and lets one process at a time renew a retailer's.
 *
 * The store rejects with `StoreFailedError` if Redis cannot be used (the client's `code`, if it has one, is that of
 * `cause`), with `StoredTokensError` for a key that holds no hash. The lock rejects with `StoreFailedError` if it
 * cannot be taken because Redis cannot be used; else it settles as the work does.
 *
 * @throws {TypeError} naming the option.
 */
export function redisTokens(options: RedisTokensOptions): RedisTokens {
  refuseMisspelt(options, NAMES, { redis: "client", keyprefix: "prefix" });
  const { client, prefix = "retail-pos:", replicas } = options;
  if (typeof prefix !== "string") throw new TypeError("prefix must be text");
  if (replicas !== undefined && !(Number.isInteger(replicas) && replicas > 0))
    throw new TypeError("replicas must be a whole number, at least 1");
  const [ask, keys] = [asker(client), createKeys(prefix)];
  const reachReplicas = replicas === undefined ? undefined : createReplicaWait(ask, keys, replicas);
  return { store: createStore(ask, keys, reachReplicas), lock: createLock(ask, keys) };
}
