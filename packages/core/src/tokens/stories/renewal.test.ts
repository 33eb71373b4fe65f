import { describe, expect, test } from "vitest";
import { DAY_MS, fakeService, json, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import type { TokenSet } from "../../vocabulary/token-set.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

describe("one renewal for everybody", () => {
  test("a thousand callers at expiry cause one token request and get the same new token", async () => {
    const { login, service, shop, time } = start();
    await login();
    time.now = T0 + DAY_MS;
    const tokens = await Promise.all(Array.from({ length: 1000 }, () => shop.token()));
    expect(new Set(tokens.map(({ value }) => value))).toEqual(new Set(["access-shop-2"]));
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });

  test("the same holds where the store is asked every time", async () => {
    const { login, service, shop, time } = start({ cacheMs: 0 });
    await login();
    time.now = T0 + DAY_MS;
    const tokens = await Promise.all(Array.from({ length: 1000 }, () => shop.token()));
    expect(new Set(tokens.map(({ value }) => value))).toEqual(new Set(["access-shop-2"]));
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });

  test("callers who come while the renewal is under way join it", async () => {
    const { login, service, shop, time } = start();
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const callers = [shop.token()];
    for (let count = 0; count < 10; count += 1) {
      await settled();
      callers.push(shop.token());
    }
    held.release();
    for (const { value } of await Promise.all(callers)) expect(value).toBe("access-shop-2");
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });

  test("two processes with one store and one lock cause one request per expiry, and no spent token is posted", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const one = start(shared);
    const two = start(shared, one.service, one.time);
    await one.login();
    for (let expiry = 1; expiry <= 5; expiry += 1) {
      await Promise.all([one.value(), two.value()]); // both hold the copy that is about to end
      one.time.now = T0 + expiry * DAY_MS;
      const asked = Array.from({ length: 50 }, (_, index) => (index % 2 ? one : two).value());
      expect(new Set(await Promise.all(asked))).toEqual(new Set([`access-shop-${expiry + 1}`]));
    }
    expect(one.service.spent()).toEqual([1, 2, 3, 4, 5].map((count) => `refresh-shop-${count}`));
  });

  test("two processes renew early once, too", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const one = start(shared);
    const two = start(shared, one.service, one.time);
    await one.login();
    await two.value();
    one.time.now = T0 + DAY_MS - 1000;
    await Promise.all([one.value(), two.value(), one.value(), two.value()]);
    await settled();
    expect(await Promise.all([one.value(), two.value()])).toEqual(["access-shop-2", "access-shop-2"]);
    expect(one.service.spent()).toEqual(["refresh-shop-1"]);
  });

  test("retailers do not wait for each other", async () => {
    const { login, service, pos, time } = start();
    await login("shop");
    await login("other");
    time.now = T0 + DAY_MS;
    service.next(() => new Promise(() => {}));
    pos
      .tokens("shop")
      .token()
      .catch(() => {});
    await settled();
    expect((await pos.tokens("other").token()).value).toBe("access-other-2");
  });

  test("two applications on one retailer do not wait for each other's lock, nor use each other's tokens", async () => {
    const lock = memoryLock();
    const one = start({ lock, clientId: "one" });
    const two = start({ lock, clientId: "two" }, fakeService(), one.time);
    await one.login();
    await two.login();
    one.time.now = T0 + DAY_MS;
    one.service.next(() => new Promise(() => {}));
    one.value().catch(() => {});
    await settled();
    expect(await two.value()).toBe("access-shop-2");
    expect(two.service.seen.map(({ form }) => form.get("client_id"))).toEqual(["two", "two"]);
    expect(one.service.seen.map(({ form }) => form.get("client_id"))).toEqual(["one", "one"]);
  });
});

