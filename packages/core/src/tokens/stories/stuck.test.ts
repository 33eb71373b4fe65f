import { afterEach, describe, expect, test, vi } from "vitest";
import { DAY_MS, json, later, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

// Some runtimes end a request's work with its answer: its promises never settle and its timers never run. Here timers
// that are made while `isDying` is set never run, and what that work waits for never comes.

const END = T0 + DAY_MS;

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Begins work in a request that its runtime ends. */
async function inDyingRequest(work: () => Promise<unknown>): Promise<void> {
  const timers = { setTimeout: globalThis.setTimeout, setInterval: globalThis.setInterval };
  vi.stubGlobal("setTimeout", () => 0);
  vi.stubGlobal("setInterval", () => 0);
  void work().catch(() => {});
  await settled();
  vi.stubGlobal("setTimeout", timers.setTimeout);
  vi.stubGlobal("setInterval", timers.setInterval);
}

/** A client whose first load, save or token request after `die()` is never answered. */
function mortal(options: Parameters<typeof start>[0] = {}) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  const inner = memoryStore();
  const hangs = new Set<string>();
  const unlessHanging = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    hangs.delete(name) ? new Promise(() => {}) : work();
  const store: TokenStore = {
    ...inner,
    load: (name) => unlessHanging("load", () => inner.load(name)),
    save: (next, replacing) => unlessHanging("save", () => inner.save(next, replacing)),
  };
  const started = start({ store, ...options });
  started.service.always((_, regular) => {
    if (hangs.delete("refresh")) return later<Response>().promise;
    return regular();
  });
  return { ...started, hangs };
}

describe("a renewal that its runtime ended", () => {
  test.each(["load", "refresh"])("in its %s is begun anew by the next caller, within 15 s", async (step) => {
    const { hangs, login, service, time, value } = mortal({ cacheMs: step === "load" ? 0 : 10_000 });
    await login();
    time.now = END;
    hangs.add(step);
    await inDyingRequest(value);
    const next = value();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await next).toBe("access-shop-2");
    expect(service.spent()).toHaveLength(step === "refresh" ? 2 : 1);
    expect(await value()).toBe("access-shop-2");
  });

  test("while it saved: the next callers get what the service issued, and it is saved", async () => {
    const { hangs, login, time, shop, service } = mortal();
    await login();
    time.now = END;
    hangs.add("save");
    service.next((_, regular) => {
      regular();
      return json({ access_token: "lost", expires_in: 60 });
    });
    await inDyingRequest(() => shop.token());
    const next = shop.token().then(
      () => "a token",
      ({ code }) => code,
    );
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await next).toBe("a token"); // this process kept what its request received
  });

  test("before the token's end disturbs no caller, and many callers after it share one renewal", async () => {
    const { hangs, login, service, time, value } = mortal();
    await login();
    time.now = END - 200_000;
    hangs.add("refresh");
    await inDyingRequest(value);
    expect(await value()).toBe("access-shop-1");
    time.now = END;
    const many = Promise.all(Array.from({ length: 50 }, value));
    await vi.advanceTimersByTimeAsync(15_000);
    expect(new Set(await many)).toEqual(new Set(["access-shop-2"]));
    expect(service.spent()).toHaveLength(2);
  });

  test.each([
    ["load", 1],
    ["refresh", 2],
  ])("in its %s is begun anew by renewDue, 15 s later, and counts as renewed", async (step, spent) => {
    const { hangs, login, pos, service, time, value } = mortal({ cacheMs: step === "load" ? 0 : 10_000 });
    await login();
    time.now = END;
    hangs.add(step);
    await inDyingRequest(value);
    await vi.advanceTimersByTimeAsync(15_000);
    const running = pos.renewDue();
    await settled(); // it has listed the retailer, and waits for what is stuck
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await running).toMatchObject({ due: 1, renewed: 1, elsewhere: 0, failed: 0 });
    expect(service.spent()).toHaveLength(spent);
    expect(await value()).toBe("access-shop-2");
  });

  test("is begun anew by a caller, whom renewDue joins: renewed elsewhere", async () => {
    const { hangs, login, pos, service, time, value } = mortal();
    await login();
    time.now = END;
    hangs.add("refresh");
    await inDyingRequest(value);
    await vi.advanceTimersByTimeAsync(15_000);
    const both = Promise.all([value(), pos.renewDue()]);
    await settled();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await both).toMatchObject(["access-shop-2", { due: 1, renewed: 0, elsewhere: 1, failed: 0 }]);
    expect(service.spent()).toHaveLength(2);
  });

  test("lets another client of the same lock go on", async () => {
    const lock = memoryLock();
    const first = mortal({ lock });
    await first.login();
    const second = start({ lock, store: memoryStore() }, first.service, first.time);
    await second.login();
    first.time.now = END;
    first.hangs.add("refresh");
    await inDyingRequest(first.value);
    const next = second.value();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await next).toMatch(/^access-shop-/);
  });
});

test("a login that its runtime ended does not stop the next one of that retailer", async () => {
  const { hangs, pos } = mortal();
  hangs.add("refresh");
  await inDyingRequest(() => pos.exchange("shop", "code"));
  const next = pos.exchange("shop", "another code");
  await vi.advanceTimersByTimeAsync(12_000); // timeoutMs, a second, and one look more
  expect((await next).access.value).toBe("access-shop-1");
});

