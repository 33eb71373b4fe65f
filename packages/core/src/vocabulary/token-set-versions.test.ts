import { describe, expect, test } from "vitest";
import { failureOf, fakeService, start } from "../../testing/fake-service.js";
import { memoryStore } from "../store/memory-store.js";
import { parseDomainPrefix } from "./domain-prefix.js";
import { versionsOf } from "./token-set-versions.js";

const SHOP = parseDomainPrefix("shop");

describe("a version", () => {
  test("is new every time, and made of plain characters", () => {
    const { next } = versionsOf("the application");
    const versions = Array.from({ length: 1_000 }, next);
    expect(new Set(versions).size).toBe(1_000);
    for (const version of versions) expect(version).toMatch(/^[\w-]{36}~[0-9a-z]{7}$/);
  });

  test("tells one application's sets from another's", () => {
    const [one, two] = [versionsOf("one"), versionsOf("two")];
    expect([one.isForeign(one.next()), one.isForeign(two.next())]).toEqual([false, true]);
    expect(one.isForeign("a version of 0.1.0, or made by hand")).toBe(false);
    expect(one.own("by hand")).toBe(one.own(one.own("by hand")));
    expect(two.isForeign(one.own("by hand"))).toBe(true);
  });
});

describe("two client ids on one store", () => {
  test("never use or replace each other's tokens: the second is told so", async () => {
    const store = memoryStore();
    const one = start({ store, clientId: "one" });
    const two = start({ store, clientId: "two" }, fakeService(), one.time);
    await one.login();
    const kept = await store.load(SHOP);

    for (const act of [two.value, two.login]) {
      const error = await failureOf(act());
      expect(error).toMatchObject({ code: "bad_stored_tokens", status: 500 });
      expect(String(error)).toContain("another application (client id)");
    }
    expect(two.service.spent()).toEqual([]);
    expect(await store.load(SHOP)).toEqual(kept);
    expect(await one.value()).toBe("access-shop-1");
  });

  test("nor those that were brought along by hand", async () => {
    const store = memoryStore();
    const set = {
      domainPrefix: SHOP,
      access: { value: "brought-along" },
      refreshToken: "refresh",
      issuedAt: 1,
      version: "by hand",
    };
    await start({ store, clientId: "one" }).pos.connect(set);
    expect(await start({ store, clientId: "one" }).value()).toBe("brought-along");
    expect(await failureOf(start({ store, clientId: "two" }).value())).toMatchObject({
      code: "bad_stored_tokens",
    });
  });

  test("a set that 0.1.0 stored belongs to whoever asks, and is marked by its first renewal", async () => {
    const store = memoryStore();
    const { pos, time, value } = start({ store, clientId: "one" });
    const made = await pos.exchange("shop", "code");
    await store.save({ ...made, version: "of-0.1.0" });
    expect(await value()).toBe("access-shop-1");
    time.now += 2 * 86_400_000;
    expect(await value()).toBe("access-shop-2");
    expect(await failureOf(start({ store, clientId: "two" }).value())).toMatchObject({
      code: "bad_stored_tokens",
    });
  });
});
