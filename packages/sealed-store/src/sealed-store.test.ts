import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  memoryStore,
  parseDomainPrefix,
  retailPos,
  StoredTokensError,
  type TokenSet,
  type TokenStore,
} from "@retail-pos/core";
import { startSandbox, virtualClock } from "@retail-pos/sandbox";
import { storeContract } from "@retail-pos/store-contracts";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";
import { afterAll, describe, expect, test } from "vitest";
import { type SealedStoreOptions, type SealingKey, sealedStore, sealingKeys } from "./index.js";

const folder = mkdtempSync(join(tmpdir(), "retail-pos-sealed-"));
const opened: Database.Database[] = [];
afterAll(() => {
  for (const database of opened) database.close();
  rmSync(folder, { recursive: true });
});

const shop = parseDomainPrefix("shop");
const other = parseDomainPrefix("other");
const key: SealingKey = { id: "2026-01", secret: randomBytes(32) };
const newKey: SealingKey = { id: "2026-07", secret: randomBytes(32).toString("base64") };

describe("over the memory store", () => {
  storeContract(test, () => sealedStore(memoryStore(), { keys: [key] }));
});
describe("over one SQLite file, with keys in either order", () => {
  const keysInTurn = [
    [key, newKey],
    [newKey, key],
  ];
  let made = 0;
  storeContract(test, () => sealedStore(sqlite("contract.db"), { keys: keysInTurn[made++ % 2] ?? [] }), {
    shared: true,
  });
});

describe("what is stored", () => {
  test("shows everything but the tokens, and says in its version that it is sealed", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [key] }).save(set({ refusedAt: 5 }));
    const stored = await inner.load(shop);
    expect(stored).toEqual({
      ...set({ refusedAt: 5 }),
      access: {
        value: expect.stringMatching(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/),
        expiresAt: 1_767_225_600_123,
      },
      refreshToken: expect.stringMatching(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/),
      version: "sealed:1",
    });
    const header = Buffer.from(stored?.refreshToken.split(".")[0] ?? "", "base64url").toString();
    expect(JSON.parse(header)).toEqual({
      alg: "dir",
      enc: "A256GCM",
      kid: "2026-01",
      retailer: "shop",
      version: "1",
      part: "refresh",
    });
  });

  test("shows no token and no key in the bytes of the file", async () => {
    const inner = sqlite("canary.db");
    const secret = randomBytes(32);
    const store = sealedStore(inner, { keys: [{ id: "k", secret }] });
    await store.save(set());
    await store.save(set({ version: "2" }), set());
    const files = readdirSync(folder).filter((name) => name.startsWith("canary.db"));
    const bytes = Buffer.concat(files.map((name) => readFileSync(join(folder, name))));
    expect(bytes.includes("shop")).toBe(true); // these are the right files
    for (const canary of [
      "access-canary",
      "refresh-canary",
      secret,
      Buffer.from("canary").toString("base64url"),
    ])
      expect(bytes.includes(canary)).toBe(false);
  });

  test("is never the same twice", async () => {
    const inner = memoryStore();
    const store = sealedStore(inner, { keys: [key] });
    await store.save(set());
    const before = await inner.load(shop);
    await store.save(set());
    expect((await inner.load(shop))?.refreshToken).not.toBe(before?.refreshToken);
  });

  test("the store underneath never gets a token, not even of the set that is replaced", async () => {
    const seen: unknown[] = [];
    const inner = memoryStore();
    const curious: TokenStore = {
      load: (domainPrefix) => inner.load(domainPrefix),
      save(...sets) {
        seen.push(...sets.map((given) => given && { ...given }));
        return inner.save(...sets);
      },
      remove: (domainPrefix) => inner.remove(domainPrefix),
    };
    const store = sealedStore(curious, { keys: [key] });
    await store.save(set());
    expect(await store.save(set({ version: "2" }), set())).toBe(true);
    expect(await store.save(set({ version: "3" }), set())).toBe(false);
    expect(JSON.stringify(seen)).not.toContain("canary");
  });
});