test("a hundred logins that their runtime ended do not keep the next one of that retailer out", async () => {
  const { hangs, pos } = mortal();
  hangs.add("refresh");
  await inDyingRequest(async () => {
    for (let login = 0; login < 100; login += 1) void pos.exchange("shop", `code-${login}`).catch(() => {});
  });
  await expect(pos.exchange("shop", "at once")).rejects.toMatchObject({ code: "rate_limited" });
  await vi.advanceTimersByTimeAsync(15_000);
  const next = pos.exchange("shop", "another code");
  await vi.advanceTimersByTimeAsync(120_000);
  expect((await next).access.value).toMatch(/^access-shop-/);
});

test("a renewal that is alive is joined for as long as it takes: slow store, slow answer, tries to save", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  const inner = memoryStore();
  const state = { isSlow: false, refusals: 0 };
  const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
    if (state.isSlow) await new Promise((resolve) => setTimeout(resolve, 4900));
    return work();
  };
  const store: TokenStore = {
    ...inner,
    load: (name) => slowly(() => inner.load(name)),
    save: (next, replacing) =>
      slowly(() => (state.refusals-- > 0 ? Promise.reject(new Error("away")) : inner.save(next, replacing))),
  };
  const { login, service, time, value } = start({ store, cacheMs: 60_000 });
  await login();
  await value();
  Object.assign(state, { isSlow: true, refusals: 5 });
  time.now = END;
  service.next(async (_, regular) => {
    await new Promise((resolve) => setTimeout(resolve, 9800));
    return regular();
  });
  const waiting = Promise.all(Array.from({ length: 20 }, value));
  await vi.advanceTimersByTimeAsync(90_000);
  expect(new Set(await waiting)).toEqual(new Set(["access-shop-2"]));
  expect(service.spent()).toHaveLength(1);
});

describe("the option background is given", () => {
  test("an early renewal, in the turn of the caller who began it; it ends with the renewal and never rejects", async () => {
    const works: Promise<unknown>[] = [];
    const { login, service, time, value } = start({ background: (work) => void works.push(work) });
    await login();
    expect(works).toEqual([]);
    time.now = END - 200_000;
    const held = service.holdNext();
    expect(await value()).toBe("access-shop-1");
    expect(works).toHaveLength(1);
    held.fail(new TypeError("fetch failed"));
    expect(await works[0]).toBeUndefined();
    time.now = END - 100_000;
    await value();
    expect(works).toHaveLength(2);
    await works[1];
    expect(await value()).toBe("access-shop-2");
  });

  test("an early renewal at once, although one that its runtime ended has to be given up first", async () => {
    const works: Promise<unknown>[] = [];
    const { hangs, login, time, value } = mortal({ background: (work) => void works.push(work) });
    await login();
    time.now = END - 200_000;
    hangs.add("refresh");
    await inDyingRequest(value);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await value()).toBe("access-shop-1");
    expect(works).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(5_000);
    await works[1];
    expect(await value()).toBe("access-shop-2");
  });

  test("tokens that come after the deadline", async () => {
    const works: Promise<unknown>[] = [];
    const background = (work: Promise<unknown>) => void works.push(work);
    const { login, service, time, value, types } = start({ background, timeoutMs: 50 });
    await login();
    time.now = END;
    const held = service.holdNext();
    await expect(value()).rejects.toMatchObject({ code: "token_endpoint_failed" });
    held.release();
    await Promise.all(works);
    expect(types()).toContain("renewed");
    expect(await value()).toBe("access-shop-2");
  });

  test.each([
    ["once it is done", Promise.resolve],
    ["once it has failed", Promise.reject],
  ])("what the observer goes on to do, %s, and no caller waits for it", async (_, settle) => {
    const works: Promise<unknown>[] = [];
    let end = () => {};
    const { pos } = start({
      background: (work) => void works.push(work),
      observe: () =>
        new Promise((resolve) => {
          end = () => resolve(settle.call(Promise, new Error("no mail today")));
        }),
    });
    await expect(pos.tokens("shop").token()).rejects.toMatchObject({ code: "not_connected" });
    expect(works).toHaveLength(1);
    let isDone = false;
    const done = works[0]?.then(() => {
      isDone = true;
    });
    await settled();
    expect(isDone).toBe(false);
    end();
    await done;
    expect(isDone).toBe(true);
  });

  test("tries to save again what the store did not take", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const inner = memoryStore();
    let isAway = false;
    const save: TokenStore["save"] = (...args) =>
      isAway ? Promise.reject(new Error("away")) : inner.save(...args);
    const works: Promise<unknown>[] = [];
    const { login, time, value } = start({
      store: { ...inner, save },
      background: (work) => void works.push(work),
    });
    await login();
    time.now = END;
    isAway = true;
    const waiting = value();
    await vi.advanceTimersByTimeAsync(4000);
    expect(await waiting).toBe("access-shop-2");
    isAway = false;
    await vi.advanceTimersByTimeAsync(60_000);
    await Promise.all(works);
    expect((await inner.load("shop" as never))?.access.value).toBe("access-shop-2");
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("mine");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("mine");
      },
    ],
  ])("and disturbs nothing if it %s", async (_, background) => {
    const { login, time, value } = start({ background });
    await login();
    time.now = END - 200_000;
    expect(await value()).toBe("access-shop-1");
    await settled();
    expect(await value()).toBe("access-shop-2");
  });

  test("and is a TypeError if it is no function", () => {
    expect(() => start({ background: "waitUntil" as never })).toThrow("background must be a function");
  });
});
