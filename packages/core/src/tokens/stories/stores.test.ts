import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DAY_MS, failureOf, later, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { isRetailPosError, NotConnectedError } from "../../vocabulary/errors.js";
import type { TokenSet } from "../../vocabulary/token-set.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const SHOP = parseDomainPrefix("shop");

describe("the copy of this process", () => {
  test("is trusted for ten seconds, then compared with the store", async () => {
    const { loads, login, store, time, value } = withCounts();
    await login();
    time.now += 9999;
    await value();
    expect(loads()).toBe(0);
    time.now += 1;
    await value();
    expect(loads()).toBe(1);
    await store.remove(SHOP);
    time.now += 9999;
    expect(await value()).toBe("access-shop-1");
    time.now += 1;
    expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
  });

  test("is not trusted at all with cacheMs 0", async () => {
    const { loads, login, store, value } = withCounts({ cacheMs: 0 });
    await login();
    await value();
    await value();
    expect(loads()).toBe(2);
    await store.remove(SHOP);
    expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
  });

  test("is not missed by a question that joins a look which began before a login elsewhere", async () => {
    const inner = memoryStore();
    const loaded = later();
    const slow: TokenStore = {
      ...inner,
      async load(prefix) {
        const set = await inner.load(prefix);
        await loaded.promise;
        return set;
      },
    };
    const { shop } = start({ store: slow });
    const other = start({ store: inner });
    const before = failureOf(shop.token());
    await settled();
    await other.login();
    const after = shop.token();
    loaded.resolve();
    expect(await before).toBeInstanceOf(NotConnectedError);
    expect((await after).value).toBe("access-shop-1");
  });

  test("is made with one question for all who ask at the same time", async () => {
    const { loads, login, service, shop, store, time } = withCounts();
    await login();
    const restarted = start({ store }, service, time);
    await Promise.all(Array.from({ length: 100 }, () => restarted.shop.token()));
    expect(loads()).toBe(1);
    expect((await shop.token()).value).toBe("access-shop-1");
  });

  test("is not changed by what is done to the set or the token that came out", async () => {
    const { pos, shop } = start();
    const tokens = await pos.exchange("shop", "code");
    await pos.connect(tokens);
    expect(() => Object.assign(tokens.access, { value: "forged" })).not.toThrow();
    const token = await shop.token();
    try {
      Object.assign(token, { value: "forged" });
    } catch {
      // frozen is fine, too
    }
    expect((await shop.token()).value).toBe("access-shop-1");
  });

  test("that nothing is stored is no copy: a login in another process counts at once", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const one = start(shared);
    const two = start(shared, one.service, one.time);
    expect(await failureOf(one.value())).toBeInstanceOf(NotConnectedError);
    await two.login(); // the callback reached the other process
    expect(await one.value()).toBe("access-shop-1");
  });
});