describe("before expiry", () => {
  test("the held token is served at once while one renewal runs beside it", async () => {
    const { login, service, shop, time, value } = start();
    await login();
    time.now = T0 + DAY_MS - 300_000;
    const held = service.holdNext();
    for (let count = 0; count < 100; count += 1) expect((await shop.token()).value).toBe("access-shop-1");
    await settled();
    expect(service.spent()).toEqual(["refresh-shop-1"]);
    held.release();
    await settled();
    expect(await value()).toBe("access-shop-2");
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });

  const windows = [
    { name: "five minutes by default", lifetimeSeconds: 86_400, options: {}, earlyMs: 300_000 },
    { name: "as configured", lifetimeSeconds: 86_400, options: { renewEarlyMs: 1000 }, earlyMs: 1000 },
    {
      name: "a tenth of a short lifetime",
      lifetimeSeconds: 60,
      options: { renewEarlyMs: 3_600_000 },
      earlyMs: 6000,
    },
    {
      name: "a tenth where the window is longer than the lifetime",
      lifetimeSeconds: 86_400,
      options: { renewEarlyMs: 10 * DAY_MS },
      earlyMs: DAY_MS / 10,
    },
  ];
  for (const { name, lifetimeSeconds, options, earlyMs } of windows) {
    test(`a renewal starts early by ${name}, not sooner`, async () => {
      const { login, service, time, value } = start(options, fakeService({ lifetimeSeconds }));
      await login();
      time.now = T0 + lifetimeSeconds * 1000 - earlyMs - 1;
      await value();
      await settled();
      expect(service.spent()).toEqual([]);
      time.now += 1;
      expect(await value()).toBe("access-shop-1");
      await settled();
      expect(service.spent()).toEqual(["refresh-shop-1"]);
    });
  }

  test("renewEarlyMs 0 renews at expiry only, to the millisecond", async () => {
    const { login, service, time, value } = start({ renewEarlyMs: 0 });
    await login();
    time.now = T0 + DAY_MS - 1;
    expect(await value()).toBe("access-shop-1");
    await settled();
    expect(service.spent()).toEqual([]);
    time.now += 1;
    expect(await value()).toBe("access-shop-2");
  });

  test("a token that expires while its early renewal is under way is waited for, without a second request", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS - 1;
    const held = service.holdNext();
    expect(await value()).toBe("access-shop-1");
    time.now += 1;
    const waiting = [value(), value()];
    await settled();
    held.release();
    expect(await Promise.all(waiting)).toEqual(["access-shop-2", "access-shop-2"]);
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });
});

describe("expiry", () => {
  test("is not counted again on load: saved, loaded two days later, expired", async () => {
    const store = jsonStore();
    const one = start({ store });
    await one.login();
    one.time.now = T0 + 2 * DAY_MS;
    const restarted = start({ store }, one.service, one.time);
    expect(await restarted.value()).toBe("access-shop-2");
    expect(one.service.spent()).toEqual(["refresh-shop-1"]);
  });

  test("counts from the moment the request was sent, however long the answer takes", async () => {
    const { login, service, shop, time } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next((_, regular) => {
      time.now += 9000;
      return regular();
    });
    expect((await shop.token()).expiresAt).toBe(T0 + 2 * DAY_MS);
  });

  const answers: Array<{ name: string; fields: object; expiresAt: number | undefined }> = [
    { name: "expires_in wins over expires", fields: { expires_in: 10, expires: 1 }, expiresAt: 10_000 },
    { name: "a numeric text in expires_in", fields: { expires_in: "10" }, expiresAt: 10_000 },
    { name: "expires alone", fields: { expires: (T0 + 2 * DAY_MS) / 1000 }, expiresAt: DAY_MS },
    { name: "a numeric text in expires", fields: { expires: String(T0 / 1000 + 86_460) }, expiresAt: 60_000 },
    {
      name: "an odd expires_in beside expires",
      fields: { expires_in: "soon", expires: T0 / 1000 + 86_460 },
      expiresAt: 60_000,
    },
    { name: "neither", fields: {}, expiresAt: undefined },
    { name: "nothing usable", fields: { expires_in: null, expires: {} }, expiresAt: undefined },
  ];
  for (const { name, fields, expiresAt } of answers) {
    test(`${name}: ${expiresAt === undefined ? "no known expiry" : "understood"}`, async () => {
      const { login, service, shop, time } = start();
      await login();
      time.now = T0 + DAY_MS;
      service.next(() => json({ access_token: "fresh", token_type: "Bearer", ...fields }));
      const token = await shop.token();
      expect(token).toEqual({
        value: "fresh",
        ...(expiresAt !== undefined && { expiresAt: time.now + expiresAt }),
      });
    });
  }

  test("a token without a known expiry is used for years, until it is rejected", async () => {
    const { login, service, shop, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next(() => json({ access_token: "endless" }));
    await value();
    time.now += 1000 * DAY_MS;
    expect(await value()).toBe("endless");
    await settled();
    expect(service.spent()).toHaveLength(1);
    expect((await shop.token({ rejected: "endless" })).value).toBe("access-shop-2");
  });
});

/** A store that keeps texts, as every real one does. */
function jsonStore(): TokenStore {
  const rows = new Map<string, string>();
  const read = (key: string): TokenSet | undefined => {
    const row = rows.get(key);
    return row === undefined ? undefined : JSON.parse(row);
  };
  return {
    load: async (domainPrefix) => read(domainPrefix),
    async save(next, replacing) {
      if (replacing && read(next.domainPrefix)?.version !== replacing.version) return false;
      rows.set(next.domainPrefix, JSON.stringify(next));
      return true;
    },
    remove: async (domainPrefix) => void rows.delete(domainPrefix),
  };
}

test("a set that was issued by a clock far ahead is not handed out after its end", async () => {
  const { login, pos, service, time, value } = start();
  const tokens = await login();
  await pos.connect({
    ...tokens,
    access: { value: "short", expiresAt: T0 + 1000 },
    issuedAt: T0 + DAY_MS,
    version: "ahead",
  });
  expect(await value()).toBe("short");
  time.now = T0 + 1000;
  expect(await value()).toBe("access-shop-2");
  expect(service.spent()).toHaveLength(1);
});
