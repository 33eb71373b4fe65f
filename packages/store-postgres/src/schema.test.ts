import { readFileSync } from "node:fs";
import type { DomainPrefix } from "@retail-pos/core";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canRun, connect, schema, setUp, tearDown } from "../testing/postgres.js";
import { type PostgresTokensOptions, postgresTokens } from "./index.js";

const idle = { query: async () => ({ rows: [], rowCount: 0 }) };

test("schema.sql is what migrate() runs", async () => {
  const ran: string[] = [];
  const pool = {
    query: async (text: string) => {
      ran.push(text);
      return { rows: [], rowCount: 0 };
    },
  };
  await postgresTokens({ pool }).migrate();
  const shipped = readFileSync(new URL("../schema.sql", import.meta.url), "utf8");
  expect(ran.at(-1)?.endsWith(`;\n${shipped}`)).toBe(true);
});

const mistakes: readonly (readonly [string, object, string])[] = [
  ["no pool", {}, "pool"],
  ["a pool that is an address", { pool: "postgresql://127.0.0.1" }, "pool"],
  ...[
    7,
    null,
    "",
    ".",
    "a.",
    ".a",
    "a.b.c",
    'a"; DROP TABLE users; --',
    "a'b",
    "a b",
    "a\0b",
    "a\nb",
    "1a",
    "é".repeat(30),
  ].map((table) => [`the table ${JSON.stringify(table)}`, { pool: idle, table }, "table"] as const),
  ["a client for a pool", { client: idle }, "client is no option; it is called pool here"],
  ["a misspelt table", { pool: idle, tabel: "t" }, "tabel is no option; it is called table here"],
  ["a table whose lock table's name would be cut off", { pool: idle, table: "t".repeat(59) }, "table"],
];
test.each(mistakes)("%s is a TypeError that names the option", (_what, options, name) => {
  const mistake = () => postgresTokens(options as PostgresTokensOptions);
  expect(mistake).toThrow(TypeError);
  expect(mistake).toThrow(name);
});

test("without options there is a TypeError too", () => {
  expect(() => postgresTokens(undefined as unknown as PostgresTokensOptions)).toThrow(TypeError);
});

describe.each([
  ["has no rowCount, as that of PGlite", { rows: [], affectedRows: 0 }],
  ["has a text in rowCount", { rows: [], rowCount: "0" }],
  ["has null in rowCount", { rows: [], rowCount: null }],
  ["is a list of rows, as that of other drivers", []],
  ["is nothing, as of a driver with callbacks", undefined],
])("a pool whose answer %s", (_what, answer) => {
  const query = async () => answer as never;
  const { store, lock, migrate } = postgresTokens({ pool: { query } });
  const words = /could not .*: pool must be a Pool of pg/;
  test.each([
    ["load", () => store.load("harbour-coffee" as DomainPrefix)],
    ["claim", () => store.claim?.("login", 1000)],
    ["lock", () => lock("id/harbour-coffee", async () => "worked")],
  ])("is refused by name at its first answer: %s", async (operation, work) => {
    await expect(work()).rejects.toMatchObject({
      code: "store_failed",
      operation,
      message: expect.stringMatching(words),
    });
  });

  test("is refused by migrate()", async () => {
    await expect(migrate()).rejects.toThrow(words);
  });
});

