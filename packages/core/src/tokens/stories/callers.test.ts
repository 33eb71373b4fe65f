import { AsyncLocalStorage } from "node:async_hooks";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_MS, failureOf, type Script, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import { NotConnectedError, RateLimitedError, TokenEndpointError } from "../../vocabulary/errors.js";

const down: Script = () => new Response("down", { status: 500 });
const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(async () => {
  await settled();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

describe("abort", () => {
  test("of one signal that many callers share ends all their waits, and nothing warns of a leak", async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on("warning", warn);
    const { login, service, shop, time } = start();
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const controller = new AbortController();
    const waiting = Array.from({ length: 40 }, () => failureOf(shop.token({ signal: controller.signal })));
    await settled();
    controller.abort(new Error("gone"));
    for (const failure of await Promise.all(waiting)) expect(failure).toMatchObject({ message: "gone" });
    held.release();
    await settled();
    process.off("warning", warn);
    expect(warnings).toEqual([]);
    expect((await shop.token()).value).toBe("access-shop-2");
  });

  test("ends this caller's wait only: the renewal goes on, is saved, and serves the others", async () => {
    const { login, service, shop, time } = start();
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const controller = new AbortController();
    const first = failureOf(shop.token({ signal: controller.signal }));
    await settled();
    const second = shop.token({ signal: new AbortController().signal });
    const reason = new Error("gone");
    controller.abort(reason);
    expect(await first).toBe(reason);
    held.release();
    expect((await second).value).toBe("access-shop-2");
    expect(service.spent()).toHaveLength(1);
  });

  test("of some who wait for one renewal leaves the others: each of their failures is told once", async () => {
    const { login, service, shop, time, counts } = start();
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const controller = new AbortController();
    const asks = [{}, {}, controller, {}, new AbortController(), controller, {}];
    const waiting = asks.map((ask) => failureOf(shop.token(ask)));
    await settled();
    controller.abort(new Error("gone"));
    held.answer(new Response("down", { status: 500 }));
    const failures = await Promise.all(waiting);
    const told = counts.filter(({ type }) => type === "caller_failed").length;
    expect(failures.filter((failure) => failure instanceof TokenEndpointError)).toHaveLength(5);
    expect(told).toBe(5);
  });

  test("of the only caller does not stop the renewal", async () => {
    const { login, service, shop, time, types, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const controller = new AbortController();
    const only = failureOf(shop.token({ signal: controller.signal }));
    await settled();
    controller.abort();
    expect(await only).toMatchObject({ name: "AbortError" });
    held.release();
    await settled();
    expect(types()).toEqual(["connected", "renewed"]);
    expect(await value()).toBe("access-shop-2");
    expect(service.spent()).toHaveLength(1);
  });

  test("before the call asks for nothing", async () => {
    const { login, service, shop, time } = start();
    await login();
    time.now = T0 + DAY_MS;
    expect(await failureOf(shop.token({ signal: AbortSignal.abort() }))).toMatchObject({
      name: "AbortError",
    });
    await settled();
    expect(service.spent()).toEqual([]);
  });

  test("of everybody while the endpoint fails leaves nothing unhandled and nothing behind", async () => {
    const { login, service, shop, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const controller = new AbortController();
    const callers = Array.from({ length: 10 }, () => failureOf(shop.token({ signal: controller.signal })));
    await settled();
    controller.abort();
    await Promise.all(callers);
    held.fail(new Error("broken"));
    await settled();
    time.now += 1000;
    expect(await value()).toBe("access-shop-2");
  });
});

describe("callers who wait for one renewal", () => {
  test("are each told of its failure in an asynchronous context of their own", async () => {
    const caller = new AsyncLocalStorage<number>();
    const told: unknown[] = [];
    const { login, service, shop, time } = start({
      observe: ({ type }) => {
        if (type === "caller_failed") told.push(caller.getStore());
      },
    });
    await login();
    time.now = T0 + DAY_MS;
    const held = service.holdNext();
    const asks = [{}, {}, { signal: new AbortController().signal }, {}];
    const waiting = asks.map((ask, index) => caller.run(index, () => failureOf(shop.token(ask))));
    await settled();
    held.answer(new Response("down", { status: 500 }));
    await Promise.all(waiting);
    expect(told.sort()).toEqual([0, 1, 2, 3]);
  });

  const cacheMs = 20_000;
  const lookedAt = T0 + DAY_MS - 30_000;
  for (const [edge, endsAt] of [
    ["ends", T0 + DAY_MS],
    ["is no longer fresh", lookedAt + cacheMs],
  ] as const) {
    for (const tick of [1, 2, 3, 4, 5, 6]) {
      test(`and one for whom the copy ${edge} between two looks at the clock, before look ${tick}`, async () => {
        let looksLeft = Number.POSITIVE_INFINITY;
        const clock = () => {
          looksLeft -= 1;
          if (looksLeft === 0) time.now += 1;
          return time.now;
        };
        const time = { now: T0 };
        const { login, service, shop } = start({ clock, cacheMs }, undefined, time);
        await login();
        time.now = lookedAt;
        const held = service.holdNext();
        expect((await shop.token()).value).toBe("access-shop-1"); // its renewal is under way from here
        time.now = endsAt - 1;
        looksLeft = tick;
        const atTheEdge = shop.token();
        await settled();
        looksLeft = Number.POSITIVE_INFINITY;
        time.now = T0 + DAY_MS + 1000;
        const later = shop.token();
        await settled();
        held.release();
        expect((await atTheEdge).value).toMatch(/^access-shop-[12]$/);
        expect((await later).value).toBe("access-shop-2");
        expect(service.spent()).toHaveLength(1);
      });
    }
  }
});

describe("a failure never poisons the next call", () => {
  test("the first renewal fails, the next caller's succeeds", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next(down);
    await failureOf(value());
    time.now += 1000;
    expect(await value()).toBe("access-shop-2");
  });

  for (const { name, fails } of [
    { name: "rejects", fails: () => Promise.reject(new Error("no lock")) },
    {
      name: "throws at once",
      fails: (): never => {
        throw new Error("no lock");
      },
    },
  ]) {
    test(`a lock that ${name} fails the callers of that moment only`, async () => {
      const lock = memoryLock();
      let isBroken = false;
      const { login, service, time, value } = start({
        lock: (key, work) => (isBroken ? fails() : lock(key, work)),
      });
      await login();
      isBroken = true;
      time.now = T0 + DAY_MS;
      expect(await failureOf(value())).toBeInstanceOf(Error);
      isBroken = false;
      time.now += 60_000;
      expect(await value()).toBe("access-shop-2");
      expect(service.spent()).toEqual(["refresh-shop-1"]);
    });

    test(`a lock that ${name} fails nobody while the held token lives, and is tried again`, async () => {
      const lock = memoryLock();
      let isBroken = false;
      const { login, service, time, types, value } = start({
        lock: (key, work) => (isBroken ? fails() : lock(key, work)),
      });
      await login();
      isBroken = true;
      time.now = T0 + DAY_MS - 200_000;
      expect(await value()).toBe("access-shop-1");
      await settled();
      expect(types()).toContain("store_failed");
      isBroken = false;
      time.now += 60_000;
      expect(await value()).toBe("access-shop-1");
      await settled();
      expect(await value()).toBe("access-shop-2");
      expect(service.spent()).toEqual(["refresh-shop-1"]);
    });
  }

  test("a lock that fails when it is released loses nothing", async () => {
    const lock = memoryLock();
    const { login, service, time, value } = start({
      lock: async (key, work) => {
        await lock(key, work);
        throw new Error("could not be released");
      },
    });
    await login();
    time.now = T0 + DAY_MS;
    expect(await value()).toBe("access-shop-2");
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });
});

describe("observers", () => {
  const thenable = (then: (resolve: unknown, reject: (reason: unknown) => void) => void) => ({ then });
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };

  for (const { name, observe } of [
    {
      name: "throw",
      observe: () => {
        throw new Error("observer");
      },
    },
    { name: "reject", observe: () => Promise.reject(new Error("observer")) },
    {
      name: "reject with another realm's promise",
      observe: () => runInNewContext('Promise.reject(new Error("observer"))'),
    },
    { name: "give a thenable that rejects", observe: () => thenable((_, reject) => reject("observer")) },
    {
      name: "give a thenable that throws",
      observe: () =>
        thenable(() => {
          throw new Error("observer");
        }),
    },
    {
      name: "give what throws when it is asked for `then`",
      observe: () => ({
        // biome-ignore lint/suspicious/noThenProperty: an observer may do so
        get then() {
          throw new Error("observer");
        },
      }),
    },
    { name: "give a thenable that never settles", observe: () => thenable(() => {}) },
    { name: "give a Proxy that was revoked", observe: revoked },
  ]) {
    test(`that ${name} disturb nothing`, async () => {
      const { login, pos, service, time, value } = start({ observe });
      await login();
      time.now = T0 + DAY_MS - 1;
      service.next(down);
      expect(await value()).toBe("access-shop-1");
      await settled();
      time.now += 1000;
      expect(await value()).toBe("access-shop-2");
      time.now += DAY_MS;
      service.next(() => new Response(null, { status: 429 }));
      expect(await failureOf(value())).toBeInstanceOf(RateLimitedError);
      time.now += 60_000;
      service.revoke("shop");
      expect(await failureOf(value())).toMatchObject({ code: "reconnect_required" });
      await pos.disconnect("shop");
      expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
    });
  }

  test("may ask for a token themselves", async () => {
    const asked: Array<Promise<unknown>> = [];
    const { login, service, time, value, shop } = start({
      observe: ({ type }) => {
        const isCount = type === "token_request" || type === "caller_failed";
        if (!isCount) asked.push(shop.token().catch((error: unknown) => error));
      },
    });
    await login();
    time.now = T0 + DAY_MS;
    service.next(down);
    await failureOf(value());
    time.now += 1000;
    expect(await value()).toBe("access-shop-2");
    const heard = await Promise.all(asked);
    expect(heard).toEqual([
      expect.objectContaining({ value: "access-shop-1" }),
      expect.any(TokenEndpointError),
      expect.objectContaining({ value: "access-shop-2" }),
    ]);
    expect(service.spent()).toHaveLength(2);
  });
});

describe("a clock that jumps", () => {
  for (const [name, jumpMs] of [
    ["an hour back", -3_600_000],
    ["a day back", -DAY_MS],
    ["an hour forward", 3_600_000],
    ["a day forward", DAY_MS],
  ] as const) {
    test(`${name} costs at most one renewal, and a token is served`, async () => {
      const { login, service, time, value } = start();
      await login();
      await value();
      time.now += jumpMs;
      for (let count = 0; count < 20; count += 1) {
        expect(await value()).toMatch(/^access-shop-[12]$/);
        await settled();
        time.now += 1000;
      }
      time.now -= jumpMs;
      for (let count = 0; count < 20; count += 1) {
        expect(await value()).toMatch(/^access-shop-[12]$/);
        await settled();
      }
      expect(service.spent().length).toBeLessThanOrEqual(1);
    });

    test(`${name} during a hold-back keeps no retailer waiting longer than an hour`, async () => {
      const { login, service, time, value } = start();
      await login();
      time.now = T0 + 3 * DAY_MS;
      service.next(
        () => new Response(null, { status: 429, headers: { "x-ratelimit-reset": "99999999999" } }),
      );
      await failureOf(value());
      time.now += jumpMs;
      let served: unknown;
      for (let minute = 0; minute <= 60 && typeof served !== "string"; minute += 1) {
        served = await value().catch((error: unknown) => error);
        time.now += 60_000;
      }
      expect(served).toBe("access-shop-2");
    });
  }

  test("back after the copy was made is no reason to trust the copy until then", async () => {
    const store = memoryStore();
    const { login, time, value } = start({ store });
    await login();
    time.now -= DAY_MS;
    await start({ store }, undefined, time).pos.disconnect("shop");
    expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
  });
});
