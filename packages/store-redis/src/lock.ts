import { type Lease, type Lock, leaseLock } from "@retail-pos/core";
import { type Ask, isYes } from "./driver.js";
import type { Keys } from "./schema.js";

/**
 * A lease is a key that holds its owner's name and expires on the server's clock. No well-kept library does
 * this for both clients: `redis-semaphore` and `@sesamecare-oss/redlock` ask for ioredis.
 *
 * @param leaseMs how long a killed owner keeps others out; core's default if not given.
 */
export function createLock(ask: Ask, keys: Keys, leaseMs?: number): Lock {
  return leaseLock({
    take: (lease) => run("take", TAKE, lease),
    extend: (lease) => run("extend", EXTEND, lease),
    release: (lease) => run("release", RELEASE, lease),
    ...(leaseMs !== undefined && { leaseMs }),
  });

  async function run(doing: string, script: string, { key, owner, leaseMs }: Lease): Promise<boolean> {
    const redisKey = keys.lock(key);
    const task = { operation: "lock", doing: `${doing} the lock ${redisKey}` } as const;
    return isYes(await ask(task, script, redisKey, [owner, String(leaseMs)]));
  }
}

/** Also how a key is claimed. */
export const TAKE = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const EXTEND = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;
