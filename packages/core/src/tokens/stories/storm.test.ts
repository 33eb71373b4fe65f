import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DAY_MS, type FakeService, fakeService, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import type { Lock } from "../../vocabulary/lock.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

// A long bad day, drawn from a seed: a slow store that loses saves or their answers, an endpoint that fails,
// callers at any moment. Whatever happened, once all is well again the refresh token that the service accepts
// is stored, it alone was sent, and a token is served.

const SHOP = parseDomainPrefix("shop");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const noLock: Lock = (_key, work) => work();
const kinds = [
  { name: "one process", processes: 1, lock: memoryLock, cacheMs: 10_000 },
  { name: "one process that always asks the store", processes: 1, lock: memoryLock, cacheMs: 0 },
  { name: "three processes", processes: 3, lock: memoryLock, cacheMs: 10_000 },
  { name: "three processes whose lock is always lost", processes: 3, lock: () => noLock, cacheMs: 0 },
];
for (const { name, processes, lock, cacheMs } of kinds) {
  for (let seed = 1; seed <= 40; seed += 1) {
    test(`${name}, day ${seed}`, async () => {
      const day = badDay(seed);
      const shared = { store: day.store, lock: lock(), cacheMs };
      const all = Array.from({ length: processes }, () => start(shared, day.service, day.time));
      await all[0]?.login();
      for (let step = 0; step < 60; step += 1) {
        day.step();
        for (const { shop } of all) if (day.random(2)) shop.token().catch(() => {});
        for (let turns = day.random(3); turns > 0; turns -= 1) await settled();
        await vi.advanceTimersByTimeAsync(day.random(3) * 500);
      }
      day.end();
      for (let turn = 0; turn < 8; turn += 1) {
        await vi.advanceTimersByTimeAsync(5000);
        await settled();
        for (const { shop } of all) await shop.token().catch(() => {});
        day.time.now += 61_000;
      }
      day.time.now += DAY_MS;
      for (const { value } of all) expect(await value()).toBe(`access-shop-${day.issued()}`);
      expect((await day.inner.load(SHOP))?.refreshToken).toBe(day.service.valid("shop"));
      if (processes === 1) expect(day.refused()).toBe(0);
    });
  }
}

function badDay(seed: number) {
  let state = seed * 7919;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const time = { now: T0 };
  const service: FakeService = fakeService();
  let issued = 0;
  let refused = 0;
  let isBad = false;
  service.always(async (_, regular) => {
    if (isBad && random(4) === 0) return new Response("down", { status: 500 });
    const answer = regular();
    if (answer.ok) issued += 1;
    else refused += 1;
    for (let turns = isBad ? random(30) : 0; turns > 0; turns -= 1) await new Promise(setImmediate);
    return answer;
  });
  const inner = memoryStore();
  let saving = "well";
  const pause = async () => {
    for (let turns = isBad ? random(20) : 0; turns > 0; turns -= 1) await new Promise(setImmediate);
  };
  const store: TokenStore = {
    async load(prefix) {
      await pause();
      const found = await inner.load(prefix);
      await pause();
      return found;
    },
    async save(next, replacing) {
      await pause();
      if (saving === "down") throw new Error("disk full");
      const isSaved = await inner.save(next, replacing);
      await pause();
      if (saving === "deaf") throw new Error("the answer was lost");
      return isSaved;
    },
    remove: inner.remove,
  };
  return {
    time,
    service,
    inner,
    store,
    random,
    issued: () => issued,
    refused: () => refused,
    step() {
      isBad = true;
      saving = ["well", "well", "down", "deaf", saving][random(5)] ?? "well";
      time.now += [0, 10, 1000, 20_000, 3_600_000, DAY_MS - 1000][random(6)] ?? 0;
    },
    end() {
      isBad = false;
      saving = "well";
    },
  };
}
