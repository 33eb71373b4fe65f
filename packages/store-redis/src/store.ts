import { randomUUID } from "node:crypto";
import { StoredTokensError, type TokenSet, type TokenStore } from "@retail-pos/core";
import { FIELDS, type FlatRecord, flatRecord, setInFlatRecord } from "@retail-pos/core/authoring";
import { type Ask, isYes, textOf } from "./driver.js";
import { createList } from "./list.js";
import { TAKE } from "./lock.js";
import type { Keys } from "./schema.js";

/**
 * One hash per retailer, its fields named as in {@link TokenSet}, without a time-to-live.
 *
 * @param reachReplicas waits until enough replicas have a set; if given, a save counts only then.
 */
export function createStore(
  ask: Ask,
  keys: Keys,
  reachReplicas?: (saved: TokenSet) => Promise<void>,
): TokenStore {
  return {
    async load(domainPrefix) {
      const reply = await ask({ operation: "load", domainPrefix }, LOAD, keys.tokens(domainPrefix));
      if (Array.isArray(reply)) return setInFlatRecord(recordIn(reply.map(textOf)));
      const kind = textOf(reply);
      if (kind === "none") return undefined;
      throw new StoredTokensError(`it is of the Redis type ${kind}, not a hash`, { domainPrefix });
    },
    async save(next, replacing) {
      const condition = replacing ? ["only", replacing.version] : ["always", ""];
      const { domainPrefix, access, refreshToken } = next;
      const reply = await ask(
        { operation: "save", domainPrefix, secrets: [access.value, refreshToken] },
        SAVE,
        keys.tokens(domainPrefix),
        [...condition, next.version, ...hashOf(next)],
      );
      const isThere = isYes(reply) || textOf(reply) === SAVED_BEFORE;
      if (!reachReplicas || !isThere) return isYes(reply);
      await reachReplicas(next);
      return true;
    },
    async remove(domainPrefix) {
      await ask({ operation: "remove", domainPrefix }, REMOVE, keys.tokens(domainPrefix));
    },
    list: createList(ask, keys),
    async claim(key, forMs) {
      // A lease that nobody releases. A client that repeats the question after a lost answer is still the same owner.
      const lease = [randomUUID(), String(Math.ceil(forMs))];
      return isYes(await ask({ operation: "claim" }, TAKE, keys.claim(key), lease));
    },
  };
}

const LOAD = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'hash' then return redis.call('HGETALL', KEYS[1]) end
return kind`;

/** By an earlier try, which failed because too few replicas had it. */
const SAVED_BEFORE = "2";

// The key may hold no hash: then it has no version, and a new login replaces it. DEL comes first for another reason
// too: if its memory is full, Redis lets a script go on only if its first write needs none. A version that ends in
// another mark is of another application (client id): its set is not ours to replace.
const SAVE = `
local stored = redis.pcall('HGET', KEYS[1], 'version')
if ARGV[1] == 'only' and stored ~= ARGV[2] then return stored == ARGV[3] and ${SAVED_BEFORE} or 0 end
local function mark(version) return type(version) == 'string' and string.match(version, '~' .. string.rep('[0-9a-z]', 7) .. '$') end
local ours, theirs = mark(ARGV[3]), mark(stored)
if ours and theirs and ours ~= theirs then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
return 1`;

const REMOVE = `return redis.call('DEL', KEYS[1])`;

/** Names and values of the hash. */
function hashOf(set: TokenSet): string[] {
  return flatRecord(set).flatMap((value, at) =>
    value === null ? [] : [FIELDS[at] as string, String(value)],
  );
}

function recordIn(namesAndValues: readonly string[]): FlatRecord {
  const pairs = namesAndValues.flatMap((name, at) => (at % 2 === 0 ? [[name, namesAndValues[at + 1]]] : []));
  return Object.fromEntries(pairs);
}
