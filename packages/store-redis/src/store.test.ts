import { inspect } from "node:util";
import { type DomainPrefix, retailPos, StoredTokensError, type TokenSet } from "@retail-pos/core";
import { storeContract } from "@retail-pos/store-contracts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Connection, canRun, connectIoRedis, kinds, prefix, sweep } from "../testing/redis.js";
import { redisTokens } from "./index.js";

const retailer = "harbour-coffee" as DomainPrefix;
const set: TokenSet = {
  domainPrefix: retailer,
  access: { value: "canary-access", expiresAt: 1_767_225_600_123.5 },
  refreshToken: "canary-refresh",
  issuedAt: 1_767_139_200_456,
  version: "one",
};

afterAll(async () => {
  if (canRun) await sweep();
});

describe.skipIf(!canRun).each(kinds)("a store on %s", (_kind, connect) => {
  const connections: Connection[] = [];
  const connection = async () => {
    const opened = await connect();
    connections.push(opened);
    return opened;
  };
  afterAll(() => {
    for (const { close } of connections) close();
  });

  storeContract(test, async () => redisTokens({ ...(await connection()), prefix }).store, { shared: true });

  test("of saves from two connections that replace the same version, round after round, one saves", async () => {
    const own = `${prefix}race:`;
    const stores = [
      redisTokens({ ...(await connection()), prefix: own }).store,
      redisTokens({ ...(await connection()), prefix: own }).store,
    ];
    let held = set;
    await stores[0]?.save(held);
    for (let round = 0; round < 50; round += 1) {
      const rivals = stores.map((_, index) => ({ ...set, version: `${round}-${index}` }));
      const saved = await Promise.all(
        stores.map((store, index) => store.save(rivals[index] as TokenSet, held)),
      );
      expect(saved.filter(Boolean)).toHaveLength(1);
      held = rivals[saved.indexOf(true)] as TokenSet;
    }
    expect(await stores[1]?.load(retailer)).toEqual(held);
  });

  test("a hostile prefix is a prefix, no more", async () => {
    const { client } = await connection();
    const hostile = [
      `${prefix}'; return 1 --`,
      `${prefix}{}`,
      `${prefix}a{b`,
      `${prefix}*`,
      `${prefix}\r\nDEL x\r\n 店`,
    ];
    const stores = hostile.map((each) => redisTokens({ client, prefix: each }).store);
    for (const [index, store] of stores.entries()) await store.save({ ...set, version: `${index}` });
    for (const [index, store] of stores.entries()) {
      expect(await store.load(retailer)).toEqual({ ...set, version: `${index}` });
      await store.remove(retailer);
    }
  });

  test("an error of the server shows no token, whatever the client puts on it", async () => {
    const { client } = await connection();
    const seen: unknown[] = [];
    // A server that knows no EVAL repeats the beginning of what it was sent, values included.
    const broken = failing(client, (args) =>
      Object.assign(
        new Error(`ERR unknown command 'eval', with args beginning with: ${args.flat().join(" ")}`),
        {
          command: { name: "eval", args },
        },
      ),
    );
    const { store } = redisTokens({ client: broken, prefix });
    seen.push(await store.save(set).catch((error: unknown) => error));
    seen.push(await store.save(set, set).catch((error: unknown) => error));
    for (const error of seen) {
      expect(error).toBeInstanceOf(Error);
      expect((error as Error).message).toBe(
        `Redis could not save the tokens of retailer "${retailer}": ERR unknown command 'eval'`,
      );
      expect(inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error)).not.toContain("canary");
    }
  });
});

