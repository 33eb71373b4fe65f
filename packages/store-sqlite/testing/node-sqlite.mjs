// Run by a Node that has `node:sqlite`: the contracts, and what is this driver's own.
import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { isRetailPosError } from "@retail-pos/core";
import { lockContract, storeContract } from "@retail-pos/store-contracts";
import { sqliteTokens } from "../dist/index.js";

const folder = mkdtempSync(join(tmpdir(), "retail-pos-node-sqlite-"));
const file = join(folder, "tokens.db");
const open = (path = file, options = {}) => new DatabaseSync(path, options);
after(() => rmSync(folder, { recursive: true }));

const set = {
  domainPrefix: "shop",
  access: { value: "access-canary", expiresAt: 1_767_225_600_123 },
  refreshToken: "refresh-canary",
  issuedAt: 1_767_139_200_456,
  version: "1",
};

storeContract(test, () => sqliteTokens({ database: open() }).store, { shared: true });
lockContract(test, () => sqliteTokens({ database: open() }).lock, { shared: true });
describe("in memory", () => storeContract(test, () => sqliteTokens({ database: open(":memory:") }).store));
describe("with every integer a bigint", () => {
  const database = () => open(":memory:", { readBigInts: true });
  storeContract(test, () => sqliteTokens({ database: database() }).store);
  lockContract(test, () => sqliteTokens({ database: database() }).lock);
});

test("the file is in WAL mode, SQLite waits for others, and a save outlasts a power failure", () => {
  const database = open();
  sqliteTokens({ database });
  assert.equal(database.prepare("PRAGMA journal_mode").get().journal_mode, "wal");
  assert.equal(database.prepare("PRAGMA busy_timeout").get().timeout, 200);
  assert.equal(database.prepare("PRAGMA synchronous").get().synchronous, 2);
});

test("an instant beyond 2^53 is a typed error", async () => {
  const database = open(":memory:");
  const { store } = sqliteTokens({ database });
  await store.save(set);
  database.exec("UPDATE retail_pos_tokens SET issued_at = 9223372036854775807");
  await assert.rejects(
    store.load("shop"),
    (error) => isRetailPosError(error) && error.code === "bad_stored_tokens",
  );
});

test("a full disk is an error without tokens; what was stored stays whole", async () => {
  const database = open(join(folder, "full.db"));
  const { store } = sqliteTokens({ database });
  await store.save(set);
  database.exec("PRAGMA max_page_count = 1");
  const next = { ...set, version: "2", refreshToken: "refresh-canary".repeat(5000) };
  await assert.rejects(
    store.save(next, set),
    (error) => /full/.test(error.message) && !/canary/.test(error.stack),
  );
  assert.deepEqual(await store.load("shop"), set);
});

test("a file that another connection keeps locked is tried again, then an error", async () => {
  const path = join(folder, "busy.db");
  const [database, other] = [open(path), open(path)];
  const { store } = sqliteTokens({ database });
  database.exec("PRAGMA busy_timeout = 1");
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(
    store.save(set),
    (error) => /locked/.test(error.message) && !/canary/.test(error.stack),
  );
  const saved = store.save(set);
  other.exec("COMMIT");
  assert.equal(await saved, true);
});

test("a connection that may only read is an error at construction, one that has to wait for a writer is none", () => {
  const path = join(folder, "readonly.db");
  const [writer, database] = [open(path), open(path)];
  sqliteTokens({ database: writer });
  const refused =
    /^Error: SQLite could not write to the table "retail_pos_tokens": attempt to write a readonly/;
  assert.throws(() => sqliteTokens({ database: open(path, { readOnly: true }) }), refused);
  writer.exec("BEGIN IMMEDIATE");
  assert.throws(() => sqliteTokens({ database: open(path, { readOnly: true }) }), refused);
  sqliteTokens({ database });
  writer.exec("COMMIT");
});

test("a file that is deleted or replaced is noticed by the next save, also if it was opened by an address", async () => {
  const path = join(folder, "lost.db");
  for (const name of [path, pathToFileURL(path), `${pathToFileURL(path)}?mode=rwc`]) {
    for (const lose of [() => rmSync(path), () => renameSync(path, `${path}.old`)]) {
      const { store } = sqliteTokens({ database: open(name) });
      await store.save(set);
      lose();
      await assert.rejects(
        store.save({ ...set, version: "2" }, set),
        /its file or its log \(-wal\) was deleted, moved or replaced/,
      );
      sqliteTokens({ database: open(path) }); // another in its place
      await assert.rejects(store.save(set), /its file or its log \(-wal\) was deleted, moved or replaced/);
      for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
    }
  }
});

test("a closed database is an error", async () => {
  const database = open(":memory:");
  const { store } = sqliteTokens({ database });
  database.close();
  await assert.rejects(store.save(set), (error) => !/canary/.test(error.stack));
});

test("rows as arrays are no use", () => {
  assert.throws(() => sqliteTokens({ database: open(":memory:", { returnArrays: true }) }), TypeError);
});