describe("rotating keys", () => {
  test("the first key seals, all of them open, and a saved set needs the old key no more", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [key] }).save(set());
    const both = sealedStore(inner, { keys: [newKey, key] });
    expect(await both.load(shop)).toEqual(set());
    const held = (await both.load(shop)) as TokenSet;
    expect(await both.save(held, held)).toBe(true);
    expect(await sealedStore(inner, { keys: [newKey] }).load(shop)).toEqual(set());
  });

  test("a process that does not have the new key yet says which one it lacks", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [newKey, key] }).save(set());
    await expectUnusable(
      sealedStore(inner, { keys: [key] }),
      'access.value is sealed with the key "2026-07", which is not among keys',
    );
  });

  test("its advice is to give the key, and not to log in again, which would replace good tokens", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [newKey, key] }).save(set());
    const loading = sealedStore(inner, { keys: [key] }).load(shop);
    await expect(loading).rejects.toThrow(
      /which is not among keys\. Give that key too, behind the first one$/,
    );
  });

  test("a secret may be bytes, base64 or base64url", async () => {
    const inner = memoryStore();
    const bytes = randomBytes(32);
    await sealedStore(inner, { keys: [{ id: "k", secret: new Uint8Array(bytes) }] }).save(set());
    for (const secret of [bytes, bytes.toString("base64"), bytes.toString("base64url")])
      expect(await sealedStore(inner, { keys: [{ id: "k", secret }] }).load(shop)).toEqual(set());
  });

  test("what happens to the bytes of a secret afterwards does not matter", async () => {
    const secret = randomBytes(32);
    const store = sealedStore(memoryStore(), { keys: [{ id: "k", secret }] });
    await store.save(set());
    secret.fill(0);
    expect(await store.load(shop)).toEqual(set());
  });
});

describe("keys in a setting", () => {
  const [first, second] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64url")];

  test("are read in their order, with commas between", () => {
    const keys = [
      { id: "2026:02", secret: first },
      { id: "2026-01", secret: second },
    ];
    expect(sealingKeys(`2026:02:${first}, 2026-01:${second}`)).toEqual(keys);
  });

  test.each([
    ["no setting", undefined, "there is no key"],
    ["an empty one", " ", "there is no key"],
    ["a secret alone", first, "keys[0] must be <id>:"],
    ["a comma at the end", `a:${first},`, "keys[1] must be <id>:"],
    ["a short secret", `a:${first},b:hunter2`, "keys[1].secret must have 32 bytes"],
    ["one id twice", `a:${first},a:${second}`, "keys[0].id is the id of another key too"],
  ])("%s: a TypeError that names the place, and no secret", (_what, text, told) => {
    const attempt = () => sealingKeys(text);
    expect(attempt).toThrow(TypeError);
    expect(attempt).toThrow(told);
    for (const secret of [first, second, "hunter2"]) expect(attempt).not.toThrow(secret);
  });
});

