import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  DAY_MS,
  type FakeService,
  failureOf,
  json,
  later,
  settled,
  start,
  T0,
} from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { NotConnectedError } from "../../vocabulary/errors.js";
import type { TokenSet } from "../../vocabulary/token-set.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const SHOP = parseDomainPrefix("shop");
const diskFull = () => Promise.reject<boolean>(new Error("disk full"));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test("a new token is handed out only after it was saved", async () => {
  const saved = later<boolean>();
  const { login, scripts, service, time, value } = onStore();
  await login();
  time.now = T0 + DAY_MS;
  scripts.push((_next, _replacing, really) => saved.promise.then(really));
  const handedOut: string[] = [];
  const callers = [value(), value()].map((waiting) => waiting.then((token) => handedOut.push(token)));
  await settled();
  expect(service.spent()).toHaveLength(1);
  expect(handedOut).toEqual([]);
  saved.resolve(true);
  await Promise.all(callers);
  expect(handedOut).toEqual(["access-shop-2", "access-shop-2"]);
});

test("a renewal is saved with the set that it replaces", async () => {
  const { inner, login, scripts, time, value } = onStore();
  const { version } = await login();
  time.now = T0 + DAY_MS;
  let seen: TokenSet | undefined;
  scripts.push((_next, replacing, really) => {
    seen = replacing;
    return really();
  });
  await value();
  expect(seen?.version).toBe(version);
  expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
});

