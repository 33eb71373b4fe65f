import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  DAY_MS,
  failureOf,
  fakeService,
  json,
  later,
  oauthError,
  settled,
  start,
} from "../../testing/fake-service.js";
import { memoryLock } from "../store/locks.js";
import { memoryStore } from "../store/memory-store.js";
import { StoreFailedError } from "../vocabulary/errors.js";
import { retailerState } from "../vocabulary/retailer-state.js";
import type { RetailerStatus } from "../vocabulary/retailer-status.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import type { RenewDueAsk } from "./renew-due.js";

const HOUR_MS = 3_600_000;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const prefixes = (statuses: readonly RetailerStatus[]) =>
  statuses.map(({ domainPrefix }) => domainPrefix).sort();

/** A fleet whose retailers logged in one after the other. */
async function fleet(count: number, options: Parameters<typeof start>[0] = {}, service = fakeService()) {
  const store = options.store ?? memoryStore();
  const started = start({ ...options, store }, service);
  const names = Array.from({ length: count }, (_, at) => `shop-${at}`);
  for (const name of names) await started.login(name);
  return { ...started, store, names };
}

describe("status", () => {
  test("says what is stored, without a token", async () => {
    const { pos, time } = await fleet(1);
    const status = await pos.status("SHOP-0");
    expect(status).toEqual({
      domainPrefix: "shop-0",
      issuedAt: time.now,
      expiresAt: time.now + DAY_MS,
    });
    expect(await pos.status("nobody")).toBeUndefined();
    expect(await failureOf(pos.status("no label!"))).toMatchObject({ code: "invalid_domain_prefix" });
  });

  test("says until when a 429 holds token requests back, in every process, and no longer than that", async () => {
    const { pos, store, service, time } = await fleet(1);
    time.now += 2 * DAY_MS;
    const resetAt = time.now + 300_000;
    service.next(() => json({}, 429, { "X-RateLimit-Reset": String(resetAt / 1000) }));
    expect(await pos.renewDue()).toMatchObject({ failed: 1 });
    const elsewhere = start({ store, clock: () => time.now });
    for (const each of [pos, elsewhere.pos])
      expect(await each.status("shop-0")).toMatchObject({ limitedUntil: resetAt });
    time.now = resetAt - 1;
    expect(await pos.status("shop-0")).toMatchObject({ limitedUntil: resetAt });
    time.now = resetAt;
    expect(await pos.status("shop-0")).not.toHaveProperty("limitedUntil");
  });
});

describe("retailerState", () => {
  test("says in one word what a call would meet, and asks the service nothing", async () => {
    const { pos, login, service, time } = await fleet(1);
    const state = () => retailerState(pos, "SHOP-0", time.now);
    expect(await state()).toEqual({ state: "connected" });
    expect(await retailerState(pos, "nobody")).toEqual({ state: "not_connected" });

    time.now += DAY_MS - 60_000;
    const retryAt = time.now + 300_000;
    service.next(() => json({}, 429, { "X-RateLimit-Reset": String(retryAt / 1000) }));
    expect(await pos.renewDue({ withinMs: 120_000 })).toMatchObject({ failed: 1 });
    expect(await state()).toEqual({ state: "connected" }); // its token lives: calls succeed
    time.now += 60_000;
    expect(await state()).toEqual({ state: "rate_limited", retryAt });

    time.now += 2 * DAY_MS;
    service.next(() => json({ error: "invalid_grant" }, 400));
    expect(await pos.renewDue()).toMatchObject({ refused: 1 });
    const sent = service.seen.length;
    expect(await state()).toEqual({ state: "reconnect_required" });
    expect(service.seen).toHaveLength(sent);
    await login("shop-0");
    expect(await state()).toEqual({ state: "connected" });
  });

  test("a record that cannot be read is a state, a name that is none is an error", async () => {
    const store = { ...memoryStore(), load: () => Promise.reject(new Error("no connection")) };
    const { pos } = start({ store });
    const state = await retailerState(pos, "shop");
    expect(state).toEqual({ state: "store_failed", error: expect.any(StoreFailedError) });
    await expect(retailerState(pos, "no label!")).rejects.toMatchObject({ code: "invalid_domain_prefix" });
    const broken = { status: () => Promise.reject(new Error("a wrapper's own")) };
    await expect(retailerState(broken, "shop")).rejects.toThrow("a wrapper's own");
  });
});

