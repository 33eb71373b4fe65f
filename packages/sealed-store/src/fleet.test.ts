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
    const header = { alg: "dir", enc: "A256GCM", kid: "two words", retailer: "shop" };
    const foreign = await new CompactEncrypt(Buffer.from("x"))
      .setProtectedHeader(header)
      .encrypt(randomBytes(32));
    await inner.save({ ...set, access: { value: foreign }, refreshToken: foreign });
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
      "keyOf",
      "load",
      "remove",
      "save",
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
