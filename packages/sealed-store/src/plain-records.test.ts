import { randomBytes } from "node:crypto";
import { memoryStore, parseDomainPrefix, type TokenSet, type TokenStore } from "@retail-pos/core";
import { storeContract } from "@retail-pos/store-contracts";
import { describe, expect, test } from "vitest";
import { type SealedStoreOptions, sealedStore } from "./index.js";

const shop = parseDomainPrefix("shop");
const keys = [{ id: "2026-01", secret: randomBytes(32) }];

describe.each(["write", "read"] as const)("with plain: %j", (plain) => {
  describe("it is a token store", () => {
    storeContract(test, () => sealedStore(memoryStore(), { keys, plain }));
  });

  test.each(["plain", "sealed"] as const)(
    `a %s record is read, and a renewal replaces it by a ${plain === "write" ? "plain" : "sealed"} one`,
    async (form) => {
      const inner = await holding(form, setOf("1"));
      const store = sealedStore(inner, { keys, plain });
      const held = (await store.load(shop)) as TokenSet;
      expect(held).toEqual(setOf("1"));
      expect(await store.save(setOf("2"), held)).toBe(true);
      expect(await store.load(shop)).toEqual(setOf("2"));
      expect(await formIn(inner)).toBe(plain === "write" ? "plain" : "sealed");
      expect(await store.save(setOf("3"), held)).toBe(false);
      expect(await store.load(shop)).toEqual(setOf("2"));
    },
  );

  test("a set that is a sealed record itself is not saved", async () => {
    const inner = await holding("sealed", setOf("1"));
    const record = (await inner.load(shop)) as TokenSet;
    await expect(sealedStore(inner, { keys, plain }).save(record)).rejects.toThrow(/is sealed already/);
  });
});

describe.each<[string, SealedStoreOptions["plain"]]>([
  ["without the option", undefined],
  ["with plain: read", "read"],
  ["with plain: write", "write"],
])("a renewal %s", (_name, plain) => {
  test.each(["plain", "sealed"] as const)(
    "saves though the %s record that it replaces changes its form at the same moment",
    async (form) => {
      for (const changeAt of [1, 2]) {
        const inner = await holding(form, setOf("1"));
        let saves = 0;
        const save: TokenStore["save"] = async (...sets) => {
          saves += 1;
          if (saves === changeAt) {
            const other = sealedStore(inner, { keys, plain: form === "plain" ? "read" : "write" });
            expect(await (form === "plain" ? other.seal("shop") : other.unseal?.("shop"))).toMatch(/sealed$/);
          }
          return inner.save(...sets);
        };
        const store = sealedStore({ ...inner, save }, { keys, ...(plain && { plain }) });
        expect(await store.save(setOf("2"), setOf("1"))).toBe(true);
        expect(await sealedStore(inner, { keys, plain: "read" }).load(shop)).toEqual(setOf("2"));
      }
    },
  );
});

describe("unseal", () => {
  test("is there only with plain: write, and seal refuses there: it saves plain records", async () => {
    for (const options of [{ keys }, { keys, plain: "read" as const }])
      expect(sealedStore(memoryStore(), options).unseal).toBeUndefined();
    const inner = await holding("plain", setOf("1"));
    await expect(sealedStore(inner, { keys, plain: "write" }).seal("shop")).rejects.toThrow(TypeError);
    expect(await formIn(inner)).toBe("plain");
  });

  test("makes a sealed record plain, the same set under the same version", async () => {
    const inner = await holding("sealed", setOf("1"));
    const store = sealedStore(inner, { keys, plain: "write" });
    expect(await store.unseal?.("SHOP")).toBe("unsealed");
    expect(await inner.load(shop)).toEqual(setOf("1"));
    expect(await store.unseal?.("shop")).toBe("already");
    await inner.remove(shop);
    expect(await store.unseal?.("shop")).toBe("gone");
  });

  test("names a record that no key opens, and leaves it as it is", async () => {
    const inner = await holding("sealed", setOf("1"));
    const before = await inner.load(shop);
    const others = [{ id: "2026-07", secret: randomBytes(32) }];
    const unsealing = sealedStore(inner, { keys: others, plain: "write" }).unseal?.("shop");
    await expect(unsealing).rejects.toMatchObject({ code: "bad_stored_tokens", domainPrefix: "shop" });
    expect(await inner.load(shop)).toEqual(before);
  });

  test("gives way to a renewal at the same moment", async () => {
    const inner = await holding("sealed", setOf("1"));
    const load: TokenStore["load"] = async (domainPrefix) => {
      const record = await inner.load(domainPrefix);
      await sealedStore(inner, { keys, plain: "write" }).save(setOf("2"), setOf("1"));
      return record;
    };
    expect(await sealedStore({ ...inner, load }, { keys, plain: "write" }).unseal?.("shop")).toBe("changed");
    expect(await inner.load(shop)).toEqual(setOf("2"));
  });
});

async function holding(form: "plain" | "sealed", set: TokenSet): Promise<TokenStore> {
  const inner = memoryStore();
  await (form === "plain" ? inner : sealedStore(inner, { keys })).save(set);
  return inner;
}

async function formIn(inner: TokenStore): Promise<"plain" | "sealed"> {
  return (await inner.load(shop))?.version.startsWith("sealed:") ? "sealed" : "plain";
}

function setOf(version: string): TokenSet {
  return {
    domainPrefix: shop,
    access: { value: `access-${version}` },
    refreshToken: `refresh-${version}`,
    issuedAt: 1,
    version,
  };
}
