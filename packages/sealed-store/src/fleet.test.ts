import { randomBytes } from "node:crypto";
import { memoryStore, parseDomainPrefix, type TokenSet, type TokenStore } from "@retail-pos/core";
import { CompactEncrypt } from "jose";
import { describe, expect, test } from "vitest";
import { type SealingKey, sealedStore } from "./index.js";

const shop = parseDomainPrefix("shop");
const old: SealingKey = { id: "2026-01", secret: randomBytes(32) };
const young: SealingKey = { id: "2026-07", secret: randomBytes(32) };
const set: TokenSet = {
  domainPrefix: shop,
  access: { value: "access-canary" },
  refreshToken: "refresh-canary",
  issuedAt: 1,
  version: "1",
};

describe("the key of a retailer", () => {
  test("is the one that sealed it, until it is saved again with another first", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [old] }).save(set);
    const store = sealedStore(inner, { keys: [young, old] });
    expect(await store.keyOf("shop")).toBe("2026-01");
    expect(await store.keyOf("SHOP")).toBe("2026-01");
    const held = (await store.load(shop)) as TokenSet;
    expect(await store.save(held, held)).toBe(true);
    expect(await store.keyOf("shop")).toBe("2026-07");
  });

  test("is told though nobody has it any more", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [old] }).save(set);
    expect(await sealedStore(inner, { keys: [young] }).keyOf("shop")).toBe("2026-01");
  });

  test.each(["access", "refresh"])("is the older one if only the %s token is under it", async (part) => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [old] }).save(set);
    const before = (await inner.load(shop)) as TokenSet;
    await sealedStore(inner, { keys: [young] }).save(set);
    const after = (await inner.load(shop)) as TokenSet;
    const mixed =
      part === "access"
        ? { ...after, access: before.access }
        : { ...after, refreshToken: before.refreshToken };
    await inner.save(mixed);
    expect(await sealedStore(inner, { keys: [young, old] }).keyOf("shop")).toBe("2026-01");
  });

  test("is undefined if nothing is stored", async () => {
    expect(await sealedStore(memoryStore(), { keys: [old] }).keyOf("shop")).toBeUndefined();
  });

  test("of a plain record is an error without a token", async () => {
    const inner = memoryStore();
    await inner.save(set);
    const asked = sealedStore(inner, { keys: [old] }).keyOf("shop");
    await expect(asked).rejects.toMatchObject({
      code: "bad_stored_tokens",
      message: expect.stringMatching(/access\.value is not sealed/),
    });
    await expect(asked).rejects.not.toThrow(/canary/);
  });

  test("of a record that somebody wrote by hand is an error too", async () => {
    const inner = memoryStore();
    const foreign = await foreignJwe({ kid: "two words", retailer: "shop" });
    await inner.save({ ...set, version: "sealed:1", access: { value: foreign }, refreshToken: foreign });
    await expect(sealedStore(inner, { keys: [old] }).keyOf("shop")).rejects.toThrow("is not sealed");
  });

  test("of what is no label is an InvalidDomainPrefixError", async () => {
    await expect(sealedStore(memoryStore(), { keys: [old] }).keyOf("a.b")).rejects.toMatchObject({
      code: "invalid_domain_prefix",
    });
  });
});

describe("what a store may leave out", () => {
  test("a sealed store has if the one underneath has it, and passes it on as it is", async () => {
    const { load, save, remove } = memoryStore();
    expect(Object.keys(sealedStore({ load, save, remove }, { keys: [old] })).sort()).toEqual([
      "firstKey",
      "keyOf",
      "load",
      "remove",
      "save",
      "seal",
    ]);
    class Inner {
      readonly #mine = "its own";
      load = load;
      save = save;
      remove = remove;
      async list(ask: { limit: number }) {
        return { retailers: [], cursor: `${this.#mine} ${ask.limit}` };
      }
      async claim(key: string, forMs: number) {
        return `${this.#mine} ${key} ${forMs}` === "its own login 5";
      }
    }
    const store: TokenStore = sealedStore(new Inner(), { keys: [old] });
    expect(await store.list?.({ limit: 3 })).toEqual({ retailers: [], cursor: "its own 3" });
    expect(await store.claim?.("login", 5)).toBe(true);
  });

  test("needs no key: retailers are listed though their tokens cannot be opened", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [old] }).save({ ...set, scope: "all" });
    const { retailers } = (await sealedStore(inner, { keys: [young] }).list?.({ limit: 5 })) ?? {};
    expect(retailers).toEqual([{ domainPrefix: "shop", issuedAt: 1, scope: "all" }]);
  });
});