describe("retailers", () => {
  test("pages through all of them, each once", async () => {
    const { pos, names } = await fleet(1_203);
    expect(prefixes(await all(pos.retailers()))).toEqual([...names].sort());
  });

  test("of a store without list is a TypeError; of an aborted signal its reason", async () => {
    const { load, save, remove } = memoryStore();
    const plain = start({ store: { load, save, remove } });
    await expect(async () => all(plain.pos.retailers())).rejects.toThrow(/list/);
    expect(await failureOf(plain.pos.renewDue())).toBeInstanceOf(TypeError);
    const { pos } = await fleet(3);
    const reason = new Error("enough");
    await expect(all(pos.retailers({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
  });

  const page = (retailers: unknown, cursor?: unknown) => ({
    retailers,
    ...(cursor !== undefined && { cursor }),
  });
  const shop = { domainPrefix: "shop", issuedAt: 1 };
  test.each<[string, () => unknown]>([
    ["no page", () => "everybody"],
    ["no list of retailers", () => page({})],
    ["a cursor that is no text", () => page([shop], 7)],
    ["the same cursor again and again", () => page([shop], "again")],
    ["cursors in a circle", circle],
    ["empty pages without end", () => page([], String(Math.random()))],
    ["an error", () => Promise.reject(new Error("away"))],
  ])("of a store that answers %s is a StoreFailedError", async (_, list) => {
    const { pos, types } = start({ store: { ...memoryStore(), list: async () => list() } as TokenStore });
    expect(await failureOf(all(pos.retailers()))).toMatchObject({ code: "store_failed", operation: "list" });
    expect(await failureOf(pos.renewDue())).toMatchObject({ code: "store_failed", operation: "list" });
    expect(types()).toEqual(["store_failed", "store_failed"]);
  });

  function circle(): unknown {
    circle.at = (circle.at + 1) % 7;
    return page([shop], String(circle.at));
  }
  circle.at = 0;

  test("leaves out what is no status, tells of each once a run, and passes nothing else on", async () => {
    const odd = [
      shop,
      { domainPrefix: "../x", issuedAt: 1 },
      { domainPrefix: "b" },
      null,
      { ...shop, token: "t" },
    ];
    const list = async () => page(odd) as { retailers: RetailerStatus[] };
    const { pos, events } = start({ store: { ...memoryStore(), list } });
    expect(await all(pos.retailers())).toEqual([shop, shop]);
    const told = [undefined, "b", undefined].map((domainPrefix) => ({
      type: "store_failed",
      operation: "list",
      ...(domainPrefix && { domainPrefix }),
      error: { code: "store_failed", operation: "list" },
    }));
    expect(events).toMatchObject(told);
    expect(events.map((event) => event.domainPrefix)).toEqual([undefined, "b", undefined]);
    expect(inspect(events, { depth: 9 })).not.toContain("../x");
    expect(await pos.renewDue()).toMatchObject({ seen: 2 });
    expect(events.filter(({ type }) => type === "store_failed")).toHaveLength(6);
  });

  test.each([
    ["no instant of issue", { issuedAt: undefined }],
    ["an instant as text", { issuedAt: "yesterday" }],
    ["an endless expiry", { access: { value: "t", expiresAt: Number.POSITIVE_INFINITY } }],
    ["a refusal in words", { refusedAt: "yesterday" }],
    ["a scope that is a list", { scope: ["all"] }],
  ])("leaves out what the store in memory was given with %s", async (_, edit) => {
    const { pos, store, events } = await fleet(2);
    const kept = await store.load("shop-1" as never);
    await store.save({ ...kept, ...edit } as never);
    events.length = 0;
    expect(prefixes(await all(pos.retailers()))).toEqual(["shop-0"]);
    expect(events).toMatchObject([{ type: "store_failed", operation: "list", domainPrefix: "shop-1" }]);
  });
});

describe("renewDue", () => {
  test("renews what ends soon or has ended, and no other; its report adds up", async () => {
    const { pos, service, time, login } = await fleet(30);
    time.now += DAY_MS - 200_000;
    await login("fresh");
    service.revoke("shop-3");
    let isDown = true;
    service.always(({ retailer }, regular) => (isDown && retailer === "shop-0" ? json({}, 500) : regular()));
    const report = await pos.renewDue({ concurrency: 1 });
    expect(report).toEqual({
      seen: 31,
      due: 30,
      renewed: 28,
      refused: 0,
      failed: 2,
      elsewhere: 0,
      stopped: false,
    });
    expect(service.spent("fresh")).toEqual([]);
    // shop-0 is in its pause; shop-3 was refused before its token's end, which is no verdict
    expect(await pos.renewDue()).toMatchObject({ seen: 31, due: 0 });
    isDown = false;
    time.now += 2000;
    expect(await pos.renewDue()).toMatchObject({ due: 1, renewed: 1 });
    time.now += 200_000;
    expect(await pos.renewDue()).toMatchObject({ due: 1, refused: 1 });
    expect(await pos.renewDue()).toMatchObject({ due: 0 });
  });

  test("within a time, but never in the first half of a token's life", async () => {
    const { pos, time } = await fleet(2);
    time.now += DAY_MS / 2 - 1;
    expect(await pos.renewDue({ withinMs: 30 * DAY_MS })).toMatchObject({ seen: 2, due: 0 });
    time.now += 1;
    expect(await pos.renewDue({ withinMs: 30 * DAY_MS })).toMatchObject({ due: 2, renewed: 2 });
    time.now += DAY_MS - HOUR_MS - 1;
    expect(await pos.renewDue({ withinMs: HOUR_MS })).toMatchObject({ due: 0 });
    time.now += 1;
    expect(await pos.renewDue({ withinMs: HOUR_MS })).toMatchObject({ due: 2 });
  });

  test("in four processes at once renews each retailer once, and calls after it wait for nothing", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const first = await fleet(200, shared);
    const { service, time, names } = first;
    const others = Array.from({ length: 3 }, () => start(shared, service, time));
    time.now += 3 * DAY_MS;
    const reports = await Promise.all([first, ...others].map(({ pos }) => pos.renewDue({ concurrency: 8 })));
    const total = (field: "renewed" | "failed" | "refused") =>
      reports.reduce((sum, report) => sum + report[field], 0);
    expect([total("renewed"), total("failed"), total("refused")]).toEqual([200, 0, 0]);
    for (const { due, renewed, refused, failed, elsewhere } of reports)
      expect(due).toBe(renewed + refused + failed + elsewhere);
    for (const name of names) expect(service.spent(name)).toHaveLength(1);
    const sent = service.seen.length;
    for (const name of names) await others[0]?.pos.tokens(name).token();
    expect(service.seen).toHaveLength(sent);
  });

  test("goes through a page in an order of its own, so that two processes seldom meet at a retailer", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const { pos, service, time } = await fleet(100, shared);
    const orders: string[][] = [];
    for (let run = 0; run < 2; run += 1) {
      time.now += 2 * DAY_MS;
      const before = service.seen.length;
      await pos.renewDue({ concurrency: 1 });
      orders.push(service.seen.slice(before).map(({ retailer }) => retailer));
    }
    const [first = [], second = []] = orders;
    expect([...second].sort()).toEqual([...first].sort());
    expect(first.filter((retailer, place) => retailer === second[place]).length).toBeLessThan(20);
  });

  test("is stopped by a signal: nothing more is started, what is under way ends", async () => {
    const { pos, service, time } = await fleet(50);
    time.now += 2 * DAY_MS;
    const held = later();
    service.always(async (_, regular) => {
      await held.promise;
      return regular();
    });
    const stop = new AbortController();
    const run = pos.renewDue({ concurrency: 4, signal: stop.signal });
    await settled();
    stop.abort();
    held.resolve();
    expect(await run).toMatchObject({ due: 4, renewed: 4, stopped: true });
    expect(service.spent()).toHaveLength(4);
    expect(await pos.renewDue({ signal: AbortSignal.abort() })).toMatchObject({ seen: 0, stopped: true });
  });

  test("leaves alone what is held back, and counts what others renew as elsewhere", async () => {
    const { pos, service, time } = await fleet(2);
    time.now += 2 * DAY_MS;
    service.next(() => json({}, 429));
    await failureOf(pos.tokens("shop-0").token());
    const held = service.holdNext();
    const caller = pos.tokens("shop-1").token();
    await settled();
    const run = pos.renewDue();
    await settled();
    held.release();
    await caller;
    expect(await run).toMatchObject({ seen: 2, due: 1, renewed: 0, elsewhere: 1, failed: 0 });
  });

  test("does not take the note of a 429 for a renewal, and tells what it cannot read", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const first = await fleet(1, shared);
    const second = start(shared, first.service, first.time);
    first.time.now += DAY_MS - 100_000;
    first.service.always(() => json({}, 429));
    const reports = await Promise.all([first, second].map(({ pos }) => pos.renewDue()));
    expect(reports.map(({ elsewhere, renewed }) => elsewhere + renewed)).toEqual([0, 0]);
    expect(first.service.spent()).toHaveLength(1);

    const store = { ...shared.store, load: async () => ({ version: "damaged" }) as never };
    const third = start({ store }, first.service, { now: first.time.now + DAY_MS });
    expect(await third.pos.renewDue()).toMatchObject({ seen: 1, due: 1, failed: 1 });
    expect(third.events).toMatchObject([{ type: "renewal_failed", error: { code: "bad_stored_tokens" } }]);
  });

  test("does not forget a retailer whose token a caller was given meanwhile", async () => {
    const store = memoryStore();
    const { service, time } = await fleet(1, { store });
    const { pos } = start({ store }, service, time); // has not met the retailer yet
    time.now += 2 * DAY_MS;
    const held = service.holdNext();
    const run = pos.renewDue();
    await settled();
    const given = pos.tokens("shop-0").token();
    held.release();
    expect(await run).toMatchObject({ due: 1, renewed: 1 });
    store.load = async () => Promise.reject(new Error("away"));
    expect(await pos.tokens("shop-0").token()).toEqual(await given);
  });

  test("a retailer that disconnects meanwhile is seen, not due", async () => {
    const { pos, service, time } = await fleet(1);
    time.now += 2 * DAY_MS;
    service.next(async (_, regular) => {
      await pos.disconnect("shop-0");
      return regular();
    });
    expect(await pos.renewDue()).toMatchObject({ seen: 1, due: 0, failed: 0 });
  });

  test.each([
    [{ withinMs: -1 }, "withinMs"],
    [{ withinMs: Number.NaN }, "withinMs"],
    [{ concurrency: 0 }, "concurrency"],
    [{ concurrency: 1.5 }, "concurrency"],
    [{ concurrency: 1e9 }, "concurrency"],
  ])("%o is a TypeError that names %s", async (ask, name) => {
    const error = await failureOf(start().pos.renewDue(ask));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(name);
  });

  test("a refused one alone is told, and asked for again only after a login", async () => {
    const { pos, service, time, types } = await fleet(1);
    time.now += 2 * DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    expect(await pos.renewDue()).toMatchObject({ due: 1, refused: 1, failed: 0 });
    time.now += 30 * DAY_MS;
    expect(await pos.renewDue()).toMatchObject({ seen: 1, due: 0 });
    expect(types().filter((type) => type === "reconnect_required")).toHaveLength(1);
    expect(await pos.status("shop-0")).toMatchObject({ refusedAt: expect.any(Number) });
  });
});

describe("renewDue({ issuedBefore })", () => {
  test("renews every set that was issued before, however young, and no other", async () => {
    const { pos, service, time, login } = await fleet(20);
    time.now += 1000;
    const issuedBefore = time.now;
    await login("at-the-instant");
    time.now += 1000;
    await login("after");
    const report = await pos.renewDue({ issuedBefore });
    expect(report).toMatchObject({ seen: 22, due: 20, renewed: 20, failed: 0, stopped: false });
    expect(service.spent()).toHaveLength(20);
    expect(service.spent("at-the-instant")).toEqual([]);
    for await (const { issuedAt } of pos.retailers()) expect(issuedAt).toBeGreaterThanOrEqual(issuedBefore);
  });

  test("renews also what ended long ago, or has no known end", async () => {
    const service = fakeService();
    const { pos, time, login } = await fleet(1, {}, service);
    service.next(async (_, regular) => {
      const { expires_in, ...rest } = (await regular().json()) as Record<string, unknown>;
      return json(rest);
    });
    await login("endless");
    time.now += 3 * DAY_MS;
    expect(await pos.renewDue({ issuedBefore: time.now })).toMatchObject({ due: 2, renewed: 2 });
  });

  test("a run that was stopped is repeated: the next one renews only what is left", async () => {
    const { pos, service, time, names } = await fleet(50);
    time.now += 1000;
    const issuedBefore = time.now;
    const held = later();
    service.always(async (_, regular) => {
      await held.promise;
      return regular();
    });
    const stop = new AbortController();
    const run = pos.renewDue({ issuedBefore, concurrency: 4, signal: stop.signal });
    await settled();
    stop.abort();
    held.resolve();
    expect(await run).toMatchObject({ due: 4, renewed: 4, stopped: true });
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ seen: 50, due: 46, renewed: 46 });
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ seen: 50, due: 0 });
    for (const name of names) expect(service.spent(name)).toHaveLength(1);
  });

  test("in four processes at once renews each retailer once, beside their callers", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const first = await fleet(200, shared);
    const { service, time, names } = first;
    const others = Array.from({ length: 3 }, () => start(shared, service, time));
    time.now += 1000;
    const issuedBefore = time.now;
    const runs = [first, ...others].map(({ pos }) => pos.renewDue({ issuedBefore, concurrency: 8 }));
    const callers = names.map((name) => others[0]?.pos.tokens(name).token());
    const reports = await Promise.all(runs);
    await Promise.all(callers);
    expect(reports.reduce((sum, { renewed }) => sum + renewed, 0)).toBe(200);
    for (const { due, renewed, refused, failed, elsewhere } of reports) {
      expect(refused + failed).toBe(0);
      expect(due).toBe(renewed + elsewhere);
    }
    for (const name of names) expect(service.spent(name)).toHaveLength(1);
  });

  test("counts a refused one as refused, without a request within its hour, and tries it after that", async () => {
    const { pos, service, time, types } = await fleet(2);
    time.now += 2 * DAY_MS;
    service.revoke("shop-0");
    const told = () => types().filter((type) => type === "reconnect_required");
    expect(await pos.renewDue({ issuedBefore: time.now })).toMatchObject({ due: 2, renewed: 1, refused: 1 });
    const sent = service.seen.length;
    time.now += HOUR_MS - 1;
    const issuedBefore = time.now - HOUR_MS; // the other one was issued after
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ due: 1, refused: 1, failed: 0 });
    expect(service.seen).toHaveLength(sent);
    time.now += 1;
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ due: 1, refused: 1, failed: 0 });
    expect(service.seen).toHaveLength(sent + 1);
    expect(told()).toHaveLength(1);
  });

  test.each<[string, () => Response]>([
    ["a 429", () => json({}, 429, { "Retry-After": "60" })],
    ["a failure", () => json({}, 500)],
    ["a refusal while its token lives", () => oauthError("invalid_grant")],
  ])("counts one that waits after %s as failed, without a request", async (_, answer) => {
    const { pos, service, time } = await fleet(1);
    time.now += 1000;
    const issuedBefore = time.now;
    service.next(answer);
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ due: 1, failed: 1, refused: 0 });
    const sent = service.seen.length;
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ due: 1, failed: 1, refused: 0 });
    expect(service.seen).toHaveLength(sent);
    time.now += DAY_MS; // the wait is over, and the token has ended
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ due: 1, renewed: 1 });
  });

  test("leaves out what was disconnected, or replaced by a login, since the page was read", async () => {
    const store = memoryStore();
    const { pos, service, time, login, names } = await fleet(2, { store });
    time.now += 1000;
    const issuedBefore = time.now;
    const { list } = store;
    store.list = async (ask) => {
      const page = await list?.(ask);
      await pos.disconnect(names[0] as string);
      await login(names[1] as string);
      return page as NonNullable<typeof page>;
    };
    expect(await pos.renewDue({ issuedBefore })).toMatchObject({ seen: 2, due: 0 });
    expect(service.spent()).toEqual([]);
  });

  test.each([
    [{ issuedBefore: Number.NaN }],
    [{ issuedBefore: Number.POSITIVE_INFINITY }],
    [{ issuedBefore: "2026-01-31" }],
    [{ issuedBefore: new Date() }],
    [{ issuedBefore: null }],
    [{ issuedBefore: 1, withinMs: 1 }],
  ])("%o is a TypeError that names issuedBefore", async (ask) => {
    const { pos, service } = await fleet(1);
    const sent = service.seen.length;
    const error = await failureOf(pos.renewDue(ask as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain("issuedBefore");
    expect(service.seen).toHaveLength(sent);
  });
});

