import { describe, expect, test } from "vitest";
import {
  DAY_MS,
  failureOf,
  json,
  oauthError,
  type Script,
  settled,
  start,
  T0,
} from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { NotConnectedError, ReconnectRequiredError, StoreFailedError } from "../../vocabulary/errors.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const SHOP = parseDomainPrefix("shop");
const HOUR_MS = 3_600_000;

const refusals: Array<{ name: string; script: Script }> = [
  { name: "400 invalid_grant", script: () => oauthError("invalid_grant") },
  { name: "401 invalid_grant", script: () => oauthError("invalid_grant", 401) },
  { name: "400 with an unknown error", script: () => oauthError("token_unknown") },
  { name: "400 with nothing", script: () => new Response(null, { status: 400 }) },
  { name: "401 with HTML", script: () => new Response("<html>", { status: 401 }) },
  { name: "400 with error that is no text", script: () => json({ error: { code: 5 } }, 400) },
  { name: "401 with a message of its own", script: () => json({ message: "Unauthorized" }, 401) },
];

describe("a refused refresh token", () => {
  for (const { name, script } of refusals) {
    test(`marks the stored set and asks for a new login: ${name}`, async () => {
      const store = memoryStore();
      const { events, login, service, time, types, value } = start({ store });
      const { access, refreshToken, version } = await login();
      time.now = T0 + DAY_MS;
      service.next(script);
      const error = await failureOf(value());
      expect(error).toBeInstanceOf(ReconnectRequiredError);
      expect(error).toMatchObject({ code: "reconnect_required", status: 401, domainPrefix: "shop" });
      const stored = await store.load(SHOP);
      expect(stored).toMatchObject({ access, refreshToken, refusedAt: time.now });
      expect(stored?.version).not.toBe(version);
      expect(types()).toEqual(["connected", "reconnect_required"]);
      expect(events.at(-1)).toMatchObject({ domainPrefix: "shop", at: time.now });
    });
  }

  test("is the answer to all who wait, for one request", async () => {
    const { login, service, shop, time, types } = start();
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    const errors = await Promise.all(Array.from({ length: 100 }, () => failureOf(shop.token())));
    for (const error of errors) expect(error).toBeInstanceOf(ReconnectRequiredError);
    expect(service.spent()).toHaveLength(1);
    expect(types().filter((type) => type === "reconnect_required")).toHaveLength(1);
  });

  test("costs no request for an hour, here or after a restart; then one", async () => {
    const store = memoryStore();
    const { login, service, time, value } = start({ store });
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    await failureOf(value());
    for (const passed of [0, 1000, 61_000, HOUR_MS / 2, HOUR_MS - 1]) {
      time.now = T0 + DAY_MS + passed;
      expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
      const restarted = start({ store }, service, time);
      expect(await failureOf(restarted.value())).toBeInstanceOf(ReconnectRequiredError);
    }
    expect(service.spent()).toHaveLength(1);
    time.now = T0 + DAY_MS + HOUR_MS;
    expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
    expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
    expect(service.spent()).toHaveLength(2);
  });

  test("is told once, in all processes and across restarts, though each hour one try is refused again", async () => {
    const store = memoryStore();
    const lock = memoryLock();
    const first = start({ store, lock });
    await first.login();
    first.service.revoke("shop");
    const told: string[] = [];
    for (let hour = 0; hour < 30; hour += 1) {
      first.time.now = T0 + DAY_MS + hour * HOUR_MS;
      const restarted = [
        start({ store, lock }, first.service, first.time),
        start({ store, lock }, first.service, first.time),
      ];
      for (const { value, types } of [...restarted, first]) {
        expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
        if (hour === 0 || types !== first.types) told.push(...types());
      }
      expect(await store.load(SHOP)).toMatchObject({
        refusedAt: T0 + DAY_MS,
        limitedUntil: first.time.now + HOUR_MS,
      });
    }
    told.push(...first.types());
    expect(first.service.spent()).toHaveLength(30);
    expect(told.filter((type) => type === "reconnect_required")).toHaveLength(1);

    await first.login();
    first.service.revoke("shop");
    first.time.now += 2 * DAY_MS;
    expect(await failureOf(first.value())).toBeInstanceOf(ReconnectRequiredError);
    expect(first.types().filter((type) => type === "reconnect_required")).toHaveLength(1);
  });

  test("carries the service's words, in the process that saw them, until the next try", async () => {
    const store = memoryStore();
    const one = start({ store });
    await one.login();
    one.time.now = T0 + DAY_MS;
    const error_description = "Refresh token reuse\ndetected for refresh-shop-1";
    one.service.always(() => json({ error: "invalid_grant", error_description }, 400));
    const words = {
      endpointStatus: 400,
      error: "invalid_grant",
      errorDescription: expect.stringMatching(/^Refresh token reuse detected for (?!refresh-shop-1)/),
      message: expect.stringContaining("(400 invalid_grant: Refresh token reuse detected"),
    };
    for (let count = 0; count < 2; count += 1) expect(await failureOf(one.value())).toMatchObject(words);
    const two = start({ store }, one.service, one.time);
    const told = await failureOf(two.value());
    expect(told).toBeInstanceOf(ReconnectRequiredError);
    expect(told).not.toHaveProperty("errorDescription");
    expect(one.service.spent()).toHaveLength(1);
  });

  test("is asked for again by a process whose clock is an hour behind, and the others wait as long as before", async () => {
    const store = memoryStore();
    const one = start({ store, cacheMs: 0 });
    const behind = start({ store, cacheMs: 0, clock: () => one.time.now - 2 * HOUR_MS }, one.service);
    await one.login();
    one.service.revoke("shop");
    one.time.now = T0 + 3 * DAY_MS;
    await failureOf(one.value());
    const marked = await store.load(SHOP);
    for (let count = 0; count < 3; count += 1) {
      expect(await failureOf(behind.value())).toBeInstanceOf(ReconnectRequiredError);
      expect(await failureOf(one.value())).toBeInstanceOf(ReconnectRequiredError);
    }
    expect(one.service.spent()).toHaveLength(2);
    expect(await store.load(SHOP)).toMatchObject({
      refusedAt: marked?.refusedAt,
      limitedUntil: marked?.limitedUntil,
    });
  });

  test("keeps its hour, though a login meets a 429 that ends sooner", async () => {
    const store = memoryStore();
    const { login, pos, service, time, value } = start({ store });
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    await failureOf(value());
    service.next(() => json({}, 429, { "x-ratelimit-reset": String(time.now / 1000 + 5) }));
    expect(await failureOf(pos.exchange("shop", "code"))).toMatchObject({ code: "rate_limited" });
    expect(await store.load(SHOP)).toMatchObject({
      refusedAt: T0 + DAY_MS,
      limitedUntil: T0 + DAY_MS + HOUR_MS,
    });
  });

  test("is forgotten with the very tokens that somebody connects again, from a backup", async () => {
    const { login, pos, service, time, value } = start();
    const tokens = await login();
    time.now = T0 + DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    await failureOf(value());
    await pos.connect(tokens);
    expect(await value()).toBe("access-shop-2");
  });

  test("costs a store that keeps no mark one save, however many callers come", async () => {
    const inner = memoryStore();
    let saves = 0;
    const store: TokenStore = {
      ...inner,
      save({ refusedAt, ...next }, replacing) {
        if (refusedAt !== undefined) saves += 1;
        return inner.save(next, replacing);
      },
    };
    const { login, service, time, value } = start({ store, cacheMs: 0 });
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    for (let caller = 0; caller < 20; caller += 1)
      expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
    expect([saves, service.spent().length]).toEqual([1, 1]);
  });

  test("is dated by the first one, although the store lost that mark", async () => {
    const inner = memoryStore();
    let isForgetful = true;
    const store: TokenStore = {
      ...inner,
      save({ refusedAt, ...next }, replacing) {
        return inner.save(isForgetful || refusedAt === undefined ? next : { ...next, refusedAt }, replacing);
      },
    };
    const { login, service, time, value, types } = start({ store });
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    await failureOf(value());
    isForgetful = false;
    time.now += HOUR_MS;
    await failureOf(value());
    expect(await inner.load(SHOP)).toMatchObject({ refusedAt: T0 + DAY_MS });
    expect(types().filter((type) => type === "reconnect_required")).toHaveLength(1);
  });

  test("that the service accepts again an hour later leaves no mark", async () => {
    const store = memoryStore();
    const { login, service, time, value } = start({ store });
    await login();
    time.now = T0 + DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    await failureOf(value());
    time.now += HOUR_MS;
    expect(await value()).toBe("access-shop-2");
    expect(await store.load(SHOP)).not.toHaveProperty("refusedAt");
  });

  test("is a verdict though the clock is set ahead while the mark is saved: no second request", async () => {
    const inner = memoryStore();
    const store: TokenStore = {
      ...inner,
      save: (next, replacing) => {
        if (next.refusedAt !== undefined) time.now += HOUR_MS;
        return inner.save(next, replacing);
      },
    };
    const { login, service, time, value } = start({ store });
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
    expect(service.spent()).toHaveLength(1);
  });

  test("is forgotten with the next login, in another process too, without waiting for the cache", async () => {
    const store = memoryStore();
    const one = start({ store });
    const two = start({ store }, one.service, one.time);
    await one.login();
    one.service.revoke("shop");
    one.time.now = T0 + DAY_MS;
    await failureOf(one.value());
    await two.login();
    expect(await one.value()).toBe("access-shop-2");
    expect(await two.value()).toBe("access-shop-2");
  });

  test("whose set was replaced meanwhile: the newer one is adopted, not marked, and no login is asked for", async () => {
    const store = memoryStore();
    const one = start({ store });
    await one.login();
    one.time.now = T0 + DAY_MS;
    const held = one.service.holdNext();
    const waiting = one.value();
    await settled();
    const two = start({ store }, one.service, one.time);
    expect(await two.value()).toBe("access-shop-2"); // its own lock: the first one's was lost
    held.answer(oauthError("invalid_grant"));
    expect(await waiting).toBe("access-shop-2");
    expect(await store.load(SHOP)).toMatchObject({ refreshToken: "refresh-shop-2" });
    expect(await store.load(SHOP)).not.toHaveProperty("refusedAt");
    expect(one.types()).not.toContain("reconnect_required");
  });

  test("whose retailer was disconnected meanwhile is not put back", async () => {
    const store = memoryStore();
    const { login, pos, service, time, value } = start({ store });
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const waiting = failureOf(value());
    await settled();
    await pos.disconnect("shop");
    held.answer(oauthError("invalid_grant"));
    expect(await waiting).toMatchObject({ code: "not_connected" });
    expect(await store.load(SHOP)).toBeUndefined();
  });

  test("by a store that keeps no mark costs the callers one more request together, not one each", async () => {
    const inner = memoryStore();
    let isForgetful = false;
    const store: TokenStore = {
      ...inner,
      save: async (...set) => isForgetful || inner.save(...set),
    };
    const { login, service, shop, time } = start({ store, cacheMs: 0 });
    await login();
    time.now = T0 + DAY_MS;
    isForgetful = true;
    service.always(() => oauthError("invalid_grant"));
    const failures = await Promise.all(Array.from({ length: 100 }, () => failureOf(shop.token())));
    for (const failure of failures) expect(failure).toMatchObject({ code: "reconnect_required" });
    expect(service.spent().length).toBeLessThanOrEqual(2);
  });

  test("nothing is ever removed by a failure", async () => {
    const store = memoryStore();
    const removed: string[] = [];
    const remove = (prefix: string) => Promise.resolve(void removed.push(prefix));
    const { login, service, time, value } = start({ store: { ...store, remove } });
    await login();
    for (const { script } of refusals) {
      time.now += 2 * DAY_MS;
      service.next(script);
      await failureOf(value());
    }
    expect(removed).toEqual([]);
    expect(await store.load(SHOP)).toMatchObject({ refreshToken: "refresh-shop-1" });
  });

  test("is answered so even where the mark cannot be stored, and costs no second request", async () => {
    const store = memoryStore();
    let isDown = false;
    const save: typeof store.save = (next, replacing) =>
      isDown ? Promise.reject(new Error("disk full")) : store.save(next, replacing);
    const { login, service, time, value } = start({ store: { ...store, save } });
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    isDown = true;
    expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
    time.now += 100_000;
    expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
    expect(service.spent()).toHaveLength(1);
    isDown = false;
    expect(await failureOf(value())).toBeInstanceOf(ReconnectRequiredError);
    expect(await store.load(SHOP)).toMatchObject({ refusedAt: T0 + DAY_MS });
  });
});

