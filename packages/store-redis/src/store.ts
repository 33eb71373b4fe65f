import { randomUUID } from "node:crypto";
import { type DomainPrefix, StoredTokensError, type TokenSet, type TokenStore } from "@retail-pos/core";
import { type Ask, instant, isYes, textOf } from "./driver.js";
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
      if (Array.isArray(reply)) return setOf(reply.map(textOf));
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
        [...condition, next.version, ...recordOf(next)],
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
function recordOf({ access, ...set }: TokenSet): string[] {
  const fields = {
    domainPrefix: set.domainPrefix,
    accessToken: access.value,
    expiresAt: access.expiresAt,
    refreshToken: set.refreshToken,
    issuedAt: set.issuedAt,
    version: set.version,
    refusedAt: set.refusedAt,
    refusedEarlyAt: set.refusedEarlyAt,
    limitedUntil: set.limitedUntil,
    scope: set.scope,
  };
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [name, String(value)],
  );
}

/** The set in a hash, with the fields that are there. Core checks that it is a token set. */
function setOf(namesAndValues: readonly string[]): TokenSet {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < namesAndValues.length; at += 2) {
    fields.set(namesAndValues[at] as string, namesAndValues[at + 1] as string);
  }
  const [expiresAt, refusedAt] = [fields.get("expiresAt"), fields.get("refusedAt")];
  const refusedEarlyAt = fields.get("refusedEarlyAt");
  const [limitedUntil, scope] = [fields.get("limitedUntil"), fields.get("scope")];
  return {
    domainPrefix: fields.get("domainPrefix") as DomainPrefix,
    access: {
      value: fields.get("accessToken") as string,
      ...(expiresAt !== undefined && { expiresAt: instant(expiresAt) }),
    },
    refreshToken: fields.get("refreshToken") as string,
    issuedAt: instant(fields.get("issuedAt")),
    version: fields.get("version") as string,
    ...(refusedAt !== undefined && { refusedAt: instant(refusedAt) }),
    ...(refusedEarlyAt !== undefined && { refusedEarlyAt: instant(refusedEarlyAt) }),
    ...(limitedUntil !== undefined && { limitedUntil: instant(limitedUntil) }),
    ...(scope !== undefined && { scope }),
  };
}
