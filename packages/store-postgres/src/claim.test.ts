import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canRun, connect, schema, setUp, tearDown } from "../testing/postgres.js";
import { type PostgresPool, postgresTokens } from "./index.js";

const table = `${schema}.tokens`;
const locks = `${table}_lock`;

describe.skipIf(!canRun)("a claim on PostgreSQL", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    await setUp();
    pool = connect();
    await postgresTokens({ pool, table }).migrate();
  });
  afterAll(tearDown);
  const keysNow = async () =>
    (await pool.query(`SELECT key FROM ${locks} ORDER BY key`)).rows.map(({ key }) => key);

  test("clears away those that have ended, not the locks of others, and leaves nothing behind", async () => {
    const { store, lock } = postgresTokens({ pool, table });
    await lock("id/shop", async () => {
      await Promise.all(Array.from({ length: 40 }, (_, each) => store.claim?.(`over ${each}`, 0.01)));
      await pool.query(`INSERT INTO ${locks} VALUES ('id/killed', 'dead', now() - interval '1 hour')`);
      expect(await store.claim?.("a login", 60_000)).toBe(true);
      expect(await keysNow()).toEqual([
        expect.stringMatching(/^claim:[0-9a-f]{64}$/),
        "id/killed",
        "id/shop",
      ]);
    });
    await pool.query(`DELETE FROM ${locks}`);
  });

  test("does no more work when there are many, ended or not: an index finds what has ended", async () => {
    await pool.query(`INSERT INTO ${locks}
      SELECT 'claim:' || n, 'somebody', now() + interval '1 hour' FROM generate_series(1, 20000) n`);
    await pool.query(`INSERT INTO ${locks}
      SELECT 'claim:over' || n, 'somebody', now() - interval '1 hour' FROM generate_series(1, 2500) n`);
    await pool.query(`ANALYZE ${locks}`);
    const { store } = postgresTokens({ pool: watched(pool), table });
    await store.claim?.("a login", 60_000);
    expect(await keysNow()).toHaveLength(20_000 + 2500 + 1 - 1000);
    expect(plans).toEqual([expect.stringMatching(/Index Scan using tokens_ends/)]);
    await pool.query(`DELETE FROM ${locks}`);
  });

  test("is won although what has ended cannot be cleared", async () => {
    const failing: PostgresPool = {
      query: (text, values) =>
        text.includes("DELETE") ? Promise.reject(new Error("no")) : pool.query(text, values),
    };
    const { store } = postgresTokens({ pool: failing, table });
    expect(await store.claim?.("won", 60_000)).toBe(true);
    expect(await store.claim?.("won", 60_000)).toBe(false);
  });

  test("asked for again by a statement whose answer was lost is won still", async () => {
    const repeating: PostgresPool = {
      query: async (text, values) => {
        await pool.query(text, values);
        return pool.query(text, values);
      },
    };
    const { store } = postgresTokens({ pool: repeating, table });
    expect(await store.claim?.("asked twice", 60_000)).toBe(true);
    expect(await store.claim?.("asked twice", 60_000)).toBe(false);
  });

  const plans: string[] = [];
  /** The same pool; tells how a DELETE was done. */
  function watched(pool: pg.Pool): PostgresPool {
    return {
      async query(text, values) {
        if (text.includes("DELETE")) {
          const { rows } = await pool.query(`EXPLAIN ${text}`, values);
          plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        }
        return pool.query(text, values);
      },
    };
  }
});