describe("a save that rejects", () => {
  test("once is tried again after a pause, under the lock, and nobody notices", async () => {
    const { inner, login, scripts, service, time, types, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    scripts.push(diskFull);
    const waiting = value();
    await passes(waiting);
    expect(await waiting).toBe("access-shop-2");
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
    expect(types()).toEqual(["connected", "renewed"]);
    expect(service.spent()).toHaveLength(1);
  });

  test("although it saved (its answer was lost) is recognised", async () => {
    const { inner, login, scripts, service, time, types, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    scripts.push(async (_next, _replacing, really) => {
      await really();
      throw new Error("connection lost");
    });
    const waiting = value();
    await passes(waiting);
    expect(await waiting).toBe("access-shop-2");
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
    expect(types()).toEqual(["connected", "renewed"]);
    expect(service.spent()).toHaveLength(1);
  });

  test("for seconds: the new token is served, unsaved is observed, the old refresh token is never sent again", async () => {
    const { events, inner, login, outage, service, time, types, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    outage.isOn = true;
    const waiting = value();
    await passes(waiting);
    expect(await waiting).toBe("access-shop-2");
    expect(types()).toContain("unsaved");
    expect(events.find(({ type }) => type === "unsaved")).toMatchObject({
      domainPrefix: "shop",
      at: time.now,
      error: { code: "store_failed", operation: "save", cause: { message: "disk full" } },
    });
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-1");

    for (let expiry = 2; expiry < 5; expiry += 1) {
      time.now += DAY_MS;
      const next = value();
      await passes(next);
      expect(await next).toBe(`access-shop-${expiry + 1}`);
    }
    expect(service.spent()).toEqual([1, 2, 3, 4].map((count) => `refresh-shop-${count}`));

    outage.isOn = false;
    expect(await value()).toBe("access-shop-5");
    await settled();
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-5");
  });

  test("in the background leaves the callers with the held token, and the next use saves", async () => {
    const { inner, login, outage, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS - 1000;
    outage.isOn = true;
    expect(await value()).toBe("access-shop-1");
    await passes(settled());
    expect(await value()).toBe("access-shop-2");
    await settled(); // tried again, in vain
    outage.isOn = false;
    expect(await value()).toBe("access-shop-2");
    await settled();
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
  });

  test("is made up for although nobody asks again: after a second, then after twice as long each time", async () => {
    const { inner, login, scripts, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    scripts.push(...Array(8).fill(diskFull)); // six patient tries, then two more
    const asked = value();
    await vi.advanceTimersByTimeAsync(3000);
    expect(await asked).toBe("access-shop-2");
    await vi.advanceTimersByTimeAsync(1000 + 2000);
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-1");
    await vi.advanceTimersByTimeAsync(4000);
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
  });

  test("and comes through late, between another process's rotation and its save, costs no rotated token", async () => {
    const { inner, login, scripts, service, shop, time } = onStore();
    const other = onStore({}, inner, service, time);
    await login();
    time.now = T0 + DAY_MS;
    // Not rotated, and not saved: this process alone has the access token, the refresh token is still good.
    service.next(() => json({ access_token: "access-of-one", expires_in: 60 }));
    scripts.push(...Array(6).fill(diskFull));
    const asked = shop.token();
    await vi.advanceTimersByTimeAsync(3000);
    expect((await asked).value).toBe("access-of-one");
    other.scripts.push(async (_next, _replacing, really) => {
      await shop.token(); // the next use saves
      await settled();
      expect((await inner.load(SHOP))?.access.value).toBe("access-of-one");
      return really();
    });
    await other.shop.token();
    expect((await inner.load(SHOP))?.refreshToken).toBe(service.valid("shop"));
  });

  test("is followed by a process that saves later, and the other one recovers from its refusal", async () => {
    const lock = memoryLock();
    const { inner, login, outage, service, time, value } = onStore({ lock });
    await login();
    const two = start({ store: inner, lock }, service, time);
    time.now = T0 + DAY_MS;
    outage.isOn = true;
    const waiting = value();
    await passes(waiting);
    expect(await failureOf(two.value())).toMatchObject({ code: "reconnect_required" }); // it sees the old set only
    outage.isOn = false;
    expect(await value()).toBe("access-shop-2");
    await settled();
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
    expect(await two.value()).toBe("access-shop-2");
  });

  test("until somebody logs in again: the fresh login wins over the unsaved set", async () => {
    const { inner, login, outage, service, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    outage.isOn = true;
    const waiting = value();
    await passes(waiting);
    outage.isOn = false;
    const elsewhere = start({ store: inner }, service, time);
    await elsewhere.login();
    await value();
    await settled();
    expect(await value()).toBe("access-shop-3");
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-3");
  });

  test("while the retailer is disconnected: the retailer stays disconnected", async () => {
    const { inner, login, outage, pos, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    outage.isOn = true; // nothing can be written, but things can be removed
    const waiting = value().catch((error: unknown) => error);
    await settled();
    await pos.disconnect("shop");
    await passes(waiting);
    expect(await waiting).toBeInstanceOf(NotConnectedError);
    expect(await value().catch((error: unknown) => error)).toBeInstanceOf(NotConnectedError);
    expect(await inner.load(SHOP)).toBeUndefined();
  });

  test("after the store hung, while somebody logged in: the fresh login stays", async () => {
    const { login, outage, scripts, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    const hung = later<boolean>();
    scripts.push(diskFull, diskFull, diskFull, diskFull, diskFull, () => hung.promise);
    const waiting = value();
    await vi.advanceTimersByTimeAsync(3000);
    await settled();
    await login();
    outage.isOn = true;
    hung.reject(new Error("timed out"));
    await passes(waiting);
    expect(await waiting).toBe("access-shop-3");
    expect(await value()).toBe("access-shop-3");
  });
});

describe("a save that says false", () => {
  test("because another process saved: that set is used, and stays", async () => {
    const { inner, login, scripts, service, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    const theirs = {
      access: { value: "theirs", expiresAt: time.now + DAY_MS },
      refreshToken: "their-refresh",
    };
    scripts.push(async (next, _replacing, really) => {
      await inner.save({ ...next, ...theirs, version: "their-version" });
      return really();
    });
    expect(await value()).toBe("theirs");
    expect(await value()).toBe("theirs");
    expect((await inner.load(SHOP))?.refreshToken).toBe("their-refresh");
    expect(service.spent()).toHaveLength(1);
  });

  test("while it still holds the old set: the rotated refresh token is not dropped, nor an expired token handed out", async () => {
    const { inner, login, scripts, service, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    scripts.push(() => Promise.resolve(false));
    const waiting = value();
    await passes(waiting.catch(() => {}));
    expect(await waiting).toBe("access-shop-2");
    time.now += DAY_MS;
    const next = value();
    await passes(next.catch(() => {}));
    expect(await next).toBe("access-shop-3");
    expect(service.spent()).toEqual(["refresh-shop-1", "refresh-shop-2"]);
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-3");
  });
});

describe("a set that waits to be saved while the next renewal is under way", () => {
  test("a set that was saved although its answer was lost does not cost the newer refresh token", async () => {
    const { inner, login, outage, scripts, service, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    scripts.push(async (_next, _replacing, really) => {
      await really();
      outage.isOn = true;
      throw new Error("connection lost");
    });
    const waiting = value();
    await passes(waiting);
    expect(await waiting).toBe("access-shop-2"); // unsaved, as far as this process can tell
    time.now += DAY_MS;
    service.next((_, regular) => {
      outage.isOn = false; // the store recovers while the token request is under way
      return regular();
    });
    expect(await value()).toBe("access-shop-3");
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-3");
  });

  test("a late try for the older set does not cost the newer refresh token", async () => {
    const { inner, login, outage, scripts, service, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    outage.isOn = true;
    const waiting = value();
    await passes(waiting);
    expect(await waiting).toBe("access-shop-2"); // unsaved

    time.now += DAY_MS - 1000;
    const held = service.holdNext();
    expect(await value()).toBe("access-shop-2"); // starts the early renewal
    await settled();
    const recovered = later();
    outage.isOn = false;
    scripts.push(async (_next, _replacing, really) => {
      const isSaved = await really(); // the older set's try: saved, but the answer is slow
      await recovered.promise;
      return isSaved;
    });
    expect(await value()).toBe("access-shop-2");
    await settled();
    held.release();
    await settled();
    recovered.resolve();
    await passes(settled());
    expect(service.valid("shop")).toBe("refresh-shop-3");
    expect(await value()).toBe("access-shop-3");
    await settled();
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-3");
  });

  test("a try for the older set between two tries for the newer one does not cost the newer refresh token", async () => {
    const { inner, login, outage, scripts, service, time, value } = onStore();
    await login();
    time.now = T0 + DAY_MS;
    outage.isOn = true;
    const waiting = value();
    await passes(waiting);

    time.now += DAY_MS - 1000;
    expect(await value()).toBe("access-shop-2"); // the early renewal; its first save fails
    await settled();
    outage.isOn = false; // the store recovers during the pause
    expect(await value()).toBe("access-shop-2");
    await passes(settled());
    expect(await value()).toBe("access-shop-3");
    await settled();
    expect(scripts).toEqual([]);
    expect(service.valid("shop")).toBe("refresh-shop-3");
    expect((await inner.load(SHOP))?.refreshToken).toBe("refresh-shop-3");
  });
});

type SaveScript = (
  next: TokenSet,
  replacing: TokenSet | undefined,
  really: () => Promise<boolean>,
) => Promise<boolean>;

/** A client on a store whose saves can be scripted one by one, or fail while `outage.isOn`. */
function onStore(
  options: Parameters<typeof start>[0] = {},
  inner = memoryStore(),
  ...rest: [service?: FakeService, time?: { now: number }]
) {
  const scripts: SaveScript[] = [];
  const outage = { isOn: false };
  const store: TokenStore = {
    ...inner,
    save(next, replacing) {
      const really = () => inner.save(next, replacing);
      if (outage.isOn) return diskFull();
      const script = replacing && scripts.shift(); // a login is no business of the scripts
      return script ? script(next, replacing, really) : really();
    },
  };
  return { ...start({ ...options, store }, ...rest), inner, scripts, outage };
}

/** Lets the pauses between the tries pass. */
async function passes(work: Promise<unknown>): Promise<void> {
  await settled();
  for (let pause = 0; pause < 8; pause += 1) {
    await vi.advanceTimersByTimeAsync(1500);
    await settled();
  }
  await work.catch(() => {});
}
