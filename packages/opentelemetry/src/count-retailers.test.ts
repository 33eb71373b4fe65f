import { type MeterProvider, metrics } from "@opentelemetry/api";
import { memoryStore, type TokenStore } from "@retail-pos/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DAY_MS, later, oauthError, settled, start } from "../../core/testing/fake-service.js";
import { signals } from "../testing/signals.js";
import { type CountRetailersOptions, countRetailers } from "./count-retailers.js";

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

/** A store of which each page can be made to wait or to fail. */
function pagedStore() {
  const inner = memoryStore() as Required<TokenStore>;
  const store: Required<TokenStore> & { next?: (() => Promise<unknown>) | undefined; asked: number } = {
    ...inner,
    asked: 0,
    async list(ask) {
      store.asked += 1;
      const first = store.next;
      store.next = undefined;
      await first?.();
      return inner.list(ask);
    },
  };
  return store;
}

async function counted(
  more: Partial<CountRetailersOptions> = {},
  retailers = ["one", "two", "three", "four"],
) {
  const store = pagedStore();
  const started = start({ store });
  for (const name of retailers) await started.login(name);
  const { meterProvider, metrics: exported } = signals();
  const clock = () => started.time.now;
  const options = { client: started.pos, clock, everyMs: MINUTE_MS, meterProvider, ...more };

  async function gauges(): Promise<Record<string, number>> {
    const points = (await exported()).flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ value }) => [descriptor.name.replace("retail_pos.retailers.", ""), value as number]),
    );
    return Object.fromEntries(points);
  }
  return { ...started, store, options, gauges };
}

/** The next count is made, and is over. */
async function tick(): Promise<void> {
  vi.advanceTimersByTime(MINUTE_MS);
  await settled();
}

test("the first count begins at once: connected, refused, due and ended", async () => {
  const { options, gauges, time, service, pos } = await counted();
  time.now += DAY_MS + 1; // the four have ended
  for (const name of ["five", "six"]) await pos.connect(await pos.exchange(name, "code"));
  service.next(() => oauthError("invalid_grant"));
  await pos
    .tokens("one")
    .token()
    .catch(() => {});
  time.now += DAY_MS - MINUTE_MS; // the two are due
  await pos.connect(await pos.exchange("seven", "code"));
  const stop = countRetailers(options);
  await settled();
  expect(await gauges()).toEqual({ connected: 6, refused: 1, due: 5, ended: 3, count_age: 0 });
  stop();
});

test("due is behaviour 5's margin: renewEarlyMs, and never more than a tenth of the lifetime", async () => {
  for (const { renewEarlyMs, before, due } of [
    { renewEarlyMs: undefined, before: 301_000, due: 0 },
    { renewEarlyMs: undefined, before: 299_000, due: 1 },
    { renewEarlyMs: 10_000, before: 11_000, due: 0 },
    { renewEarlyMs: DAY_MS, before: DAY_MS / 10 + 1, due: 0 },
    { renewEarlyMs: DAY_MS, before: DAY_MS / 10 - 1, due: 1 },
  ]) {
    const { options, gauges, time } = await counted({ renewEarlyMs }, ["one"]);
    time.now += DAY_MS - before;
    const stop = countRetailers(options);
    await settled();
    expect(await gauges()).toMatchObject({ connected: 1, due, ended: 0 });
    stop();
  }
});

test("counts again after everyMs", async () => {
  const { options, gauges, login } = await counted();
  const stop = countRetailers(options);
  await settled();
  await login("five");
  expect(await gauges()).toMatchObject({ connected: 4 });
  await tick();
  expect(await gauges()).toMatchObject({ connected: 5 });
  stop();
});

