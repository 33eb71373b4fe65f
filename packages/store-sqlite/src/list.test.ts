import { inspect } from "node:util";
import { type DomainPrefix, retailPos, type TokenStore } from "@retail-pos/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { type SqliteDatabase, sqliteTokens } from "./index.js";

type List = NonNullable<TokenStore["list"]>;

const here = databases();
afterAll(here.end);

describe("a list in SQLite", () => {
  const file = here.newFile();
  beforeAll(() => {
    const database = here.open(file);
    sqliteTokens({ database });
    database.exec(`INSERT INTO retail_pos_tokens
      WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999)
      SELECT 'shop-' || substr('0000' || n, -5), 'canary-access', n, 'canary-refresh', n, n, NULL, NULL, NULL, NULL FROM numbers`);
  });

  test("has ten thousand retailers once each, whoever comes and goes", async () => {
    const { store } = sqliteTokens({ database: here.open(file) });
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

  test("is read by the primary key from where the page begins, and brings no token into the process", async () => {
    const database = here.open(file);
    const [plans, rows]: [string[], unknown[]] = [[], []];
    const watched: SqliteDatabase = {
      exec: (sql) => database.exec(sql),
      prepare(sql) {
        const statement = database.prepare(sql);
        return {
          get: (...values) => statement.get(...values),
          run: (...values) => statement.run(...values),
          all(...values) {
            const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as {
              detail: string;
            }[];
            plans.push(steps.map(({ detail }) => detail).join("\n"));
            rows.push(...statement.all(...values));
            return statement.all(...values);
          },
        };
      },
    };
    const list = sqliteTokens({ database: watched }).store.list as List;
    const { cursor } = await list({ limit: 50 });
    plans.length = rows.length = 0;
    const { retailers } = await list({ limit: 50, cursor: cursor as string });
    expect(retailers[0]).toMatchObject({ domainPrefix: "shop-00050" });
    expect(plans).toEqual([
      expect.stringMatching(/^SEARCH retail_pos_tokens USING INDEX \S+ \(domain_prefix>\?\)$/),
    ]);
    expect(rows).toHaveLength(50);
    expect(inspect(rows, { depth: 9 })).not.toContain("canary");
  });

  test("leaves out what somebody edited into something else, tells of it, and goes on behind it", async () => {
    const database = here.open();
    const { store } = sqliteTokens({ database });
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) await store.save(set(name));
    database.exec("UPDATE retail_pos_tokens SET issued_at = 'yesterday' WHERE domain_prefix = 'b'");
    database.exec("UPDATE retail_pos_tokens SET domain_prefix = 'cA' WHERE domain_prefix = 'c'");
    database.exec("UPDATE retail_pos_tokens SET expires_at = 9e999 WHERE domain_prefix = 'd'");
    database.exec("UPDATE retail_pos_tokens SET scope = x'00' WHERE domain_prefix = 'e'");
    database.exec("UPDATE retail_pos_tokens SET domain_prefix = 'fé, 店' WHERE domain_prefix = 'g'");
    database.exec("UPDATE retail_pos_tokens SET domain_prefix = x'68' WHERE domain_prefix = 'h'");
    const { listed, told } = await listedAndTold(store);
    expect(listed).toEqual(["a", "f"]);
    const names = ["b", undefined, "d", "e", undefined, undefined]; // in the order of the file
    expect(told).toEqual(names.map((name) => ["store_failed", "list", name]));
  });

  test("refuses the cursor of another table", async () => {
    const database = here.open();
    const { store } = sqliteTokens({ database });
    for (const name of ["a", "b"]) await store.save(set(name));
    const { cursor } = await (store.list as List)({ limit: 1 });
    const other = sqliteTokens({ database, table: "other" }).store.list as List;
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
