import { createHash, randomUUID } from "node:crypto";
import { type DomainPrefix, StoredTokensError, type TokenSet, type TokenStore } from "@retail-pos/core";
import { isYes, type Run, textOf } from "./client.js";
import { TAKE } from "./redis-lock.js";

/** One hash per retailer, its fields named as in {@link TokenSet}, without a time-to-live. */
export function redisStore(run: Run, prefix: string): TokenStore {
  const keyOf = (domainPrefix: string) => `${prefix}{${domainPrefix}}:tokens`;
  return {
    async load(domainPrefix) {
      const reply = await run({ operation: "load", domainPrefix }, LOAD, keyOf(domainPrefix));
      if (Array.isArray(reply)) return setOf(reply.map(textOf));
      const kind = textOf(reply);
      if (kind === "none") return undefined;
      throw new StoredTokensError(`it is of the Redis type ${kind}, not a hash`, { domainPrefix });
    },
    async save(next, replacing) {
      const condition = replacing ? ["only", replacing.version] : ["always", ""];
      const { domainPrefix, access, refreshToken } = next;
      const reply = await run(
        { operation: "save", domainPrefix, secrets: [access.value, refreshToken] },
        SAVE,
        keyOf(domainPrefix),
        [...condition, ...fieldsOf(next)],
      );
      return isYes(reply);
    },
    async remove(domainPrefix) {
      await run({ operation: "remove", domainPrefix }, REMOVE, keyOf(domainPrefix));
    },
    async claim(key, forMs) {
      // A lease that nobody releases: a client that asks again after a lost answer is the same owner still.
      const lease = [randomUUID(), String(Math.ceil(forMs))];
      return isYes(await run({ operation: "claim" }, TAKE, `${prefix}claim:${digest(key)}`, lease));
    },
  };
}

const LOAD = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'hash' then return redis.call('HGETALL', KEYS[1]) end
return kind`;

// What is stored may be no hash: then its version is none, and a new login replaces it. DEL also comes first
// since Redis, where its memory is full, lets a script go on whose first write takes none.
const SAVE = `
if ARGV[1] == 'only' and redis.pcall('HGET', KEYS[1], 'version') ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return 1`;

const REMOVE = `return redis.call('DEL', KEYS[1])`;

/** A claim's key may be of any length. */
function digest(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function fieldsOf({ domainPrefix, access, refreshToken, issuedAt, version, refusedAt }: TokenSet): string[] {
  const fields = {
    domainPrefix,
    accessToken: access.value,
    expiresAt: access.expiresAt,
    refreshToken,
    issuedAt,
    version,
    refusedAt,
  };
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [name, String(value)],
  );
}

/** What the fields say, as far as they are there; core checks that it is a token set. */
function setOf(namesAndValues: readonly string[]): TokenSet {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < namesAndValues.length; at += 2) {
    fields.set(namesAndValues[at] as string, namesAndValues[at + 1] as string);
  }
  const [expiresAt, refusedAt] = [fields.get("expiresAt"), fields.get("refusedAt")];
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
  };
}

/** NaN for what is no number: core then names the field. */
function instant(text: string | undefined): number {
  return text?.trim() ? Number(text) : Number.NaN;
}
