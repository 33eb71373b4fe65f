import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { memoryStore } from "./memory-store.js";

const shop = parseDomainPrefix("shop");

describe("a memory store", () => {
  test("returns what was saved, for that retailer and no other", async () => {
    const store = memoryStore();
    expect(await store.load(shop)).toBeUndefined();
    expect(await store.save(set())).toBe(true);
    expect(await store.load(shop)).toEqual(set());
    expect(await store.load(parseDomainPrefix("other"))).toBeUndefined();
    expect(await memoryStore().load(shop)).toBeUndefined();
  });

  test("keeps every field, and no expiry where there was none", async () => {
    const store = memoryStore();
    const full = set({ access: { value: "a", expiresAt: 5 }, refusedAt: 7 });
    await store.save(full);
    expect(await store.load(shop)).toEqual(full);
    await store.save(set());
    const loaded = await store.load(shop);
    expect(loaded && ["refusedAt" in loaded, "expiresAt" in loaded.access]).toEqual([false, false]);
  });

  test.each([
    { issuedAt: 0.1, expiresAt: 0.3 },
    { issuedAt: 5, expiresAt: 4.5 },
    { issuedAt: Number.MAX_VALUE, expiresAt: -1 },
    { issuedAt: 1e-300, expiresAt: 2 ** 53 },
  ])("gives back the very instants, however odd: $issuedAt, $expiresAt", async ({ issuedAt, expiresAt }) => {
    const store = memoryStore();
    const odd = set({ access: { value: "a", expiresAt }, issuedAt });
    await store.save(odd);
    expect(await store.load(shop)).toEqual(odd);
  });

  test("without `replacing` saves over anything", async () => {
    const store = memoryStore();
    await store.save(set({ version: "1" }));
    expect(await store.save(set({ version: "2" }))).toBe(true);
    expect((await store.load(shop))?.version).toBe("2");
  });

  test("with `replacing` saves only while it holds that version", async () => {
    const store = memoryStore();
    await store.save(set({ version: "1" }));
    expect(await store.save(set({ version: "2" }), set({ version: "1" }))).toBe(true);
    expect(await store.save(set({ version: "3" }), set({ version: "1" }))).toBe(false);
    expect((await store.load(shop))?.version).toBe("2");
  });

  test("with `replacing` does not bring back a retailer that was removed", async () => {
    const store = memoryStore();
    expect(await store.save(set({ version: "2" }), set({ version: "1" }))).toBe(false);
    await store.save(set({ version: "1" }));
    await store.remove(shop);
    expect(await store.save(set({ version: "2" }), set({ version: "1" }))).toBe(false);
    expect(await store.load(shop)).toBeUndefined();
  });

  test("lets one of many win who replace the same version", async () => {
    const store = memoryStore();
    await store.save(set({ version: "1" }));
    const versions = Array.from({ length: 20 }, (_, index) => `next-${index}`);
    const saved = await Promise.all(
      versions.map((version) => store.save(set({ version }), set({ version: "1" }))),
    );
    expect(saved.filter(Boolean)).toHaveLength(1);
    expect((await store.load(shop))?.version).toBe(versions[saved.indexOf(true)]);
  });

  test("forgets on remove, and removing nothing is no error", async () => {
    const store = memoryStore();
    await store.save(set());
    await store.save(set({ domainPrefix: parseDomainPrefix("other") }));
    await store.remove(shop);
    await store.remove(shop);
    expect(await store.load(shop)).toBeUndefined();
    expect(await store.load(parseDomainPrefix("other"))).toBeDefined();
  });

  test("hands out copies: what is done to a result or to what was saved changes nothing", async () => {
    const store = memoryStore();
    const saved = set();
    await store.save(saved);
    spoil(saved);
    spoil(await store.load(shop));
    expect(await store.load(shop)).toEqual(set());
  });

  for (const name of ["__proto__", "constructor", "hasownproperty", "tostring"]) {
    test(`takes ${name} for a retailer like any other`, async () => {
      const store = memoryStore();
      const prefix = name as DomainPrefix;
      expect(await store.load(prefix)).toBeUndefined();
      expect(await store.save(set({ domainPrefix: prefix }), set())).toBe(false);
      expect(await store.save(set({ domainPrefix: prefix }))).toBe(true);
      expect((await store.load(prefix))?.refreshToken).toBe("canary-refresh");
      await store.remove(prefix);
      expect(await store.load(prefix)).toBeUndefined();
      expect(Object.keys(Object.prototype)).toEqual([]);
    });
  }

  test("shows no token when it or what it returns is printed", async () => {
    const store = memoryStore();
    await store.save(set());
    for (const value of [store, await store.load(shop)]) {
      expect(inspect(value, { depth: 10, showHidden: true })).not.toContain("canary");
    }
  });
});

function set(changes: Partial<TokenSet> = {}): TokenSet {
  return {
    domainPrefix: shop,
    access: { value: "canary-access" },
    refreshToken: "canary-refresh",
    issuedAt: 1,
    version: "1",
    ...changes,
  };
}

function spoil(tokens: TokenSet | undefined): void {
  Object.assign(tokens?.access ?? {}, { value: "spoilt", expiresAt: 1 });
  Object.assign(tokens ?? {}, { refreshToken: "spoilt", version: "spoilt", refusedAt: 1 });
}