describe.skipIf(!canRun)("a record that is not as it was saved", () => {
  let connection: Awaited<ReturnType<typeof connectIoRedis>>;
  const own = `${prefix}edited:`;
  const key = `${own}{${retailer}}:tokens`;
  beforeAll(async () => {
    connection = await connectIoRedis();
  });
  afterAll(() => connection.close());

  const edits: Record<string, (redis: typeof connection.client) => unknown> = {
    "a text instead of a hash": (redis) => redis.set(key, "canary"),
    "a list instead of a hash": (redis) => redis.rpush(key, "canary"),
    "an older layout, one JSON text": (redis) => redis.set(key, JSON.stringify(set)),
    "fields nobody knows": (redis) => redis.hset(key, { token: "canary" }),
    "no version": (redis) => redis.hdel(key, "version"),
    "no refresh token": (redis) => redis.hdel(key, "refreshToken"),
    "an empty refresh token": (redis) => redis.hset(key, "refreshToken", ""),
    "no access token": (redis) => redis.hdel(key, "accessToken"),
    "an access token with a line break": (redis) => redis.hset(key, "accessToken", "canary\r\nx"),
    "an access token of bytes": (redis) =>
      redis.hset(key, "accessToken", Buffer.from("canary\xff", "latin1")),
    "an expiry in words": (redis) => redis.hset(key, "expiresAt", "canary tomorrow"),
    "an empty expiry": (redis) => redis.hset(key, "expiresAt", ""),
    "an endless expiry": (redis) => redis.hset(key, "expiresAt", "Infinity"),
    "a refusal in words": (redis) => redis.hset(key, "refusedAt", "null"),
    "no time of issue": (redis) => redis.hdel(key, "issuedAt"),
    "another retailer's record": (redis) => redis.hset(key, "domainPrefix", "somebody-else"),
  };
  test.each(Object.entries(edits))(
    "%s: StoredTokensError, and the next login replaces it",
    async (what, edit) => {
      const { client } = connection;
      const tokens = redisTokens({ client, prefix: own });
      await client.del(key);
      if (!/instead|older|nobody/.test(what)) await tokens.store.save(set);
      await edit(client);

      const pos = retailPos({ ...application, ...tokens });
      const error = await pos
        .tokens(retailer)
        .token()
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StoredTokensError);
      expect(inspect(error, { depth: 9 })).not.toContain("canary");

      if (!/another retailer|expiry|access|refusal|issue|refresh/.test(what))
        expect(await tokens.store.save({ ...set, version: "two" }, set)).toBe(false);
      expect(await tokens.store.save({ ...set, version: "three" })).toBe(true);
      expect(await tokens.store.load(retailer)).toEqual({ ...set, version: "three" });
    },
  );

  test("has no time-to-live, and takes the place of one that had", async () => {
    const { client } = connection;
    const { store } = redisTokens({ client, prefix: own });
    await store.save(set);
    expect(await client.ttl(key)).toBe(-1);
    await client.expire(key, 100);
    await store.save({ ...set, version: "two" }, set);
    expect(await client.ttl(key)).toBe(-1);
  });

  test("is readable in Redis", async () => {
    const { client } = connection;
    await redisTokens({ client, prefix: own }).store.save(set);
    expect(await client.hgetall(key)).toEqual({
      domainPrefix: "harbour-coffee",
      accessToken: "canary-access",
      expiresAt: "1767225600123.5",
      refreshToken: "canary-refresh",
      issuedAt: "1767139200456",
      version: "one",
    });
  });
});

const application = {
  authUrl: "https://secure.pos.example",
  baseUrl: "https://{domain_prefix}.pos.example",
  clientId: "id",
  clientSecret: "secret",
  redirectUri: "https://app.example/callback",
};

/** The same kind of client, whose scripts fail. */
function failing<T extends Connection["client"]>(client: T, errorOf: (args: unknown[]) => Error): T {
  return new Proxy(client, {
    get: (target, name) =>
      name === "eval"
        ? (...args: unknown[]) =>
            Promise.reject(
              errorOf(args.map((arg) => (typeof arg === "object" ? Object.values(arg as object) : arg))),
            )
        : Reflect.get(target, name),
  });
}