describe("a mark that cannot be stored", () => {
  /** One process was refused, and cannot write; the store can be read, and another process writes to it. */
  async function refusedWithoutWriting() {
    const store = memoryStore();
    let isReadable = true;
    const mine: TokenStore = {
      ...store,
      load: (...asked) => (isReadable ? store.load(...asked) : Promise.reject(new Error("away"))),
      save: (...asked) =>
        one.service.spent().length > 0 ? Promise.reject(new Error("READONLY")) : store.save(...asked),
    };
    const one = start({ store: mine });
    const two = start({ store }, one.service, one.time);
    await one.login();
    one.service.revoke("shop");
    one.time.now = T0 + DAY_MS;
    expect(await failureOf(one.value())).toBeInstanceOf(ReconnectRequiredError);
    const goAway = () => {
      isReadable = false;
    };
    return { one, two, goAway };
  }

  test("ends with a login that another process has saved", async () => {
    const { one, two } = await refusedWithoutWriting();
    await two.login();
    expect(await one.value()).toBe("access-shop-2");
  });

  test("ends with a disconnect in another process", async () => {
    const { one, two } = await refusedWithoutWriting();
    await two.pos.disconnect("shop");
    expect(await failureOf(one.value())).toBeInstanceOf(NotConnectedError);
  });

  test("is told to nobody while the store cannot be read either: somebody may have logged in", async () => {
    const { one, two, goAway } = await refusedWithoutWriting();
    await two.login();
    goAway();
    expect(await failureOf(one.value())).toBeInstanceOf(StoreFailedError);
  });
});

describe("two processes that are both refused", () => {
  test("agree on a mark, and send one request where they share a lock", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const one = start(shared);
    const two = start(shared, one.service, one.time);
    await one.login();
    await two.value();
    one.service.revoke("shop");
    one.time.now = T0 + DAY_MS;
    const errors = await Promise.all([failureOf(one.value()), failureOf(two.value())]);
    for (const error of errors) expect(error).toBeInstanceOf(ReconnectRequiredError);
    expect(one.service.spent()).toHaveLength(1);
    expect(await shared.store.load(SHOP)).toMatchObject({
      refreshToken: "refresh-shop-1",
      refusedAt: one.time.now,
    });
  });
});
