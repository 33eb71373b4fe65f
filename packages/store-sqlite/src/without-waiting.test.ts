import type { DomainPrefix } from "@retail-pos/core";
import type Database from "libsql";
import { afterAll, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { type SqliteDatabase, sqliteTokens } from "./index.js";

// A connection that waits ten minutes for others, as applications may set it up: a test that waited would never end.

const here = databases();
afterAll(here.end);

const PATIENCE_MS = 600_000;
const retailer = "harbour-coffee" as DomainPrefix;
const set = {
  domainPrefix: retailer,
  access: { value: "an-access-token" },
  refreshToken: "a-refresh-token",
  issuedAt: 1_767_139_200_000,
  version: "one",
};

/** The store of one connection, and another one that begins to read or write at `when`. */
async function start(when: "now" | "after the next write", begin: string) {
  const file = here.newFile();
  const [own, other] = [here.open(file), here.open(file)];
  own.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
  let isAwaited = false;
  const database: SqliteDatabase = {
    prepare: (sql) => own.prepare(sql),
    exec(sql) {
      own.exec(sql);
      if (isAwaited && sql === "COMMIT") {
        isAwaited = false;
        other.exec(begin);
      }
    },
  };
  const { store } = sqliteTokens({ database });
  await store.save(set);
  await store.claim?.("an old login", 1);
  if (when === "now") other.exec(begin);
  else isAwaited = true;
  return { store, own, other };
}

const READ = "BEGIN; SELECT * FROM retail_pos_tokens";
const WRITE = "BEGIN IMMEDIATE; UPDATE retail_pos_tokens SET scope = 'of the other'";

const timeoutOf = (database: Database.Database) =>
  (database.prepare("PRAGMA busy_timeout").get() as { timeout: number }).timeout;

describe("what may as well be done the next time waits for no other connection:", () => {
  test.each([
    ["that reads all the time, as a replication does", "now", READ],
    ["that begins to read right behind it", "after the next write", READ],
    ["that begins to write right behind it", "after the next write", WRITE],
  ] as const)("a removal, for one %s", async (_what, when, begin) => {
    const { store, own, other } = await start(when, begin);
    await store.remove(retailer);
    expect(await store.load(retailer)).toBeUndefined();
    expect(timeoutOf(own)).toBe(PATIENCE_MS);
    other.exec("ROLLBACK");
  });

  test.each([
    ["that reads all the time", "now", READ],
    ["that begins to write right behind it", "after the next write", WRITE],
  ] as const)("a claim that was won, and clears others away, for one %s", async (_what, when, begin) => {
    const { store, own, other } = await start(when, begin);
    expect(await store.claim?.("a login", 60_000)).toBe(true);
    expect(await store.claim?.("a login", 60_000)).toBe(false);
    expect(timeoutOf(own)).toBe(PATIENCE_MS);
    other.exec("ROLLBACK");
  });
});

test.each([
  ["nothing", () => undefined],
  ["no number", () => ({ changes: undefined })],
  ["a text", () => ({ changes: "1" })],
])("a driver whose run() answers %s is refused by name at its first write", async (_what, answer) => {
  const own = here.open();
  const database: SqliteDatabase = {
    exec: (sql) => own.exec(sql),
    prepare(sql) {
      const statement = own.prepare(sql);
      return {
        get: (...values) => statement.get(...values),
        all: (...values) => statement.all(...values),
        run(...values) {
          statement.run(...values);
          return answer() as never;
        },
      };
    },
  };
  const { store } = sqliteTokens({ database });
  await expect(store.save(set)).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining("database must be of a driver whose run() tells how many rows it wrote"),
  });
});