describe("renewDue, if the store takes no save after a rotation", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** Two retailers that are due, in a store that can be read but not written. */
  async function onFullDisk(signal?: AbortSignal) {
    const store = memoryStore();
    const disk = { isFull: false };
    const { save } = store;
    store.save = async (next, replacing) => {
      if (disk.isFull) throw new Error("disk full");
      return save(next, replacing);
    };
    const started = await fleet(2, { store });
    started.time.now += 2 * DAY_MS;
    disk.isFull = true;
    const report = started.pos.renewDue({ concurrency: 1, ...(signal && { signal }) });
    await settled(); // the first page
    await vi.advanceTimersByTimeAsync(20_000);
    return { ...started, disk, report };
  }

  test("goes on trying, renews nobody else meanwhile, and ends when it is saved", async () => {
    const { disk, report, service, store, names } = await onFullDisk();
    expect(service.spent()).toHaveLength(1);
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await report).toMatchObject({ due: 2, renewed: 2, failed: 0 });
    for (const name of names)
      expect((await store.load(name as never))?.refreshToken).toBe(`refresh-${name}-2`);
  });

  test("counts it as failed after a minute", async () => {
    const { report } = await onFullDisk();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await report).toMatchObject({ due: 2, renewed: 0, failed: 2, stopped: false });
  });

  test("goes on trying once it is stopped, and starts nobody else", async () => {
    const stop = new AbortController();
    const { disk, report, service } = await onFullDisk(stop.signal);
    stop.abort();
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await report).toMatchObject({ due: 1, renewed: 1, failed: 0, stopped: true });
    expect(service.spent()).toHaveLength(1);
  });
});