describe("a record that is not what was saved there", () => {
  const records: [string, (sealed: TokenSet, elsewhere: Elsewhere) => Partial<TokenSet>, string][] = [
    ["tokens that were never sealed", () => ({ ...set() }), "access.value is not sealed"],
    [
      "only the refresh token unsealed",
      () => ({ refreshToken: "refresh-canary" }),
      "refreshToken is not sealed",
    ],
    [
      "a changed byte",
      ({ refreshToken }) => ({ refreshToken: changed(refreshToken, 3) }),
      'refreshToken was changed after it was sealed, or the key "2026-01" has another secret now',
    ],
    [
      "a changed tag",
      ({ refreshToken }) => ({ refreshToken: changed(refreshToken, 4) }),
      "refreshToken was changed after it was sealed",
    ],
    [
      "a changed header",
      ({ refreshToken }) => ({ refreshToken: withHeader(refreshToken, { retailer: "other" }) }),
      "refreshToken was changed after it was sealed",
    ],
    [
      "another algorithm named",
      ({ refreshToken }) => ({ refreshToken: withHeader(refreshToken, { enc: "A256CBC-HS512" }) }),
      "refreshToken was changed after it was sealed",
    ],
    [
      "a key id that nobody would choose",
      ({ refreshToken }) => ({ refreshToken: withHeader(refreshToken, { kid: "canary\n" }) }),
      "refreshToken is not sealed",
    ],
    [
      "another retailer's tokens",
      (_sealed, { ofOther }) => ({ access: ofOther.access, refreshToken: ofOther.refreshToken }),
      "access.value was sealed for another retailer",
    ],
    [
      "another retailer's refresh token",
      (_sealed, { ofOther }) => ({ refreshToken: ofOther.refreshToken }),
      "refreshToken was sealed for another retailer",
    ],
    [
      "an older refresh token of the same retailer",
      (_sealed, { older }) => ({ refreshToken: older.refreshToken }),
      "refreshToken was sealed for another version of the record",
    ],
    [
      "another version",
      () => ({ version: "sealed:7" }),
      "access.value was sealed for another version of the record",
    ],
    [
      "the two tokens swapped",
      ({ access, refreshToken }) => ({ access: { value: refreshToken }, refreshToken: access.value }),
      "access.value was sealed as the other token of the record",
    ],
    ["no mark", () => ({ version: "1" }), "access.value is not sealed"],
    ["no version", () => ({ version: undefined as never }), "access.value is not sealed"],
    ["no access token", () => ({ access: undefined as never }), "access.value is not sealed"],
    ["a number for a token", () => ({ refreshToken: 7 as never }), "refreshToken is not sealed"],
  ];
  for (const [what, edit, problem] of records) {
    test(`${what}: a typed error without a token`, async () => {
      const inner = memoryStore();
      const store = sealedStore(inner, { keys: [key] });
      const elsewhere = await recordsElsewhere(inner, store);
      await store.save(set());
      const sealed = (await inner.load(shop)) as TokenSet;
      const edited = { ...sealed, ...edit(sealed, elsewhere) };
      await expectUnusable(sealedStore(holding(edited), { keys: [key] }), problem);
    });
  }

  test("the same key id with another secret", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [key] }).save(set());
    await expectUnusable(
      sealedStore(inner, { keys: [{ id: key.id, secret: randomBytes(32) }] }),
      'access.value was changed after it was sealed, or the key "2026-01" has another secret now. Mend the secret if',
    );
  });

  test("the next login replaces it", async () => {
    const inner = memoryStore();
    await inner.save(set());
    const store = sealedStore(inner, { keys: [key] });
    await expectUnusable(store, "is not sealed");
    expect(await store.save(set())).toBe(true);
    expect(await store.load(shop)).toEqual(set());
  });

  test("a store that holds plain tokens is sealed by loading from it and saving to the sealed one", async () => {
    const inner = memoryStore();
    await inner.save(set());
    const held = (await inner.load(shop)) as TokenSet;
    expect(await sealedStore(inner, { keys: [key] }).save(held, held)).toBe(true);
    expect((await inner.load(shop))?.refreshToken).not.toContain("canary");
  });

  test("and once more is refused: what is sealed twice is no token once it is opened", async () => {
    const inner = memoryStore();
    const store = sealedStore(inner, { keys: [key] });
    await store.save(set());
    const held = (await inner.load(shop)) as TokenSet;
    for (const keys of [[key], [newKey]]) {
      const again = sealedStore(inner, { keys }).save(held, held);
      await expect(again).rejects.toThrow(/^the set of retailer "shop" is sealed already/);
    }
    expect(await store.load(shop)).toEqual(set());
  });
});