describe("a count that fails", () => {
  test("at first leaves no gauge but its age", async () => {
    const { options, gauges, store, time } = await counted();
    store.next = () => Promise.reject(new Error("away"));
    const stop = countRetailers(options);
    await settled();
    time.now += 90_000;
    expect(await gauges()).toEqual({ count_age: 90 });
    stop();
  });

  test("later leaves what the last one said, however far it came, and the age grows", async () => {
    const many = Array.from({ length: 700 }, (_, at) => `shop-${at}`);
    const { options, gauges, store, time, login } = await counted({}, many);
    const stop = countRetailers(options);
    await settled();
    await login("another");
    time.now += MINUTE_MS;
    const second = () => {
      store.next = () => Promise.reject(new Error("away"));
      return Promise.resolve();
    };
    store.next = second; // the first page comes, the second does not
    await tick();
    expect(await gauges()).toEqual({ connected: 700, refused: 0, due: 0, ended: 0, count_age: 60 });
    await tick();
    expect(await gauges()).toMatchObject({ connected: 701, count_age: 0 });
    stop();
  });
});

test("counts do not pile up: while one is under way none begins", async () => {
  const { options, store } = await counted();
  const page = later();
  store.next = () => page.promise;
  const stop = countRetailers(options);
  for (const _ of [1, 2, 3]) await tick();
  expect(store.asked).toBe(1);
  page.resolve();
  await settled();
  await tick();
  expect(store.asked).toBe(2);
  stop();
});

describe("stop()", () => {
  test("ends it at once: what is under way has no result, and no count begins", async () => {
    const { options, store, gauges } = await counted();
    const page = later();
    store.next = () => page.promise;
    const stop = countRetailers(options);
    await settled();
    stop();
    stop();
    page.resolve();
    await settled();
    for (const _ of [1, 2, 3]) await tick();
    expect(store.asked).toBe(1);
    expect(await gauges()).toEqual({});
  });

  test("lets the application go: nothing asks it any more", async () => {
    const { options, time, gauges } = await counted();
    const stop = countRetailers(options);
    await settled();
    stop();
    const asked = vi.fn(() => time.now);
    const again = countRetailers({ ...options, clock: asked });
    await settled();
    again();
    asked.mockClear();
    await gauges();
    expect(asked).not.toHaveBeenCalled();
  });
});

test("an SDK that starts later gets the gauges with the next count", async () => {
  const { options } = await counted();
  const stop = countRetailers({ ...options, meterProvider: undefined });
  await settled();
  const { meterProvider, points } = signals();
  metrics.setGlobalMeterProvider(meterProvider);
  await tick();
  expect(await points("retail_pos.retailers.connected")).toEqual(["4 {}"]);
  stop();
  metrics.disable();
});

test("an SDK that starts later and takes no gauges stops neither the counting nor the next SDK", async () => {
  const { options } = await counted();
  const stop = countRetailers({ ...options, meterProvider: undefined });
  await settled();
  metrics.setGlobalMeterProvider({ getMeter: () => ({}) } as unknown as MeterProvider);
  for (const _ of [1, 2]) await tick();
  metrics.disable();
  const { meterProvider, points } = signals();
  metrics.setGlobalMeterProvider(meterProvider);
  await tick();
  expect(await points("retail_pos.retailers.connected")).toEqual(["4 {}"]);
  stop();
  metrics.disable();
});

test.each<[string, Record<string, unknown>]>([
  ["client", { client: {} }],
  ["everyMs", { everyMs: 0 }],
  ["everyMs", { everyMs: Number.POSITIVE_INFINITY }],
  ["renewEarlyMs", { renewEarlyMs: -1 }],
  ["clock", { clock: 5 }],
  ["meterProvider", { meterProvider: {} }],
  ["every", { every: 1 }],
  ["meter is no option; it is called meterProvider here", { meter: {} }],
])("a wrong %s is a TypeError that names it", async (name, wrong) => {
  const { options } = await counted();
  expect(() => countRetailers({ ...options, ...wrong })).toThrow(TypeError);
  expect(() => countRetailers({ ...options, ...wrong })).toThrow(name);
});

test("a store that cannot list is a TypeError at once", async () => {
  const { load, save, remove } = memoryStore();
  const { pos } = start({ store: { load, save, remove } });
  expect(() => countRetailers({ client: pos })).toThrow(/list/);
});