describe("a record that is no token set of the retailer", () => {
  const good = {
    domainPrefix: "shop",
    access: { value: "a", expiresAt: T0 - 1 },
    refreshToken: "r",
    issuedAt: T0 - DAY_MS,
    version: "v",
  };
  const records: Array<{ name: string; record: unknown }> = [
    { name: "a text", record: JSON.stringify(good) },
    { name: "a number", record: 5 },
    { name: "an empty object", record: {} },
    { name: "a list", record: [good] },
    { name: "another retailer's", record: { ...good, domainPrefix: "other" } },
    { name: "no access", record: { ...good, access: undefined } },
    { name: "access a text", record: { ...good, access: "a" } },
    { name: "access null", record: { ...good, access: null } },
    { name: "no value", record: { ...good, access: {} } },
    { name: "a value with a line break", record: { ...good, access: { value: "a\r\nx: y" } } },
    {
      name: "an expiry that is a text",
      record: { ...good, access: { value: "a", expiresAt: "2030-01-01" } },
    },
    { name: "an expiry that is NaN", record: { ...good, access: { value: "a", expiresAt: Number.NaN } } },
    { name: "no refresh token", record: { ...good, refreshToken: undefined } },
    { name: "an empty refresh token", record: { ...good, refreshToken: "" } },
    { name: "no issuedAt", record: { ...good, issuedAt: undefined } },
    { name: "no version", record: { ...good, version: undefined } },
    { name: "a refusedAt that is a text", record: { ...good, refusedAt: "yesterday" } },
  ];
  for (const { name, record } of records) {
    test(`is a typed error, costs no request and is left alone: ${name}`, async () => {
      const saved: unknown[] = [];
      const store: TokenStore = {
        load: async () => record as TokenSet,
        save: async (next) => saved.push(next) > 0,
        remove: async () => void saved.push("removed"),
      };
      const { service, value } = start({ store });
      const error = await failureOf(value());
      expect(isRetailPosError(error)).toBe(true);
      expect(error).toMatchObject({ domainPrefix: "shop" });
      expect(service.seen).toEqual([]);
      expect(saved).toEqual([]);
    });
  }

  for (const record of [null, undefined]) {
    test(`${record} means that nothing is stored`, async () => {
      const load = async () => record as unknown as undefined;
      const { value } = start({ store: { ...memoryStore(), load } });
      expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
    });
  }

  test("does not end a held token that lives, and is replaced by the next login", async () => {
    const store = memoryStore();
    let record: unknown;
    const load: TokenStore["load"] = async (prefix) => (record as TokenSet | undefined) ?? store.load(prefix);
    const { login, time, value } = start({ store: { ...store, load } });
    await login();
    record = "scribbled over";
    time.now += 60_000;
    expect(await value()).toBe("access-shop-1");
    record = undefined;
    await login();
    expect(await value()).toBe("access-shop-2");
  });

  test("a plain copy with foreign fields is good, and foreign fields are not kept", async () => {
    const store = memoryStore();
    await store.save({ ...good, note: "hand-made" } as unknown as TokenSet);
    const { service, value } = start({
      store: { ...store, load: async () => ({ ...good }) as unknown as TokenSet },
    });
    service.always(() => Response.json({ access_token: "a2" }));
    expect(await value()).toBe("a2");
  });
});

describe("a store that is down", () => {
  test("fails nobody while the held token lives; it is observed, and no token request goes out", async () => {
    const { login, outage, service, time, types, value } = withCounts();
    await login();
    outage.now = new Error("connection refused");
    for (time.now = T0 + DAY_MS - 400_000; time.now < T0 + DAY_MS; time.now += 20_000) {
      expect(await value()).toBe("access-shop-1");
      await settled();
    }
    expect(types()).toContain("store_failed");
    expect(service.spent()).toEqual([]);
    expect(await failureOf(value())).toBeInstanceOf(Error); // expired: without the store nobody may renew
    expect(service.spent()).toEqual([]);
    outage.now = undefined;
    expect(await value()).toBe("access-shop-2");
  });

  test("at the first call is that call's error, and the next one asks again", async () => {
    const { login, outage, service, store, time } = withCounts();
    await login();
    const restarted = start({ store }, service, time);
    outage.now = new Error("connection refused");
    expect(await failureOf(restarted.value())).toBeInstanceOf(Error);
    outage.now = undefined;
    expect(await restarted.value()).toBe("access-shop-1");
  });

  test("that throws instead of rejecting makes no difference", async () => {
    const store = memoryStore();
    let isDown = false;
    const { login, time, value } = start({
      store: {
        ...store,
        load(prefix) {
          if (isDown) throw new Error("not open");
          return store.load(prefix);
        },
      },
    });
    await login();
    isDown = true;
    time.now += 20_000;
    expect(await value()).toBe("access-shop-1");
    time.now += DAY_MS;
    await failureOf(value());
    isDown = false;
    expect(await value()).toBe("access-shop-2");
  });

  test("that answers without a promise is a store all the same", async () => {
    const sets = new Map<string, TokenSet>();
    const answersAtOnce = {
      load: (prefix: string) => sets.get(prefix),
      save(next: TokenSet, replacing?: TokenSet) {
        if (replacing && sets.get(next.domainPrefix)?.version !== replacing.version) return false;
        sets.set(next.domainPrefix, next);
        return true;
      },
      remove: (prefix: string) => void sets.delete(prefix),
    };
    const { login, pos, time, value } = start({ store: answersAtOnce as unknown as TokenStore });
    await login();
    time.now += DAY_MS;
    expect(await value()).toBe("access-shop-2");
    await pos.disconnect("shop");
    expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
  });

  test("makes connect fail, and what was held stays", async () => {
    const { login, outage, pos, value } = withCounts();
    await login();
    const again = await pos.exchange("shop", "code");
    outage.now = new Error("connection refused");
    expect(await failureOf(pos.connect(again))).toBeInstanceOf(Error);
    expect(await value()).toBe("access-shop-1");
  });

  test("that answers slowly does not hold up others, and undoes nothing later", async () => {
    const store = memoryStore();
    const slow = later();
    let isSlow = false;
    const load: TokenStore["load"] = async (prefix) => {
      const found = await store.load(prefix);
      if (isSlow) await slow.promise;
      return found;
    };
    const { login, time, value } = start({ store: { ...store, load } });
    await login();
    time.now += 20_000;
    isSlow = true;
    const waiting = value(); // has read the first login
    await settled();
    await login();
    slow.resolve();
    await waiting;
    expect(await value()).toBe("access-shop-2");
  });
});

