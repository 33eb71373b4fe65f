import { expect, test } from "vitest";
import { DAY_MS, failureOf, fakeService, json, start } from "../../testing/fake-service.js";
import { memoryLock } from "../store/locks.js";
import { memoryStore } from "../store/memory-store.js";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";

const SHOP = parseDomainPrefix("shop");

/** Processes that share store, lock and service; the service answers 429 for two minutes from now. */
async function limited({ processes = 4 } = {}) {
  const shared = { store: memoryStore(), lock: memoryLock() };
  const service = fakeService();
  const first = start(shared, service);
  const { time } = first;
  const more = () => start(shared, service, time);
  const all = [first, ...Array.from({ length: processes - 1 }, more)];
  await first.login();
  for (const each of all) await each.value();
  time.now += 2 * DAY_MS;
  const until = time.now + 120_000;
  service.always((_, regular) =>
    time.now < until ? json({}, 429, { "x-ratelimit-reset": String(until / 1000) }) : regular(),
  );
  return { ...shared, all, more, service, time, until };
}

test("callers of four processes that meet a 429 make one token request in all, until the reset", async () => {
  const { all, service, time, until, store } = await limited();
  const sent = service.seen.length;
  for (let second = 0; second < 120; second += 10) {
    const outcomes = await Promise.all(all.map(({ value }) => failureOf(value())));
    for (const error of outcomes) {
      expect(error).toBeInstanceOf(RateLimitedError);
      expect(error).toMatchObject({ retryAt: until });
    }
    time.now += 10_000;
  }
  expect(service.seen.length - sent).toBe(1);
  expect(await store.load(SHOP)).toMatchObject({ limitedUntil: until, refreshToken: "refresh-shop-1" });

  expect(await Promise.all(all.map(({ value }) => value()))).toEqual(Array(4).fill("access-shop-2"));
  expect(service.spent()).toHaveLength(2);
  expect(await store.load(SHOP)).not.toHaveProperty("limitedUntil");
});

test("a process that starts meanwhile knows of it", async () => {
  const { all, more, service, until } = await limited({ processes: 1 });
  await failureOf(all[0]?.value() as Promise<string>);
  const sent = service.seen.length;
  const restarted = more();
  expect(await failureOf(restarted.value())).toMatchObject({ code: "rate_limited", retryAt: until });
  expect(await failureOf(restarted.pos.exchange("shop", "code"))).toMatchObject({ code: "rate_limited" });
  expect(service.seen).toHaveLength(sent);
  expect(restarted.types()).not.toContain("rate_limited"); // the process that was answered has told it
});

test("a login that meets a 429 tells the other processes too", async () => {
  const { all, service, until } = await limited({ processes: 2 });
  const [one, two] = all;
  expect(await failureOf(one?.pos.exchange("shop", "code") as Promise<unknown>)).toMatchObject({
    retryAt: until,
  });
  const sent = service.seen.length;
  expect(await failureOf(two?.value() as Promise<string>)).toMatchObject({
    code: "rate_limited",
    retryAt: until,
  });
  expect(service.seen).toHaveLength(sent);
});

test("a login in a process that knows nothing yet is held back, if the lock is shared", async () => {
  const { all, more, service, until } = await limited({ processes: 1 });
  await failureOf(all[0]?.value() as Promise<string>);
  const sent = service.seen.length;
  expect(await failureOf(more().pos.exchange("shop", "code"))).toMatchObject({ retryAt: until });
  expect(service.seen).toHaveLength(sent);
});

test("a note of a 429 leaves the mark of a refused refresh token where it is", async () => {
  const { all, store, time, service } = await limited({ processes: 1 });
  const process = all[0] as ReturnType<typeof start>;
  const set = await store.load(SHOP);
  if (!set) throw new Error("nothing stored");
  const load = store.load;
  store.load = async (shop) => {
    const loaded = await load(shop);
    store.load = load; // the mark comes between this look and the note
    await store.save({ ...set, version: "marked", refusedAt: time.now });
    return loaded;
  };
  service.next(() => json({}, 429));
  await failureOf(process.pos.exchange("shop", "code"));
  expect(await store.load(SHOP)).toMatchObject({ refusedAt: time.now });
});

test("a login ends it, a limit more than an hour ahead is not believed, and nothing early goes out", async () => {
  const { all, service, store, time, until } = await limited({ processes: 1 });
  const process = all[0] as ReturnType<typeof start>;
  const set = await store.load(SHOP);
  if (!set) throw new Error("nothing stored");
  const expiresAt = time.now + 1000;
  await store.save({ ...set, version: "live", access: { value: "live", expiresAt }, limitedUntil: until });
  expect(await process.value()).toBe("live"); // due for an early renewal, which is held back
  expect(service.spent()).toEqual([]);
  await store.save({ ...set, version: "wrong clock", limitedUntil: time.now + 7_200_000 });
  time.now += 10_000;
  expect(await failureOf(process.value())).toBeInstanceOf(RateLimitedError);
  expect(service.spent()).toHaveLength(1);
  time.now = until;
  await process.login();
  expect(await process.value()).toBe("access-shop-2");
});

test("a limit of an hour holds in a process whose clock is minutes behind, too", async () => {
  const store = memoryStore();
  const service = fakeService();
  const ahead = start({ store }, service);
  await ahead.login();
  ahead.time.now += 2 * DAY_MS;
  const resetsInTwoHours = String(Math.floor(ahead.time.now / 1000) + 7200);
  service.next(() => json({}, 429, { "x-ratelimit-reset": resetsInTwoHours }));
  expect(await failureOf(ahead.value())).toBeInstanceOf(RateLimitedError);
  for (const behindMs of [2000, 240_000]) {
    const behind = start({ store }, service, { now: ahead.time.now - behindMs });
    expect(await failureOf(behind.value())).toBeInstanceOf(RateLimitedError);
  }
  expect(service.spent()).toHaveLength(1);
});

test("a store that does not take the note changes nothing for the caller", async () => {
  const inner = memoryStore();
  const service = fakeService();
  let isReadOnly = false;
  const save: typeof inner.save = (...args) =>
    isReadOnly ? Promise.reject(new Error("read only")) : inner.save(...args);
  const { login, time, value, types } = start({ store: { ...inner, save } }, service);
  await login();
  time.now += 2 * DAY_MS;
  isReadOnly = true;
  service.next(() => json({}, 429));
  expect(await failureOf(value())).toBeInstanceOf(RateLimitedError);
  expect(await failureOf(value())).toBeInstanceOf(RateLimitedError);
  expect(service.spent()).toHaveLength(1);
  expect(types()).toEqual(["connected", "rate_limited", "store_failed"]);
});

test("a login knows of a 429 that another process has just noted, however young this process's copy is", async () => {
  const { all, service, time } = await limited({ processes: 2 });
  const [one, two] = all;
  time.now -= 2 * DAY_MS; // everybody holds a live token, and the copies are trusted
  service.always(() => json({}, 429, { "x-ratelimit-reset": String((time.now + 120_000) / 1000) }));
  await two?.value();
  expect(await failureOf(one?.pos.exchange("shop", "code") as Promise<unknown>)).toMatchObject({
    status: 503,
  });
  const sent = service.seen.length;
  expect(await failureOf(two?.pos.exchange("shop", "code") as Promise<unknown>)).toMatchObject({
    status: 503,
  });
  expect(service.seen).toHaveLength(sent);
});
