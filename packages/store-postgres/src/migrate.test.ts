import { type DomainPrefix, parseDomainPrefix, type TokenSet } from "@retail-pos/core";
import { storeContract } from "@retail-pos/store-contracts";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canRun, connect, schema, setUp, tearDown } from "../testing/postgres.js";
import { version010 } from "../testing/version-0.1.0.js";
import { postgresTokens } from "./index.js";

const shop = parseDomainPrefix("shop");
const SAYS_WHAT_TO_DO =
  /does not exist; call "await tokens\.migrate\(\)" when the program starts, or run your copy of schema\.sql$/;
const full: TokenSet = {
  domainPrefix: shop,
  access: { value: "old-access", expiresAt: 1_767_225_600_123.5 },
  refreshToken: "old-refresh",
  issuedAt: 1_767_139_200_456,
  version: "one",
  refusedAt: 1_767_225_600_999,
};
const values = [
  "shop",
  "old-access",
  1_767_225_600_123.5,
  "old-refresh",
  1_767_139_200_456,
  "one",
  1_767_225_600_999,
];

describe.skipIf(!canRun)("tables that version 0.1.0 made", () => {
  let pool: pg.Pool;
  let tables = 0;
  beforeAll(async () => {
    await setUp();
    pool = connect();
  });
  afterAll(tearDown);

  const oldTable = async (): Promise<string> => {
    const table = `${schema}.old_${++tables}`;
    await pool.query(version010.schema(table));
    await pool.query(version010.put(table), values);
    await pool.query(version010.put(table), ["plain", "a", null, "r", 1, "v", null]);
    return table;
  };

  test("say what to do until migrate() has run, and show no fewer retailers than there are", async () => {
    const { store } = postgresTokens({ pool, table: await oldTable() });
    const questions = [
      () => store.load(shop),
      () => store.save(full),
      () => store.save(full, full),
      () => store.list?.({ limit: 5 }),
    ];
    for (const ask of questions) {
      await expect(ask()).rejects.toMatchObject({
        code: "store_failed",
        message: expect.stringMatching(SAYS_WHAT_TO_DO),
        cause: { code: "42703" },
      });
    }
  });

  test("that were never made say what to do as well, the lock's too", async () => {
    const { store, lock } = postgresTokens({ pool, table: `${schema}.never_made` });
    for (const ask of [() => store.load(shop), () => store.save(full), () => lock("key", async () => 1)]) {
      await expect(ask()).rejects.toMatchObject({
        code: "store_failed",
        message: expect.stringMatching(SAYS_WHAT_TO_DO),
        cause: { code: "42P01" },
      });
    }
  });

  test("have everything after migrate()", async () => {
    const { store, migrate } = postgresTokens({ pool, table: await oldTable() });
    await migrate();
    await migrate();
    expect(await store.load(shop)).toEqual(full);
    expect((await store.list?.({ limit: 5 }))?.retailers).toEqual([
      { domainPrefix: "plain", issuedAt: 1 },
      {
        domainPrefix: "shop",
        issuedAt: full.issuedAt,
        expiresAt: full.access.expiresAt,
        refusedAt: full.refusedAt,
      },
    ]);
    const next = { ...full, version: "two", limitedUntil: 7.5, scope: "all" };
    expect(await store.save(next, full)).toBe(true);
    expect(await store.load(shop)).toEqual(next);
  });

  test("are changed once, by twenty who come at the same time", async () => {
    const table = await oldTable();
    const pools = Array.from({ length: 20 }, () => connect({ max: 1 }));
    await Promise.all(pools.map((each) => each.query("SELECT")));
    await Promise.all(pools.map((each) => postgresTokens({ pool: each, table }).migrate()));
    expect(await postgresTokens({ pool, table }).store.load(shop)).toEqual(full);
  });

  test("are used by processes of 0.1.0 as before, beside ours", async () => {
    const table = await oldTable();
    const { store, migrate } = postgresTokens({ pool, table });
    await migrate();
    const [, ...rest] = values;
    await pool.query(version010.put(table), ["another", ...rest]);
    const renewed = values.map((value) => (value === "one" ? "two" : value));
    expect((await pool.query(version010.replace(table), [...renewed, "one"])).rowCount).toBe(1);
    expect(await store.load(shop)).toEqual({ ...full, version: "two" });
    expect(await store.load("another" as DomainPrefix)).toMatchObject({ refreshToken: "old-refresh" });
  });

  describe("and that were migrated", () => {
    let table: string;
    beforeAll(async () => {
      table = await oldTable();
      await postgresTokens({ pool, table }).migrate();
    });
    storeContract(test, () => postgresTokens({ pool, table }).store, { shared: true });
  });
});