test("an application logs in, renews and restarts on a sealed SQLite file", async () => {
  const clock = virtualClock();
  const sandbox = await startSandbox({ clock, lifetimeMs: 3_600_000 });
  const { authUrl, baseUrl, application } = sandbox;
  const started = (keys: SealingKey[]) => {
    const { store, lock } = sqliteTokens({ database: open("application.db") });
    return retailPos({ authUrl, baseUrl, ...application, clock, lock, store: sealedStore(store, { keys }) });
  };
  const pos = started([key]);
  const code = sandbox.approve("harbour-coffee").searchParams.get("code") ?? "";
  await pos.connect(await pos.exchange("harbour-coffee", code));
  for (const keys of [[key], [newKey, key], [newKey]]) {
    clock.advance(3_600_001);
    const { value } = await started(keys).tokens("harbour-coffee").token();
    expect(sandbox.accepts("harbour-coffee", value)).toBe(true);
  }
  expect(sandbox.tokenRequests().map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  await sandbox.close();
});

describe("a mistake in the options is a TypeError that names it, never a secret", () => {
  const hex = randomBytes(32).toString("hex");
  const mistakes: [string, unknown, unknown, RegExp][] = [
    ["no store", undefined, { keys: [key] }, /^store must/],
    ["no store but its options", { store: memoryStore(), lock: 1 }, { keys: [key] }, /^store must/],
    ["no options", memoryStore(), undefined, /^keys must/],
    ["a misspelt keys", memoryStore(), { key: [key] }, /^key is no option; it is called keys here$/],
    [
      "a plain that is none of the two",
      memoryStore(),
      { keys: [key], plain: true },
      /^plain must be "write" or "read", or left out/,
    ],
    ["no list of keys", memoryStore(), { keys: key }, /^keys must/],
    ["null for keys", memoryStore(), { keys: null }, /^keys must/],
    ["null for a secret", memoryStore(), { keys: [{ id: "a", secret: null }] }, /^keys\[0\]\.secret must/],
    ["no key", memoryStore(), { keys: [] }, /^keys must/],
    ["a key that is none", memoryStore(), { keys: [undefined] }, /^keys\[0\]\.id must/],
    ["a key without an id", memoryStore(), { keys: [{ secret: key.secret }] }, /^keys\[0\]\.id must/],
    ["an empty id", memoryStore(), { keys: [{ ...key, id: "" }] }, /^keys\[0\]\.id must/],
    ["an id of many lines", memoryStore(), { keys: [{ ...key, id: "a\nb" }] }, /^keys\[0\]\.id must/],
    [
      "an id twice",
      memoryStore(),
      { keys: [key, newKey, { ...newKey, id: key.id }] },
      /^keys\[0\]\.id .*another key/,
    ],
    ["no secret", memoryStore(), { keys: [key, { id: "b" }] }, /^keys\[1\]\.secret must .*; none was given$/],
    [
      "a secret that is a number",
      memoryStore(),
      { keys: [{ id: "a", secret: 7 }] },
      /^keys\[0\]\.secret must be a Uint8Array/,
    ],
    [
      "a short secret",
      memoryStore(),
      { keys: [{ id: "a", secret: randomBytes(16) }] },
      /must have 32 bytes, not 16/,
    ],
    [
      "a long secret",
      memoryStore(),
      { keys: [{ id: "a", secret: randomBytes(33).toString("base64") }] },
      /^keys\[0\]\.secret must have 32 bytes, not 33/,
    ],
    [
      "a hex secret",
      memoryStore(),
      { keys: [{ id: "a", secret: hex }] },
      /^keys\[0\]\.secret looks like hex/,
    ],
    ["a passphrase", memoryStore(), { keys: [{ id: "a", secret: "correct horse" }] }, /secret is no base64/],
    [
      "an empty secret",
      memoryStore(),
      { keys: [{ id: "a", secret: "" }] },
      /^keys\[0\]\.secret is no base64/,
    ],
  ];
  for (const [what, store, options, message] of mistakes) {
    test(what, () => {
      const make = () => sealedStore(store as TokenStore, options as SealedStoreOptions);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(message);
      expect(make).not.toThrow(new RegExp(`${hex}|horse`));
    });
  }
});

interface Elsewhere {
  readonly ofOther: TokenSet;
  readonly older: TokenSet;
}

/** Sealed records of another retailer and of an older version. */
async function recordsElsewhere(inner: TokenStore, store: TokenStore): Promise<Elsewhere> {
  await store.save(set({ domainPrefix: other }));
  await store.save(set({ version: "0" }));
  return { ofOther: (await inner.load(other)) as TokenSet, older: (await inner.load(shop)) as TokenSet };
}

async function expectUnusable(store: TokenStore, problem: string): Promise<void> {
  const error = await store.load(shop).then(
    () => expect.unreachable("it should not have been opened"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoredTokensError);
  expect(error).toMatchObject({ code: "bad_stored_tokens", domainPrefix: "shop" });
  expect((error as Error).message).toContain(problem);
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("canary");
}

/** A store in which somebody has put this. */
function holding(record: TokenSet): TokenStore {
  return { load: async () => record, save: async () => true, remove: async () => {} };
}

/** One character in the middle of a part of the JWE is another. */
function changed(jwe: string, part: number): string {
  const parts = jwe.split(".");
  const text = parts[part] ?? "";
  const at = text.length >> 1;
  parts[part] = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
  return parts.join(".");
}

function withHeader(jwe: string, difference: object): string {
  const [header = "", ...rest] = jwe.split(".");
  const edited = { ...JSON.parse(Buffer.from(header, "base64url").toString()), ...difference };
  return [Buffer.from(JSON.stringify(edited)).toString("base64url"), ...rest].join(".");
}

function open(file: string): Database.Database {
  const database = new Database(join(folder, file));
  opened.push(database);
  return database;
}

function sqlite(file: string): TokenStore {
  return sqliteTokens({ database: open(file) }).store;
}

function set(difference: Partial<TokenSet> = {}): TokenSet {
  return {
    domainPrefix: shop,
    access: { value: "access-canary", expiresAt: 1_767_225_600_123 },
    refreshToken: "refresh-canary",
    issuedAt: 1_767_139_200_456,
    version: "1",
    ...difference,
  };
}
