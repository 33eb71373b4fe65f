import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { type DomainPrefix, parseDomainPrefix, retailPos, type TokenSet } from "@retail-pos/core";
import Database from "libsql";
import { afterAll, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { sqliteTokens } from "./index.js";

const here = databases();
afterAll(here.end);

const shop = parseDomainPrefix("shop");

/** Each is done to the file while a process has it open. */
const losses: [string, (file: string) => void][] = [
  ["deleted", (file) => rmSync(file)],
  ["deleted with its log", (file) => ["", "-wal", "-shm"].forEach((end) => void rmSync(file + end))],
  ["left without its log", (file) => rmSync(`${file}-wal`)],
  ["left without its shared memory", (file) => rmSync(`${file}-shm`)],
  ["left with a copy of its log", (file) => replacedByCopy(`${file}-wal`)],
  ["left without its log, because it was moved and a link leads to it", moveBehindLink],
  ["moved", (file) => renameSync(file, `${file}.old`)],
  [
    "replaced by another",
    (file) => {
      const other = here.newFile();
      sqliteTokens({ database: here.open(other) });
      renameSync(other, file);
    },
  ],
  ["replaced by its own copy", replacedByCopy],
  ["in a folder that was renamed", (file) => renameSync(dirname(file), `${dirname(file)}-old`)],
];

describe.each(losses)("a file that is %s below the process", (loss, lose) => {
  test("is noticed by the next save, removal and claim; what is read is still there", async () => {
    const file = inFolder();
    const { store, lock } = sqliteTokens({ database: here.open(file) });
    await store.save(set("1"));
    lose(file);
    const asked: [string, () => unknown][] = [
      ["save", () => store.save(set("2"), set("1"))],
      ["save", () => store.save(set("2"), set("1"))], // the first has written it, into nothing
      ["save", () => store.save(set("3"))],
      ["claim", () => store.claim?.("a login", 1000)],
      ["remove", () => store.remove("other" as DomainPrefix)],
    ];
    for (const [operation, ask] of asked)
      await expect(ask).rejects.toMatchObject({
        code: "store_failed",
        operation,
        message: expect.stringMatching(
          /: its file or its log \(-wal\) was deleted, moved or replaced while it was open$/,
        ),
      });
    expect(await store.load(shop)).toEqual(set("3"));
    // Without its log a process reads what nobody else does, so it may renew nothing.
    const locked = lock("id/shop", async () => "had");
    if (loss.startsWith("left")) await expect(locked).rejects.toMatchObject({ operation: "lock" });
    else expect(await locked).toBe("had");
  });
});

test("a file that comes back to its place is saved to again", async () => {
  const file = inFolder();
  const { store } = sqliteTokens({ database: here.open(file) });
  renameSync(file, `${file}.away`);
  await expect(store.save(set("1"))).rejects.toThrow("moved");
  renameSync(`${file}.away`, file);
  expect(await store.save(set("2"), set("1"))).toBe(true);
});

test.each(["-wal", "-shm"])(
  "a %s that is lost before the process's first write is noticed too",
  async (end) => {
    const file = inFolder();
    const before = here.open(file);
    await sqliteTokens({ database: before }).store.save(set("1"));
    before.close();
    const { store } = sqliteTokens({ database: here.open(file) });
    expect(await store.load(shop)).toEqual(set("1"));
    rmSync(file + end);
    await expect(store.save(set("2"), set("1"))).rejects.toThrow("its log (-wal)");
  },
);

test("a log that goes because the application changes the journal mode is not missed", async () => {
  const file = inFolder();
  const database = here.open(file);
  const { store } = sqliteTokens({ database });
  await store.save(set("1"));
  expect(database.prepare("PRAGMA journal_mode = DELETE").get()).toMatchObject({ journal_mode: "delete" });
  expect(existsSync(`${file}-wal`)).toBe(false);
  expect(await store.save(set("2"), set("1"))).toBe(true);
  database.exec("PRAGMA journal_mode = WAL");
  expect(await store.save(set("3"), set("2"))).toBe(true);
  rmSync(`${file}-wal`);
  await expect(store.save(set("4"), set("3"))).rejects.toThrow("its log (-wal)");
});

test("a folder that was moved with all its files, and that a link leads to, is still in place", async () => {
  const file = inFolder();
  const { store } = sqliteTokens({ database: here.open(file) });
  await store.save(set("1"));
  renameSync(dirname(file), `${dirname(file)}-new`);
  symlinkSync(`${dirname(file)}-new`, dirname(file));
  expect(await store.save(set("2"), set("1"))).toBe(true);
  expect(await sqliteTokens({ database: here.open(file) }).store.load(shop)).toEqual(set("2"));
});

describe("an application whose token has ended", () => {
  test("hears that its renewed tokens are not saved, and goes on with them, if the file is gone", async () => {
    const { file, pos, told, requests } = await application();
    rmSync(file);
    expect((await pos.tokens("shop").token()).value).toBe("renewed");
    expect(requests).toHaveLength(1);
    expect(told.filter((type) => type !== "token_request")).toEqual([
      "connected",
      "store_failed",
      "unsaved",
      "renewed",
    ]);
    await expect(pos.connect(set("2"))).rejects.toMatchObject({ code: "store_failed", operation: "save" });
  });

  test("spends no refresh token if only the log is gone", async () => {
    const { file, pos, requests } = await application();
    rmSync(`${file}-wal`);
    const failure = { code: "store_failed", operation: "lock" };
    await expect(pos.tokens("shop").token()).rejects.toMatchObject(failure);
    expect(requests).toEqual([]);
  });

  async function application() {
    const file = inFolder();
    const [told, requests]: [string[], unknown[]] = [[], []];
    let now = 1_000;
    const pos = retailPos({
      baseUrl: "https://{domain_prefix}.example",
      clientId: "id",
      clientSecret: "secret",
      ...sqliteTokens({ database: here.open(file) }),
      clock: () => now,
      fetch: async (request) => {
        requests.push(request);
        return Response.json({ access_token: "renewed", refresh_token: "next", expires_in: 60 });
      },
      observe: (event) => told.push(event.type),
    });
    await pos.connect(set("1"));
    now += 3_600_000;
    return { file, pos, told, requests };
  }
});

describe("a database without a file", () => {
  test.each([":memory:", ""])("works as before: %j", async (name) => {
    const { store } = sqliteTokens({ database: here.open(name) });
    expect(await store.save(set("1"))).toBe(true);
    expect(await store.claim?.("a login", 1000)).toBe(true);
    await store.remove(shop);
  });

  test("or whose driver names one that this process cannot see, works as before", async () => {
    const database = new Database(":memory:");
    const elsewhere = {
      exec: (sql: string) => database.exec(sql),
      prepare: (sql: string) =>
        database.prepare(sql === "PRAGMA database_list" ? "SELECT '/nowhere/tokens.db' AS file" : sql),
    };
    const { store } = sqliteTokens({ database: elsewhere });
    expect(await store.save(set("1"))).toBe(true);
    database.close();
  });
});

function replacedByCopy(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}

/** A path in a folder of its own. */
function inFolder(): string {
  const folder = `${here.newFile()}-folder`;
  mkdirSync(folder);
  return join(folder, "tokens.db");
}

function set(version: string): TokenSet {
  return {
    domainPrefix: shop,
    access: { value: `access-${version}`, expiresAt: 2_000 },
    refreshToken: `refresh-${version}`,
    issuedAt: 1,
    version,
  };
}

/** The next process then looks for the log beside the file, where there is none. */
function moveBehindLink(file: string): void {
  const moved = join(dirname(file), "moved", "stores.sqlite");
  mkdirSync(dirname(moved));
  renameSync(file, moved);
  symlinkSync(moved, file);
}