describe("the key that seals", () => {
  test("is the first one, whether or not anything is stored", () => {
    expect(sealedStore(memoryStore(), { keys: [young, old] }).firstKey).toBe("2026-07");
    expect(sealedStore(memoryStore(), { keys: [old] }).firstKey).toBe("2026-01");
  });
});

/** A service may issue tokens of any look, also of a seal's. */
const ofTheService = await foreignJwe({ kid: "2026-07", retailer: "shop", version: "1", part: "refresh" });

describe("plain tokens", () => {
  test.each<[string, TokenSet]>([
    ["plain words", set],
    ["signed JWTs", { ...set, access: { value: "e30.e30.c2ln" } }],
    ["JWEs of the service", { ...set, access: { value: ofTheService }, refreshToken: ofTheService }],
  ])("that are %s are sealed where they are, and open as the same set", async (_what, plain) => {
    const inner = memoryStore();
    await inner.save(plain);
    const store = sealedStore(inner, { keys: [young, old] });
    await expect(store.load(shop)).rejects.toThrow(
      /is not sealed\. If it was stored before .* it only needs sealing: retail-pos seal$/,
    );
    expect(await store.seal("SHOP")).toBe("sealed");
    expect(await store.load(shop)).toEqual(plain);
    expect(await store.keyOf("shop")).toBe("2026-07");
    expect(JSON.stringify(await inner.load(shop))).not.toContain("canary");
  });

  test("are sealed once: what is sealed already, also with an older key, is opened and stays as it is", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [old] }).save(set);
    const before = await inner.load(shop);
    expect(await sealedStore(inner, { keys: [young, old] }).seal("shop")).toBe("already");
    await expect(sealedStore(inner, { keys: [young] }).seal("shop")).rejects.toThrow(
      /"2026-01", which is not among keys/,
    );
    expect(await inner.load(shop)).toEqual(before);
  });

  test("of nobody are gone", async () => {
    expect(await sealedStore(memoryStore(), { keys: [old] }).seal("shop")).toBe("gone");
  });

  test("that a login replaces at the same moment are not put back", async () => {
    const inner = memoryStore();
    await inner.save(set);
    const login = { ...set, version: "2", refreshToken: "of-the-login" };
    const load: TokenStore["load"] = async (domainPrefix) => {
      const held = await inner.load(domainPrefix);
      await sealedStore(inner, { keys: [old] }).save(login);
      return held;
    };
    expect(await sealedStore({ ...inner, load }, { keys: [old] }).seal("shop")).toBe("changed");
    expect(await sealedStore(inner, { keys: [old] }).load(shop)).toEqual(login);
  });

  test.each<[string, (sealed: TokenSet) => Promise<object> | object]>([
    ["only one of its two tokens is plain", () => ({ refreshToken: "plain" })],
    ["a token is missing", () => ({ ...set, refreshToken: undefined })],
    ["a token is empty", () => ({ ...set, access: { value: "" } })],
    ["no version is there", () => ({ ...set, version: undefined })],
    ["they are marked as sealed", () => ({ ...set, version: "sealed:1" })],
    ["a seal lost its first letters", ({ refreshToken }) => ({ refreshToken: refreshToken.slice(3) })],
    [
      "a seal names a key that is none",
      async () => ({ refreshToken: await foreignJwe({ kid: "two words", retailer: "shop" }) }),
    ],
  ])("are left alone if %s: a typed error without a token", async (_what, edit) => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [old] }).save(set);
    const sealed = (await inner.load(shop)) as TokenSet;
    const record = { ...sealed, ...(await edit(sealed)) };
    const saved: unknown[] = [];
    const store = sealedStore(
      { ...inner, load: async () => record, save: async (next) => saved.push(next) > 0 },
      { keys: [old] },
    );
    const sealing = store.seal("shop");
    await expect(sealing).rejects.toMatchObject({ code: "bad_stored_tokens" });
    await expect(sealing).rejects.not.toThrow(/canary/);
    expect(saved).toEqual([]);
  });

  test("are not what a damaged seal is: its advice is another", async () => {
    const inner = memoryStore();
    await sealedStore(inner, { keys: [old] }).save(set);
    const sealed = (await inner.load(shop)) as TokenSet;
    const damaged = { ...sealed, access: { value: sealed.access.value.slice(3) } };
    const store = sealedStore({ ...inner, load: async () => damaged }, { keys: [old] });
    await expect(store.load(shop)).rejects.toThrow(/is not sealed\. Logging in again replaces it$/);
  });
});

/** Encrypted with a key of somebody else's. */
function foreignJwe(header: object): Promise<string> {
  return new CompactEncrypt(Buffer.from("x"))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", ...header })
    .encrypt(randomBytes(32));
}