describe("renewDue, if the service answers after the deadline", () => {
  const timeoutMs = 100;

  /** Two retailers that are due. The service does what it always does, but its first answer waits to be let go. */
  async function withLateAnswer(
    ask: RenewDueAsk = {},
    body: (regular: Response) => Response | Promise<Response> = (regular) => regular,
  ) {
    const started = await fleet(2, { timeoutMs, store: memoryStore() });
    started.time.now += 2 * DAY_MS;
    const gate = later<void>();
    let late = "";
    started.service.next(async ({ retailer }, regular) => {
      late = retailer;
      const answer = regular();
      await gate.promise;
      return body(answer);
    });
    const report = started.pos.renewDue({ concurrency: 1, ...ask });
    let isOver = false;
    void report.finally(() => {
      isOver = true;
    });
    await expect.poll(started.types).toContain("renewal_failed");
    const stored = async () => (await started.store.load(late as never))?.refreshToken;
    const letGo = () => gate.resolve();
    return { ...started, report, isOver: () => isOver, stored, letGo, next: () => `refresh-${late}-2` };
  }

  test("goes on with the others beside it, and ends when the late tokens are saved", async () => {
    const { report, isOver, stored, letGo, next, service, types } = await withLateAnswer({ concurrency: 2 });
    await expect.poll(types).toContain("renewed");
    expect(service.spent()).toHaveLength(2);
    expect(isOver()).toBe(false);
    letGo();
    expect(await report).toMatchObject({ due: 2, renewed: 2, failed: 0, stopped: false });
    expect(await stored()).toBe(next());
  });

  test("also once it is stopped, and starts nobody else", async () => {
    const stop = new AbortController();
    const { report, stored, letGo, next, service } = await withLateAnswer({ signal: stop.signal });
    stop.abort();
    await settled();
    const spent = service.spent().length;
    letGo();
    expect(await report).toMatchObject({ renewed: spent, failed: 0 });
    expect(await stored()).toBe(next());
    expect(service.spent()).toHaveLength(spent);
  });

  test("tries to save what came late, if the store does not take it at once", async () => {
    const { report, store, stored, letGo, next, types } = await withLateAnswer({ concurrency: 2 });
    await expect.poll(types).toContain("renewed");
    const { save } = store;
    store.save = () => Promise.reject(new Error("disk full"));
    letGo();
    await expect.poll(types).toContain("unsaved");
    store.save = save;
    expect(await report).toMatchObject({ due: 2, renewed: 2, failed: 0 });
    expect(await stored()).toBe(next());
  });

  /** A retailer that is due. A caller's request for it got no answer in time; that answer waits to be let go. */
  async function withLateCaller() {
    const started = await fleet(1, { timeoutMs, store: memoryStore() });
    started.time.now += 2 * DAY_MS;
    const gate = later<void>();
    started.service.next(async (_, regular) => {
      const answer = regular();
      await gate.promise;
      return answer;
    });
    await failureOf(started.pos.tokens("shop-0").token());
    const stored = async () => (await started.store.load("shop-0" as never))?.refreshToken;
    return { ...started, stored, letGo: () => gate.resolve() };
  }

  test("waits for the answer that a caller did not get in time, held back as that retailer is", async () => {
    const { pos, stored, letGo } = await withLateCaller();
    const report = pos.renewDue();
    await settled();
    letGo();
    expect(await report).toMatchObject({ seen: 1, due: 0, renewed: 0, failed: 0 });
    expect(await stored()).toBe("refresh-shop-0-2");
  });

  test("waits for it also where its own request was refused, because the old refresh token is spent", async () => {
    const { pos, stored, letGo, time, types } = await withLateCaller();
    time.now += 2_000; // past the back-off
    const report = pos.renewDue();
    await expect.poll(types).toContain("reconnect_required");
    letGo();
    expect(await report).toMatchObject({ due: 1, renewed: 1, refused: 0 });
    expect(await stored()).toBe("refresh-shop-0-2");
  });

  test("keeps late tokens that the store does not take where callers find them, whoever else ran", async () => {
    const { pos, store, letGo, service, stored, types, report } = await withLateAnswer({ concurrency: 2 });
    await expect.poll(types).toContain("renewed");
    const other = pos.renewDue();
    const { save } = store;
    store.save = () => Promise.reject(new Error("disk full"));
    letGo();
    await expect.poll(types).toContain("unsaved");
    const late = service.seen.find(({ form }) => form.get("grant_type") === "refresh_token")?.retailer ?? "";
    expect((await pos.tokens(late).token()).value).toBe(`access-${late}-2`);
    expect(service.spent(late)).toHaveLength(1);
    store.save = save;
    await Promise.all([report, other]);
    expect(await stored()).toBe(`refresh-${late}-2`);
  });

  test("starts nobody else while late tokens cannot be saved", async () => {
    const { pos, time, service, store } = await fleet(40, { timeoutMs, store: memoryStore() });
    time.now += 2 * DAY_MS;
    const { save } = store;
    store.save = () => Promise.reject(new Error("disk full"));
    service.always(async (_, regular) => {
      const answer = regular();
      await new Promise((resolve) => setTimeout(resolve, timeoutMs * 1.5));
      return answer;
    });
    const report = pos.renewDue({ concurrency: 2 });
    await new Promise((resolve) => setTimeout(resolve, timeoutMs * 20));
    expect(service.spent()).toHaveLength(2);
    store.save = save;
    service.always(undefined);
    expect(await report).toMatchObject({ due: 40, renewed: 40, failed: 0 });
  });

  test("counts an answer without an access token as failed, and saves its refresh token", async () => {
    const { report, stored, next, letGo, types } = await withLateAnswer(
      { concurrency: 2 },
      async (answer) => {
        const { access_token, ...rest } = (await answer.json()) as { access_token: string };
        return json(rest);
      },
    );
    await expect.poll(types).toContain("renewed");
    letGo();
    expect(await report).toMatchObject({ due: 2, renewed: 1, failed: 1 });
    expect(await stored()).toBe(next());
    expect(types().filter((type) => type === "renewed")).toHaveLength(1);
  });

  test("counts as failed what never comes, and what comes without tokens", async () => {
    const { report, service } = await withLateAnswer();
    expect(await report).toMatchObject({ due: 2, renewed: 1, failed: 1 });
    const { pos, time } = await fleet(1, { timeoutMs, store: memoryStore() }, service);
    time.now += 2 * DAY_MS;
    service.next(async () => {
      await new Promise((resolve) => setTimeout(resolve, timeoutMs * 1.5));
      return new Response("slow down", { status: 429 });
    });
    expect(await pos.renewDue()).toMatchObject({ due: 1, renewed: 0, failed: 1 });
  });
});

