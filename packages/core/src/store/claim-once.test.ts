import { describe, expect, test } from "vitest";
import { failureOf, start } from "../../testing/fake-service.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { claimsInMemory } from "./claims.js";
import { memoryStore } from "./memory-store.js";

const MINUTE_MS = 60_000;

/** A store without `claim`, as stores were before there was one. */
function plainStore(): TokenStore {
  const { load, save, remove } = memoryStore();
  return { load, save, remove };
}

describe("a claim", () => {
  test.each([
    ["of a store that can claim", memoryStore],
    ["of a store that cannot", plainStore],
  ])("%s is won once, however many ask at the same time", async (_, store) => {
    const { pos } = start({ store: store() });
    const answers = await Promise.all(Array.from({ length: 100 }, () => pos.claim("a login", MINUTE_MS)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await pos.claim("another login", MINUTE_MS)).toBe(true);
  });

  test("is won once among all clients that share the store", async () => {
    const store = memoryStore();
    const [one, two] = [start({ store }).pos, start({ store }).pos];
    expect([await one.claim("login", MINUTE_MS), await two.claim("login", MINUTE_MS)]).toEqual([true, false]);
  });

  test("never meets one of another client id, however the two are put together", async () => {
    const store = memoryStore();
    const [one, two] = [start({ store, clientId: "a" }).pos, start({ store, clientId: "a/b" }).pos];
    expect(await one.claim("b/c", MINUTE_MS)).toBe(true);
    expect(await two.claim("c", MINUTE_MS)).toBe(true);
  });

  test("without the store's help ends by the client's clock", async () => {
    const { pos, time } = start({ store: plainStore() });
    expect(await pos.claim("login", MINUTE_MS)).toBe(true);
    time.now += MINUTE_MS - 1;
    expect(await pos.claim("login", MINUTE_MS)).toBe(false);
    time.now += 1;
    expect(await pos.claim("login", MINUTE_MS)).toBe(true);
  });

  test("that the store rejects, or answers with something else, is a StoreFailedError", async () => {
    for (const claim of [
      async () => Promise.reject(new Error("away")),
      () => {
        throw new Error("away");
      },
      async () => "OK" as unknown as boolean,
    ]) {
      const { pos } = start({ store: { ...memoryStore(), claim } });
      expect(await failureOf(pos.claim("login", MINUTE_MS))).toMatchObject({
        code: "store_failed",
        operation: "claim",
        status: 503,
      });
    }
  });

  test.each([
    ["no key", "", 1],
    ["no text", 7, 1],
    ["no time", "login", 0],
    ["an endless time", "login", Number.POSITIVE_INFINITY],
    ["no number", "login", "1"],
  ])("%s is a TypeError", async (_, key, forMs) => {
    const { pos } = start();
    expect(await failureOf(pos.claim(key as string, forMs as number))).toBeInstanceOf(TypeError);
  });
});

test("more claims than this process remembers: the oldest tenth is dropped at once, so the next costs no sweep", () => {
  const claim = claimsInMemory(() => 0);
  for (let n = 0; n < 100_000; n += 1) claim(`login ${n}`, MINUTE_MS);
  expect(claim("one more", MINUTE_MS)).toBe(true);
  expect([claim("login 99999", MINUTE_MS), claim("login 10001", MINUTE_MS)]).toEqual([false, false]);
  expect(claim("login 0", MINUTE_MS)).toBe(true);
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300, "60"])(
  "a claim for %s ms is a TypeError",
  async (forMs) => {
    const { pos } = start({ store: memoryStore() });
    const error = await failureOf(pos.claim("login", forMs as number));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain("forMs");
  },
);