describe("a store that does not answer", () => {
  // Some clients queue what they are asked as long as they have no connection.
  const never = () => new Promise<never>(() => {});
  beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => vi.useRealTimers());

  test("is given up after five seconds: the live copy is served", async () => {
    const { login, store, time, value } = withCounts();
    await login();
    time.now += 10_000;
    store.load = never;
    const asked = value();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await asked).toBe("access-shop-1");
  });

  test("is an error for those who have no copy, for a login and for a disconnect", async () => {
    const silent: TokenStore = { load: never, save: never, remove: never };
    const { login, pos, value } = start({ store: silent });
    const failures = Promise.all([value(), login(), pos.disconnect("shop")].map(failureOf));
    await settled(); // the login's code is traded
    await vi.advanceTimersByTimeAsync(5000);
    for (const error of await failures)
      expect(error).toMatchObject({
        code: "store_failed",
        status: 503,
        cause: { message: "The store did not answer within 5000 ms" },
      });
  });

  test("when a rotated token is to be saved keeps nobody waiting longer; the save that comes late counts", async () => {
    const { events, login, service, store, time, value } = withCounts();
    await login();
    time.now += DAY_MS;
    const late = later();
    const save = store.save;
    store.save = async (...set) => {
      await late.promise;
      return save(...set);
    };
    const asked = value();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await asked).toBe("access-shop-2");
    expect(events.map(({ type }) => type)).toContain("unsaved");
    late.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(await value()).toBe("access-shop-2");
    await vi.advanceTimersByTimeAsync(0);
    expect((await store.load(SHOP))?.refreshToken).toBe(service.valid("shop"));
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });
});

/** A client on a store that counts, and fails while `outage.now` is set. */
function withCounts(options: { cacheMs?: number } = {}) {
  const inner = memoryStore();
  const outage: { now: Error | undefined } = { now: undefined };
  let loadCount = 0;
  const store: TokenStore = {
    async load(prefix) {
      loadCount += 1;
      if (outage.now) throw outage.now;
      return inner.load(prefix);
    },
    async save(next, replacing) {
      if (outage.now) throw outage.now;
      return inner.save(next, replacing);
    },
    remove: inner.remove,
  };
  return { ...start({ ...options, store }), store, outage, loads: () => loadCount };
}