describe.skipIf(!canRun)("migrate()", () => {
  beforeAll(setUp);
  afterAll(tearDown);

  test("may be run by twenty at once, and again", async () => {
    const pools = Array.from({ length: 20 }, () => connect({ max: 1 }));
    await Promise.all(pools.map((pool) => pool.query("SELECT"))); // connected, so that they do start at once
    for (const name of ["one", "two", "three", "four"]) {
      const tokens = pools.map((pool) => postgresTokens({ pool, table: `${schema}.${name}` }));
      await Promise.all(tokens.map(({ migrate }) => migrate()));
      await tokens[0]?.migrate();
      expect(await tablesIn()).toEqual(expect.arrayContaining([name, `${name}_lock`]));
    }
  });

  test("takes tables that another process makes meanwhile for what they are", async ({ onTestFinished }) => {
    const table = `${schema}.meanwhile`;
    const client = await connect({ max: 1 }).connect();
    onTestFinished(() => client.release());
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT"); // what it sees in tables stays as it is now
    await postgresTokens({ pool: connect({ max: 1 }), table }).migrate();
    await postgresTokens({ pool: client, table }).migrate();
    await client.query("COMMIT");
    expect(await tablesIn()).toEqual(expect.arrayContaining(["meanwhile", "meanwhile_lock"]));
  });

  const names = ["SELECT", "Mixed_Case", "with-hyphen", "店_é", "t".repeat(58), "user"];
  test.each(names)("makes a table called %s, and a store and a lock on it work", async (name) => {
    const pool = connect({ max: 2, options: `-c search_path=${schema}` });
    for (const table of [name, `${schema}.${name}`]) {
      const { migrate, store, lock } = postgresTokens({ pool, table });
      await migrate();
      expect(await lock("key", async () => store.load("nobody" as never))).toBeUndefined();
    }
    expect(await tablesIn()).toEqual(expect.arrayContaining([name, `${name}_lock`]));
  });

  test("makes what is missing when only one table is there", async () => {
    const pool = connect({ max: 1 });
    const { migrate } = postgresTokens({ pool, table: `${schema}.half` });
    await migrate();
    await pool.query(`DROP TABLE ${schema}.half_lock`);
    await migrate();
    expect(await tablesIn()).toEqual(expect.arrayContaining(["half", "half_lock"]));
  });

  test("says of a table with other columns that it is another's, and leaves it as it is", async () => {
    const pool = connect({ max: 2 });
    await pool.query(
      `CREATE TABLE ${schema}.others (domain_prefix text PRIMARY KEY, access_token text, theirs text)`,
    );
    await expect(postgresTokens({ pool, table: `${schema}.others` }).migrate()).rejects.toThrow(
      /^PostgreSQL could not create the tables .*: it has other columns than those of schema\.sql$/,
    );
    expect(await tablesIn()).not.toContain("others_lock");
  });

  test("is what the store and the lock ask for, as long as its tables are missing", async () => {
    const { store, lock } = postgresTokens({ pool: connect({ max: 2 }), table: `${schema}.never_made` });
    for (const ask of [() => store.load("shop" as DomainPrefix), () => lock("key", async () => 1)]) {
      await expect(ask()).rejects.toMatchObject({
        code: "store_failed",
        message: expect.stringMatching(
          /does not exist; call "await tokens\.migrate\(\)" when the program starts/,
        ),
        cause: { code: "42P01" },
      });
    }
  });

  test("needs no right to create anything when the tables are there", async () => {
    const owner = connect({ max: 1 });
    const table = `${schema}.made`;
    await postgresTokens({ pool: owner, table }).migrate();
    const readOnly = connect({ max: 1, options: "-c default_transaction_read_only=on" });
    await postgresTokens({ pool: readOnly, table }).migrate();
    await expect(postgresTokens({ pool: readOnly, table: `${schema}.not_made` }).migrate()).rejects.toThrow(
      /^PostgreSQL could not create the tables .*not_made/,
    );
  });

  test.each([undefined, ""])(
    "names the tables, and says that the pool has no address, if DATABASE_URL is %j",
    async (connectionString) => {
      const pool = new pg.Pool({ connectionString, port: 1, user: "nobody" });
      await expect(postgresTokens({ pool }).migrate()).rejects.toThrow(
        /^PostgreSQL could not create the tables .*retail_pos_tokens.*: .*; the pool was given neither connectionString nor host: is DATABASE_URL set\?$/,
      );
      await pool.end();
    },
  );

  test("does not ask for an address that the pool has", async () => {
    const pool = new pg.Pool({ host: "127.0.0.1", port: 1 });
    await expect(postgresTokens({ pool }).migrate()).rejects.toThrow(/: connect ECONNREFUSED 127.0.0.1:1$/);
    await pool.end();
  });

  test("says which schema is missing", async () => {
    const { migrate } = postgresTokens({ pool: connect({ max: 1 }), table: `${schema}_none.tokens` });
    await expect(migrate()).rejects.toThrow(`schema "${schema}_none" does not exist`);
  });

  async function tablesIn(): Promise<string[]> {
    const { rows } = await connect({ max: 1 }).query(
      "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename",
      [schema],
    );
    return rows.map(({ tablename }) => tablename);
  }
});
