import { inspect } from "node:util";
import { type DomainPrefix, retailPos, type TokenStore } from "@retail-pos/core";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canRun, connect, schema, setUp, tearDown } from "../testing/postgres.js";
import { type PostgresPool, postgresTokens } from "./index.js";

type List = NonNullable<TokenStore["list"]>;

const table = `${schema}.tokens`;

describe.skipIf(!canRun)("a list on PostgreSQL", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    await setUp();
    pool = connect();
    await postgresTokens({ pool, table }).migrate();
    await pool.query(`INSERT INTO ${table}
      SELECT 'shop-' || lpad(n::text, 5, '0'), 'canary-access', n, 'canary-refresh', n, n::text, NULL, NULL, NULL
      FROM generate_series(0, 9999) n`);
    await pool.query(`ANALYZE ${table}`);
  });
  afterAll(tearDown);

  test("has ten thousand retailers once each, whoever comes and goes", async () => {
    const { store } = postgresTokens({ pool, table });
    let turn = 0;
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await (store.list as List)({ limit: 700, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.retailers.map(({ domainPrefix }) => domainPrefix));
      cursor = page.cursor;
      turn += 1;
      await store.remove(`coming-${turn - 1}` as DomainPrefix);
      await store.save(set(`coming-${turn}`));
      await store.save(set(`shop-${String(turn * 37).padStart(5, "0")}`));
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((name) => name.startsWith("shop-"))).toHaveLength(10_000);
    await store.remove(`coming-${turn}` as DomainPrefix);
  });

  test("reads by the primary key as many rows as are on the page, and no token", async () => {
    const plans: string[] = [];
    const replies: unknown[] = [];
    const watched: PostgresPool = {
      async query(text, values) {
        const { rows } = await pool.query(`EXPLAIN (ANALYZE, TIMING OFF) ${text}`, values);
        plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        const answer = await pool.query(text, values);
        replies.push(answer.rows);
        return answer;
      },
    };
    const list = postgresTokens({ pool: watched, table }).store.list as List;
    const { cursor } = await list({ limit: 50 });
    const { retailers } = await list({ limit: 50, cursor: cursor as string });
    expect(retailers[0]).toMatchObject({ domainPrefix: "shop-00050" });
    for (const plan of plans) {
      expect(plan).toMatch(/Index Scan using tokens_pkey .*actual rows=50/);
      expect(plan).not.toContain("Sort");
    }
    expect(inspect(replies, { depth: 9 })).not.toContain("canary");
  });

  test("leaves out what somebody edited into something else, tells of it, and goes on behind it", async () => {
    const other = `${schema}.edited`;
    const { store, migrate } = postgresTokens({ pool, table: other });
    await migrate();
    for (const name of ["a", "b", "c", "d", "e"]) await store.save(set(name));
    await pool.query(`UPDATE ${other} SET issued_at = 'NaN' WHERE domain_prefix = 'b'`);
    await pool.query(`UPDATE ${other} SET domain_prefix = 'Not a Label' WHERE domain_prefix = 'c'`);
    await pool.query(`UPDATE ${other} SET domain_prefix = 'dé, 店' WHERE domain_prefix = 'd'`);
    const { listed, told } = await listedAndTold(store);
    expect(listed).toEqual(["a", "e"]);
    expect(told).toHaveLength(3);
    for (const name of ["b", undefined, undefined])
      expect(told).toContainEqual(["store_failed", "list", name]);
  });

  test("refuses the cursor of another table", async () => {
    const { cursor } = await (postgresTokens({ pool, table }).store.list as List)({ limit: 1 });
    const other = postgresTokens({ pool, table: `${schema}.other` }).store.list as List;
    await expect(other({ limit: 1, cursor: cursor as string })).rejects.toThrow(/^cursor must/);
  });
});

/** What an application lists, one retailer on a page, and whom it is told of. */
async function listedAndTold(store: TokenStore) {
  const told: unknown[] = [];
  const { retailers } = retailPos({
    baseUrl: "https://{domain_prefix}.example",
    clientId: "id",
    clientSecret: "secret",
    store: { ...store, list: (ask) => (store.list as List)({ ...ask, limit: 1 }) },
    observe: (event) => told.push([event.type, "operation" in event && event.operation, event.domainPrefix]),
  });
  const listed: string[] = [];
  for await (const { domainPrefix } of retailers()) listed.push(domainPrefix);
  return { listed, told };
}

function set(name: string) {
  return {
    domainPrefix: name as DomainPrefix,
    access: { value: "canary-access" },
    refreshToken: "canary-refresh",
    issuedAt: 1,
    version: name,
  };
}
