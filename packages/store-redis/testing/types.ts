// Read by tsc alone, in `pnpm types`: whatever stands here holds if it compiles. Nothing of it is ever run.

import type { Cluster, Redis } from "ioredis";
import type Redis5 from "ioredis5";
import type { createClient, createClientPool, createCluster, createSentinel } from "redis";
import type { createClient as createClient4, createCluster as createCluster4 } from "redis4";
import type {
  createClient as createClient5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from "redis5";
import { expectTypeOf } from "vitest";
import type { RedisClient } from "../src/index.js";

export const types = {
  "TypeScript takes the clients of every major as they are"() {
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
  },
};
