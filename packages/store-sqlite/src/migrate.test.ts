import { parseDomainPrefix, type TokenSet } from "@retail-pos/core";
import { lockContract, storeContract } from "@retail-pos/store-contracts";
import type Database from "libsql";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { endWorkers, runTogether, startWorker } from "../testing/processes.js";
import { version010 } from "../testing/version-0.1.0.js";
import { sqliteTokens } from "./index.js";

const here = databases();
afterEach(endWorkers);
afterAll(here.end);

const shop = parseDomainPrefix("shop");
const full: TokenSet = {
  domainPrefix: shop,
  access: { value: "old-access", expiresAt: 1_767_225_600_123 },
  refreshToken: "old-refresh",
  issuedAt: 1_767_139_200_456,
  version: "one",
  refusedAt: 1_767_225_600_999,
};

describe("a file that version 0.1.0 made", () => {
  test("has everything still, and the new columns", async () => {
    const { store, lock } = sqliteTokens({ database: here.open(oldFile()) });
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
    const next = { ...full, version: "two", limitedUntil: 7, scope: "all" };
    expect(await store.save(next, full)).toBe(true);
    expect(await store.load(shop)).toEqual(next);
    expect(await lock("id/shop", async () => "had")).toBe("had");
  });

  test("is changed once, by processes that come at the same time, and keeps what it had", async () => {
    const file = oldFile();
    const retailers = ["one", "two", "three", "four", "five", "six"];
    await runTogether(retailers.map((retailer) => startWorker("make", file, retailer)));
    const { store } = sqliteTokens({ database: here.open(file) });
    expect(await store.load(shop)).toEqual(full);
    for (const retailer of retailers) expect(await store.load(parseDomainPrefix(retailer))).toBeDefined();
  });

  test("is the same afterwards as one that was never old", () => {
    const [database, fresh] = [here.open(oldFile()), here.open()];
    for (const each of [database, fresh]) sqliteTokens({ database: each });
    expect(layoutOf(database)).toEqual(layoutOf(fresh));
  });

  test("fails a process of 0.1.0 that is left running: it can neither take its lock nor save", () => {
    const file = oldFile();
    const old = here.open(file);
    version010.takeLock(old, "id/before");
    sqliteTokens({ database: here.open(file) });
    expect(() => version010.takeLock(old, "id/shop")).toThrow("no such table");
    expect(() => version010.save(old, "late", "a", 1, "r", 1, null, "shop")).toThrow("no column named");
  });

  test("is left as it was when it cannot be changed", async () => {
    const file = oldFile();
    const [database, other] = [here.open(file), here.open(file)];
    for (const each of [database, other]) each.exec("PRAGMA busy_timeout = 1");
    other.exec("BEGIN IMMEDIATE");
    expect(() => sqliteTokens({ database })).toThrow(
      /^SQLite could not use the table "retail_pos_tokens": .*locked/,
    );
    other.exec("COMMIT");
    expect(columnsOf(other)).toContain("access_expires_at");
    expect(await sqliteTokens({ database }).store.load(shop)).toEqual(full);
  });

  const shared = oldFile();
  storeContract(test, () => sqliteTokens({ database: here.open(shared) }).store, { shared: true });
  lockContract(test, () => sqliteTokens({ database: here.open(shared) }).lock, { shared: true });
});

test("a table of somebody else's, which is nearly as ours was, is not changed", () => {
  const database = here.open();
  database.exec(`CREATE TABLE retail_pos_tokens (domain_prefix TEXT PRIMARY KEY, version TEXT, access_token TEXT,
    access_expires_at INTEGER, refresh_token TEXT, issued_at INTEGER, refused_at INTEGER, theirs TEXT)`);
  const before = columnsOf(database);
  expect(() => sqliteTokens({ database })).toThrow(/^SQLite could not use the table "retail_pos_tokens": /);
  expect(columnsOf(database)).toEqual(before);
});

function oldFile(): string {
  const file = here.newFile();
  const database = here.open(file);
  version010.makeTables(database);
  version010.save(
    database,
    "one",
    "old-access",
    1_767_225_600_123,
    "old-refresh",
    1_767_139_200_456,
    1_767_225_600_999,
    "shop",
  );
  version010.save(database, "v", "a", null, "r", 1, null, "plain");
  return file;
}

function columnsOf(database: Database.Database): string[] {
  const rows = database.prepare("SELECT name FROM pragma_table_info('retail_pos_tokens')").all();
  return (rows as { name: string }[]).map(({ name }) => name);
}

/** The tables with their columns, whatever order they were made in. */
function layoutOf(database: Database.Database): unknown {
  const names = database
    .prepare("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .all();
  const columns = database.prepare(
    `SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY name`,
  );
  return (names as { name: string }[]).map(({ name }) => [name, columns.all(name)]);
}