describe("the fleet's doors", () => {
  test("a list that tells the same page under ever new cursors is an error", async () => {
    const plain = memoryStore();
    let asked = 0;
    const store: TokenStore = {
      ...plain,
      list: async () => {
        asked += 1;
        const retailers = [{ domainPrefix: "shop" as never, issuedAt: 1 }];
        return { retailers, cursor: String(asked) };
      },
    };
    const { pos } = start({ store });
    expect(await failureOf(all(pos.retailers()))).toMatchObject({ code: "store_failed" });
    expect(asked).toBeLessThan(10);
  });

  test.each([
    ["a controller for its signal", { signal: new AbortController() }, "signal"],
    ["an option of another name", { within: 1 }, "within"],
    ["no object", 5, "object"],
  ])("renewDue refuses %s", async (_case, ask, named) => {
    const { pos } = await fleet(1);
    const error = await failureOf(pos.renewDue(ask as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(named);
  });

  test("a retailer that was cut off by the signal leaves the run stopped", async () => {
    const store = memoryStore();
    const { pos, time } = await fleet(1, { store });
    time.now += 2 * DAY_MS;
    const stop = new AbortController();
    const { load } = store;
    store.load = async (name) => {
      stop.abort();
      return load(name);
    };
    expect(await pos.renewDue({ signal: stop.signal })).toMatchObject({ seen: 1, due: 0, stopped: true });
  });

  test("a long list in this process lets timers and signals through", async () => {
    const { pos } = await fleet(1_203);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    await all(pos.retailers());
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});

describe("a signal that is aborted while a page hangs", () => {
  const hanging = { ...memoryStore(), list: () => new Promise<never>(() => {}) };

  test("ends retailers() at once, with its reason", async () => {
    const { pos, events } = start({ store: hanging });
    const controller = new AbortController();
    const waiting = failureOf(all(pos.retailers({ signal: controller.signal })));
    await settled();
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    expect(events).toEqual([]);
  });

  test("ends renewDue with its report, after the renewals under way", async () => {
    const { pos: other, names, service, time } = await fleet(3);
    const controller = new AbortController();
    const inner = await all(other.retailers());
    let pages = 0;
    const store: TokenStore = {
      ...memoryStore(),
      list: () =>
        pages++ === 0 ? Promise.resolve({ retailers: inner, cursor: "more" }) : new Promise(() => {}),
    };
    const { pos } = start({ store }, service, time);
    time.now += 2 * DAY_MS;
    const running = pos.renewDue({ signal: controller.signal });
    await settled();
    controller.abort();
    expect(await running).toMatchObject({ seen: names.length, stopped: true });
  });
});
