import type { DomainPrefix, TokenSet } from "@retail-pos/core";
import { storeContract } from "@retail-pos/store-contracts";
import { afterAll, describe, expect, test } from "vitest";
import { canRun } from "../testing/redis.js";
import { type RedisServer, startServer, until } from "../testing/server.js";
import { type RedisClient, redisTokens } from "./index.js";

const retailer = "harbour-coffee" as DomainPrefix;
const set = (version: string): TokenSet => ({
  domainPrefix: retailer,
  access: { value: `canary-access-${version}` },
  refreshToken: `canary-refresh-${version}`,
  issuedAt: 1,
  version,
});

const pair = canRun ? [await startServer(), await startServer()] : [];
const [primary, replica] = pair as [RedisServer, RedisServer];
if (!primary && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no redis-server to start");
afterAll(() => Promise.all(pair.map((server) => server?.close())));

const follow = async () => {
  await replica.admin.replicaof("127.0.0.1", primary.port);
  await until(async () => (await primary.admin.info("replication")).includes("state=online"));
};
const leave = () => replica.admin.replicaof("NO", "ONE");

describe.skipIf(!primary)("with `replicas`", () => {
  test("a save that says it saved is on the replica", async () => {
    await follow();
    const { store } = redisTokens({ client: primary.admin, replicas: 1 });
    expect(await store.save(set("one"))).toBe(true);
    expect(await replica.admin.hget(`retail-pos:{${retailer}}:tokens`, "version")).toBe("one");
    expect(await store.save(set("two"), set("one"))).toBe(true);
    expect(await replica.admin.hget(`retail-pos:{${retailer}}:tokens`, "version")).toBe("two");
    expect(await store.save(set("late"), set("one"))).toBe(false);
  });

  test("a save that only the primary has is an error, and good when it is tried again with a replica", async () => {
    await follow();
    const { store } = redisTokens({ client: primary.admin, replicas: 1 });
    await store.save(set("one"));
    await leave();
    const error = await store.save(set("two"), set("one")).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "store_failed",
      operation: "save",
      message: `Redis could not save the tokens of retailer "harbour-coffee" safely: only 0 of 1 replicas have them`,
    });
    await follow();
    expect(await store.save(set("two"), set("one"))).toBe(true); // it is there, and now safe
    expect(await store.load(retailer)).toEqual(set("two"));
  });

  test("a save that a failover lost is an error, though the new primary has replicas of its own", async () => {
    await follow();
    let isOver = false;
    // Cut off before the save: what the primary takes now reaches nobody. Then the client finds the new one.
    const client = {
      eval: async (...args: [string, number, ...string[]]) =>
        (isOver ? replica : primary).admin.eval(...args),
      evalsha: true,
    } as RedisClient;
    const { store } = redisTokens({ client, replicas: 1 });
    await store.save(set("one"));
    await leave();
    const saving = store.save(set("two"), set("one"));
    await until(
      async () => (await primary.admin.hget(`retail-pos:{${retailer}}:tokens`, "version")) === "two",
    );
    isOver = true;
    await expect(saving).rejects.toThrow(/safely: another set is in its place/);
    expect(await store.load(retailer)).toEqual(set("one"));
  });

  // Each save takes a second: only what the contract says about replacing.
  describe("compare-and-set is as it was", () => {
    storeContract(
      (name, run) =>
        name.includes("`replacing`")
          ? test(name, async () => {
              await follow();
              await run();
            })
          : undefined,
      () => redisTokens({ client: primary.admin, replicas: 1, prefix: "contract:" }).store,
    );
  });
});
