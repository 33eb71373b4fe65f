import { writeFileSync } from "node:fs";
import { inspect } from "node:util";
import {
  type DomainPrefix,
  parseDomainPrefix,
  type RetailPosOptions,
  retailPos,
  StoredTokensError,
  type TokenSet,
} from "@retail-pos/core";
import { storeContract } from "@retail-pos/store-contracts";
import { afterAll, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { type SqliteDatabase, type SqliteTokensOptions, sqliteTokens } from "./index.js";

const here = databases();
afterAll(here.end);

const shop = parseDomainPrefix("shop");
const shared = here.newFile();

describe("on one file", () => {
  storeContract(test, () => sqliteTokens({ database: here.open(shared) }).store, { shared: true });
});
describe("in memory", () => {
  storeContract(test, () => sqliteTokens({ database: here.open(":memory:") }).store);
});
describe("where the driver gives every integer as a bigint", () => {
  storeContract(test, () => {
    const database = here.open().defaultSafeIntegers(true);
    return sqliteTokens({ database: withBigintChanges(database) }).store;
  });
});

describe("its connection", () => {
  test("is in WAL mode, waits for others, and a save outlasts a power failure", () => {
    const database = here.open();
    sqliteTokens({ database });
    expect(database.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
    expect(database.prepare("PRAGMA busy_timeout").get()).toMatchObject({ timeout: 200 });
    expect(database.prepare("PRAGMA synchronous").get()).toMatchObject({ synchronous: 2 });
  });

  test("keeps a longer timeout and a stronger durability that the caller chose", () => {
    const database = here.open();
    database.exec("PRAGMA busy_timeout = 9000; PRAGMA synchronous = EXTRA");
    sqliteTokens({ database });
    expect(database.prepare("PRAGMA busy_timeout").get()).toMatchObject({ timeout: 9000 });
    expect(database.prepare("PRAGMA synchronous").get()).toMatchObject({ synchronous: 3 });
  });

  test("does without WAL where it cannot be had", async () => {
    const file = here.newFile();
    const reader = here.open(file);
    sqliteTokens({ database: reader });
    reader.exec("PRAGMA journal_mode = DELETE; BEGIN");
    reader.prepare("SELECT * FROM retail_pos_tokens").get();
    const database = here.open(file);
    const { store } = sqliteTokens({ database });
    reader.exec("COMMIT");
    expect(database.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "delete" });
    expect(await store.save(set())).toBe(true);
  });
});

describe("a restart", () => {
  test("loses nothing, and the tables are made once", async () => {
    const file = here.newFile();
    const database = here.open(file);
    await sqliteTokens({ database }).store.save(set());
    database.close();
    const { store } = sqliteTokens({ database: here.open(file) });
    sqliteTokens({ database: here.open(file) });
    expect(await store.load(shop)).toEqual(set());
  });
});

describe("two tables in one file", () => {
  test("know nothing of each other", async () => {
    const database = here.open();
    const one = sqliteTokens({ database, table: "One_1" }).store;
    const other = sqliteTokens({ database, table: "select" }).store; // a word of SQL
    await one.save(set());
    expect(await other.load(shop)).toBeUndefined();
  });
});

const clientOn = (tokens: Pick<RetailPosOptions, "store" | "lock">) =>
  retailPos({
    baseUrl: "https://{domain_prefix}.example",
    clientId: "id",
    clientSecret: "secret",
    ...tokens,
  });

describe("a row that somebody edited", () => {
  const edits: [string, string, RegExp][] = [
    ["an instant as text", "expires_at = '2026-01-01'", /expiresAt is no instant/],
    ["an issue date as text", "issued_at = 'yesterday'", /issuedAt is no instant/],
    ["an infinite instant", "refused_at = 9e999", /refusedAt is no instant/],
    ["an access token of bytes", "access_token = x'00ff'", /access/],
    ["no refresh token", "refresh_token = ''", /refreshToken is missing/],
    ["no version", "version = ''", /version is missing/],
  ];
  for (const [what, edit, message] of edits) {
    test(`${what}: a typed error without a token, and the next login replaces the row`, async () => {
      const database = here.open();
      const { store } = sqliteTokens({ database });
      await store.save(set());
      database.exec(`UPDATE retail_pos_tokens SET ${edit}`);
      const error = await failureOf(clientOn({ store }).status(shop));
      expect(error).toBeInstanceOf(StoredTokensError);
      expect(error).toMatchObject({ message: expect.stringMatching(message), domainPrefix: "shop" });
      expect(inspect(error)).not.toContain("canary");
      expect(await store.save(set())).toBe(true);
      expect(await store.load(shop)).toEqual(set());
    });
  }

  test("an access token that can stand in no header is refused by the application", async () => {
    const database = here.open();
    const tokens = sqliteTokens({ database });
    await tokens.store.save(set());
    database.exec("UPDATE retail_pos_tokens SET access_token = 'canary' || char(10) || 'x'");
    const error = await failureOf(clientOn(tokens).tokens("shop").token());
    expect(error).toBeInstanceOf(StoredTokensError);
    expect(inspect(error)).not.toContain("canary");
  });
});

describe("a table of another layout", () => {
  for (const table of ["tokens (domain_prefix TEXT PRIMARY KEY, version TEXT)", "tokens_lock (key TEXT)"]) {
    test(`${table}: an error that names it, at construction`, () => {
      const database = here.open();
      database.exec(`CREATE TABLE ${table}`);
      const name = table.split(" ")[0];
      expect(() => sqliteTokens({ database, table: "tokens" })).toThrow(
        new RegExp(`SQLite could not use the table "${name}": `),
      );
    });
  }

  test("a file that is no database is an error", () => {
    const file = here.newFile();
    writeFileSync(file, "no database ".repeat(1000));
    expect(() => sqliteTokens({ database: here.open(file) })).toThrow(/^SQLite could not/);
  });
});

describe("a connection that may only read, with its tables there", () => {
  const message =
    'SQLite could not write to the table "retail_pos_tokens": attempt to write a readonly database';

  test.each([
    ["opened so", (file: string) => `file:${file}?mode=ro`, "OFF"],
    ["set so", (file: string) => file, "ON"],
  ])("is an error at construction: %s", (_, nameOf, queryOnly) => {
    const file = here.newFile();
    sqliteTokens({ database: here.open(file) });
    const database = here.open(nameOf(file));
    database.exec(`PRAGMA query_only = ${queryOnly}`);
    expect(() => sqliteTokens({ database })).toThrow(message);
    const writer = here.open(file);
    writer.exec("BEGIN IMMEDIATE");
    expect(() => sqliteTokens({ database })).toThrow(/^SQLite could not .*readonly/);
    writer.exec("ROLLBACK");
  });

  test.each(["IMMEDIATE", "EXCLUSIVE"])(
    "is none if another process writes (%s), or this one",
    async (how) => {
      const file = here.newFile();
      const [database, other] = [here.open(file), here.open(file)];
      sqliteTokens({ database: other });
      other.exec(`BEGIN ${how}; DELETE FROM retail_pos_tokens`);
      const { store } = sqliteTokens({ database });
      other.exec("COMMIT");
      expect(await store.save(set())).toBe(true);
      database.exec("BEGIN");
      sqliteTokens({ database });
      database.exec("COMMIT");
      expect(await store.load(shop)).toEqual(set());
    },
  );
});

describe("when SQLite fails", () => {
  test("a full disk: an error without tokens, and what was stored stays whole", async () => {
    const database = here.open();
    const { store, lock } = sqliteTokens({ database });
    await store.save(set());
    database.exec("PRAGMA max_page_count = 1");
    const large = set({ version: "2", refreshToken: "refresh-canary".repeat(5000) });
    for (const save of [() => store.save(large, set()), () => store.save(large)]) {
      const error = await failureOf(save());
      expect(error).toMatchObject({
        message: 'SQLite could not save the tokens of retailer "shop": database or disk is full',
        code: "store_failed",
        operation: "save",
        cause: { code: "SQLITE_FULL" },
      });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("canary");
      expect(await store.load(shop)).toEqual(set());
    }
    expect(await lock("key", async () => "there was room for this")).toBe("there was room for this");
    expect(await store.save(set({ version: "3" }), set())).toBe(true);
  });

  test("a file that stays locked: tried again a few times, then an error without tokens", async () => {
    const file = here.newFile();
    const database = here.open(file);
    const other = here.open(file);
    const { store } = sqliteTokens({ database });
    database.exec("PRAGMA busy_timeout = 1");
    other.exec("BEGIN IMMEDIATE");
    const error = await failureOf(store.save(set()));
    expect(error).toMatchObject({ message: expect.stringMatching(/locked/), cause: { code: "SQLITE_BUSY" } });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("canary");
    other.exec("COMMIT");
    expect(await store.load(shop)).toBeUndefined();
  });

  test("a file that is locked for a moment is waited for", async () => {
    const file = here.newFile();
    const database = here.open(file);
    const other = here.open(file);
    const { store } = sqliteTokens({ database });
    database.exec("PRAGMA busy_timeout = 1");
    other.exec("BEGIN IMMEDIATE");
    const saved = store.save(set());
    other.exec("COMMIT");
    expect(await saved).toBe(true);
  });

  test("a save that succeeds is in the file, also after another write has failed for good", async () => {
    const file = here.newFile();
    const [database, other] = [here.open(file), here.open(file)];
    const { store } = sqliteTokens({ database });
    const elsewhere = sqliteTokens({ database: other }).store;
    for (const each of [database, other]) each.exec("PRAGMA busy_timeout = 1");
    other.exec("BEGIN IMMEDIATE");
    await expect(store.remove(shop)).rejects.toThrow("locked");
    other.exec("ROLLBACK");
    expect(await store.save(set())).toBe(true);
    expect(await elsewhere.load(shop)).toEqual(set());
    await elsewhere.remove(shop); // nor does it keep the file locked
  });

  test("a transaction that the application left open is an error, and takes no token along", async () => {
    const database = here.open();
    const { store } = sqliteTokens({ database });
    database.exec("BEGIN");
    await expect(store.save(set())).rejects.toThrow(/SQLite could not save .*transaction/);
    database.exec("ROLLBACK");
    expect(await store.load(shop)).toBeUndefined();
    expect(await store.save(set())).toBe(true);
  });

  test("tokens that a driver repeats in its message are hidden", async () => {
    const database = here.open();
    const telling: SqliteDatabase = {
      exec: (sql) => database.exec(sql),
      prepare: (sql) =>
        /^\s*INSERT/.test(sql)
          ? {
              get: () => undefined,
              all: () => [],
              run(...values) {
                throw Object.assign(new Error(`cannot bind ${values}`), { values });
              },
            }
          : database.prepare(sql),
    };
    const error = await failureOf(sqliteTokens({ database: telling }).store.save(set()));
    expect(inspect(error)).toMatch(/cannot bind shop,\[hidden\],1767225600123,\[hidden\]/);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("canary");
  });
});

describe("a mistake in the options is a TypeError that names the option", () => {
  const database = here.open();
  const asyncDatabase = { exec: async () => {}, prepare: () => ({ all: async () => [{ one: 1 }] }) };
  const mistakes: [string, unknown, RegExp][] = [
    ["no options", undefined, /^options must/],
    ["no database", {}, /^database must/],
    ["a path", { database: "tokens.db" }, /^database must/],
    ["a database by another name", { db: database }, /^db is no option; it is called database here$/],
    ["a misspelt table", { database, tabel: "t" }, /^tabel is no option; it is called table here$/],
    ["an asynchronous driver", { database: asyncDatabase }, /^database must/],
    [
      "one that prepares asynchronously too",
      { database: { ...asyncDatabase, prepare: async () => {} } },
      /^database must/,
    ],
    ["a table that is no text", { database, table: 7 }, /^table must/],
    ["null for a table", { database, table: null }, /^table must/],
    ["null for a database", { database: null }, /^database must/],
    ["null for options", null, /^options must/],
    ["an empty table", { database, table: "" }, /^table must/],
    ["SQL in the table", { database, table: 'a"; DROP TABLE b; --' }, /^table must/],
    ["another schema's table", { database, table: "main.tokens" }, /^table must/],
    ["a digit first", { database, table: "1tokens" }, /^table must/],
    ["a very long name", { database, table: "t".repeat(61) }, /^table must/],
    ["a name of SQLite's own", { database, table: "SQLite_tokens" }, /^table must/],
  ];
  for (const [what, options, message] of mistakes) {
    test(what, () => {
      const make = () => sqliteTokens(options as SqliteTokensOptions);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(message);
    });
  }
});

test("only `store` and `lock` come out, so that they can be spread into retailPos", () => {
  expect(Object.keys(sqliteTokens({ database: here.open() }))).toEqual(["store", "lock"]);
});

function set(difference: Partial<TokenSet> = {}): TokenSet {
  return {
    domainPrefix: "shop" as DomainPrefix,
    access: { value: "access-canary", expiresAt: 1_767_225_600_123 },
    refreshToken: "refresh-canary",
    issuedAt: 1_767_139_200_456,
    version: "1",
    ...difference,
  };
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable("it should have failed"),
    (error: unknown) => error,
  );
}

/** As `node:sqlite` answers with `readBigInts`. */
function withBigintChanges(database: SqliteDatabase): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        get: (...values) => statement.get(...values) ?? null,
        all: (...values) => statement.all(...values),
        run: (...values) => ({ changes: BigInt(statement.run(...values).changes) }),
      };
    },
  };
}
