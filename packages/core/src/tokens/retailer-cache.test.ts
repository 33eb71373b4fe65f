import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  DAY_MS,
  failureOf,
  fakeService,
  json,
  oauthError,
  settled,
  start,
  T0,
} from "../../testing/fake-service.js";
import { gatedStore } from "../../testing/gated-store.js";
import type { RetailPosOptions } from "../settings/options.js";
import { memoryLock } from "../store/locks.js";
import { memoryStore } from "../store/memory-store.js";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { NotConnectedError, ReconnectRequiredError, StoreFailedError } from "../vocabulary/errors.js";

const SHOP = parseDomainPrefix("shop");
const AFTER = "after its effect";
const BEFORE = "before its effect";

/** Two processes on one store. P0's way to it can be stopped; P1's cannot. */
function twoProcesses(options: Partial<RetailPosOptions> = {}) {
  const store = memoryStore();
  const lock = memoryLock();
  const gated = gatedStore(store);
  const service = fakeService();
  const p0 = start({ lock, cacheMs: 0, ...options, store: gated }, service);
  const p1 = start({ lock, cacheMs: 0, ...options, store }, service, p0.time);
  return { store, gated, service, p0, p1, time: p0.time };
}

describe("overlaps: an answer that disagrees with what became known meanwhile is asked again", () => {
  test("a save whose answer comes after a disconnect elsewhere does not hide it", async () => {
    const { gated, p0, p1, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    const save = gated.stop("save", AFTER);
    const renewing = p0.value();
    await save.asked;
    await p1.pos.disconnect("shop");
    const load = gated.stop("load", AFTER);
    const asked = failureOf(p0.value()); // asked after the disconnect: its load reads nothing
    await load.asked;
    save.goOn();
    expect(await renewing).toBe("access-shop-2"); // asked before it
    load.goOn();
    expect(await asked).toBeInstanceOf(NotConnectedError);
  });

  test("the same, if the answers come in the other order: nothing is resurrected", async () => {
    const { gated, p0, p1, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    const save = gated.stop("save", AFTER);
    const renewing = failureOf(p0.value());
    await save.asked;
    await p1.pos.disconnect("shop");
    expect(await failureOf(p0.value())).toBeInstanceOf(NotConnectedError);
    save.goOn();
    expect(await renewing).toBeInstanceOf(NotConnectedError);
    expect(await failureOf(p0.value())).toBeInstanceOf(NotConnectedError);
  });

  test("what was reloaded under the lock counts, though a later look was answered first with the old set", async () => {
    const { gated, p0, p1, service, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    const first = gated.stop("load", AFTER); // the look of the first caller: sees the old set
    const reload = gated.stop("load", BEFORE); // the reload under the lock: slow on its way
    const waiting = p0.value();
    await first.asked;
    first.goOn();
    await reload.asked;
    const look = gated.stop("load", AFTER);
    const bystander = p0.value();
    await look.asked;
    await p1.login(); // ends the first refresh token
    look.goOn();
    await settled();
    reload.goOn();
    expect([await waiting, await bystander]).toEqual(["access-shop-2", "access-shop-2"]);
    expect(service.spent()).toEqual([]); // the old refresh token was not sent
  });

  test("while the store is asked again, nobody is handed the copy", async () => {
    const { gated, p0, p1, time } = twoProcesses({ cacheMs: 10_000 });
    const tokens = await p0.login();
    time.now += 10_000; // the copy is old: the next use looks
    const look = gated.stop("load", BEFORE);
    const waiting = failureOf(p0.value());
    await look.asked;
    await p0.pos.connect({ ...tokens, version: "again" });
    await p1.pos.disconnect("shop");
    const again = gated.stop("load", BEFORE);
    look.goOn();
    await again.asked;
    const told = failureOf(p0.value());
    again.goOn();
    expect(await told).toBeInstanceOf(NotConnectedError);
    expect(await waiting).toBeInstanceOf(NotConnectedError);
  });

  test("a connect that was overtaken by a disconnect elsewhere is not believed", async () => {
    const { gated, p0, p1, time } = twoProcesses({ cacheMs: 10_000 });
    const tokens = await p0.login();
    time.now += 10_000; // the copy is old: the next use looks
    const save = gated.stop("save", AFTER);
    const connecting = p0.pos.connect({ ...tokens, version: "again" });
    await save.asked;
    await p1.pos.disconnect("shop");
    expect(await failureOf(p0.value())).toBeInstanceOf(NotConnectedError);
    save.goOn();
    await connecting;
    expect(await failureOf(p0.value())).toBeInstanceOf(NotConnectedError);
  });

  test("nor is the copy that it may have replaced handed out, while the store cannot be asked again", async () => {
    const { gated, p0, time } = twoProcesses();
    const tokens = await p0.login();
    time.now += 2 * DAY_MS;
    const renewal = gated.stop("save", AFTER);
    const renewing = p0.value();
    await renewal.asked;
    const login = gated.stop("save", BEFORE);
    const connecting = p0.pos.connect({ ...tokens, access: { value: "of-the-login" }, version: "login" });
    await login.asked;
    renewal.goOn();
    expect(await renewing).toBe("access-shop-2");
    gated.stop("load", BEFORE).fail();
    login.goOn();
    await connecting;
    expect(await failureOf(p0.value())).toBeInstanceOf(StoreFailedError);
    expect(await p0.value()).toBe("of-the-login");
  });
});

describe("a copy that the store has contradicted", () => {
  test.each([
    { change: "a disconnect", make: ({ p1 }: ReturnType<typeof twoProcesses>) => p1.pos.disconnect("shop") },
    { change: "a login", make: ({ p1 }: ReturnType<typeof twoProcesses>) => p1.login() },
  ])("does not stand in for it, if the store cannot be asked again ($change elsewhere)", async ({ make }) => {
    const both = twoProcesses();
    const { gated, p0, time } = both;
    await p0.login();
    time.now += 2 * DAY_MS;
    const save = gated.stop("save", AFTER);
    const renewing = p0.value();
    await save.asked;
    await make(both);
    const load = gated.stop("load", AFTER);
    const asked = failureOf(p0.value());
    await load.asked;
    save.goOn();
    expect(await renewing).toBe("access-shop-2");
    gated.stop("load", BEFORE).fail(); // the question that follows the contradiction
    load.goOn();
    expect(await asked).toBeInstanceOf(StoreFailedError);
  });

  test("is asked for again by a reload that begins with an unsaved set", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { gated, p0, p1, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    const save = gated.stop("save", BEFORE);
    const renewing = p0.value();
    await save.asked;
    await vi.advanceTimersByTimeAsync(2000);
    const load = gated.stop("load", AFTER);
    await p1.pos.disconnect("shop");
    const asked = failureOf(p0.value());
    await load.asked;
    await vi.advanceTimersByTimeAsync(3000); // the save is given up: its set is unsaved
    await renewing;
    load.goOn();
    expect(await asked).toBeInstanceOf(NotConnectedError);
    save.goOn();
    vi.useRealTimers();
  });
});

describe("a 429 is noted for all processes", () => {
  test("a login that the note's save met helps whoever waits, though the copy changed meanwhile", async () => {
    const { gated, p0, p1, service, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    service.next(() => json({}, 429));
    const save = gated.stop("save", BEFORE);
    const waiting = p0.value();
    await save.asked;
    await p1.pos.disconnect("shop");
    expect(await failureOf(p0.value())).toBeInstanceOf(NotConnectedError);
    await p1.login();
    save.goOn();
    expect(await waiting).toBe("access-shop-2");
  });
});

describe("freshness: age counts from the question", () => {
  test("a copy whose load took long is asked again sooner", async () => {
    const { gated, p0, p1, time } = twoProcesses({ cacheMs: 10_000 });
    await p1.login();
    const load = gated.stop("load", AFTER);
    const first = p0.value();
    await load.asked;
    time.now += 4_000;
    await p1.login();
    load.goOn();
    expect(await first).toBe("access-shop-1");
    time.now += 5_999;
    expect(await p0.value()).toBe("access-shop-1");
    time.now += 1;
    expect(await p0.value()).toBe("access-shop-2");
  });

  test("with cacheMs 0 whoever asks after a login elsewhere sees it, also while an older look is under way", async () => {
    const { gated, p0, p1 } = twoProcesses();
    await p1.login();
    const load = gated.stop("load", AFTER);
    const before = p0.value();
    await load.asked;
    await p1.login();
    const after = Promise.all([p0.value(), p0.value()]);
    load.goOn();
    expect(await before).toBe("access-shop-1");
    expect(await after).toEqual(["access-shop-2", "access-shop-2"]);
  });

  test("an older look that found a refused mark is not believed by who asked after a login", async () => {
    const { gated, p0, p1, service, time } = twoProcesses({ cacheMs: 10_000 });
    await p1.login();
    time.now += 2 * DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    expect(await failureOf(p1.value())).toBeInstanceOf(ReconnectRequiredError);
    const load = gated.stop("load", AFTER);
    const before = failureOf(p0.value());
    await load.asked;
    await p1.login();
    const after = p0.value();
    load.goOn();
    expect(await after).toBe("access-shop-2");
    await before;
  });

  test("nor a renewal that began before and heard the refusal", async () => {
    const { gated, p0, p1, service, time } = twoProcesses({ cacheMs: 10_000 });
    await p0.login();
    time.now += 2 * DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    const mark = gated.stop("save", AFTER);
    const before = failureOf(p0.value());
    await mark.asked;
    await p1.login();
    const after = p0.value(); // joins the renewal
    await settled();
    mark.goOn();
    expect(await after).toBe("access-shop-2");
    expect(await before).toBeInstanceOf(ReconnectRequiredError);
  });
});

describe("a verdict needs a store that was asked after the refusal", () => {
  for (const isLoggedIn of [false, true]) {
    test(`if the store answers neither the mark nor a reload, the caller gets its error (a login came: ${isLoggedIn})`, async () => {
      const { gated, p0, p1, service, store, time } = twoProcesses();
      await p0.login();
      time.now += 2 * DAY_MS;
      const held = service.holdNext();
      const asked = failureOf(p0.value());
      await settled();
      if (isLoggedIn) await p1.login();
      const [save, load] = [gated.stop("save", BEFORE), gated.stop("load", BEFORE)];
      held.answer(oauthError("invalid_grant"));
      await save.asked;
      save.fail();
      await load.asked;
      load.fail();
      expect(await asked).toBeInstanceOf(StoreFailedError);
      expect(p0.types()).not.toContain("reconnect_required");
      expect(await store.load(SHOP)).not.toHaveProperty("refusedAt");
    });
  }

  test("if a login comes before the mark, which cannot be saved, and the reload fails, the same", async () => {
    const { gated, p0, p1, service, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    const save = gated.stop("save", BEFORE);
    const asked = failureOf(p0.value());
    await save.asked;
    await p1.login();
    const load = gated.stop("load", BEFORE);
    save.fail();
    await load.asked;
    load.fail();
    expect(await asked).toBeInstanceOf(StoreFailedError);
    expect(p0.types()).not.toContain("reconnect_required");
    expect(await p0.value()).toBe("access-shop-2");
  });

  test("if a login comes before the mark, and only the loads after the compare-and-set fail, the same", async () => {
    const { gated, p0, p1, service, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    const save = gated.stop("save", BEFORE);
    const asked = failureOf(p0.value());
    await save.asked;
    await p1.login();
    const loads = [gated.stop("load", BEFORE), gated.stop("load", BEFORE)];
    save.goOn();
    for (const load of loads) {
      await load.asked;
      load.fail();
    }
    expect(await asked).toBeInstanceOf(StoreFailedError);
    expect(p0.types()).not.toContain("reconnect_required");
    expect(await p0.value()).toBe("access-shop-2");
  });

  test("a mark that comes late does not replace the newer mark of another process", async () => {
    const { store, gated, p0, service, time } = twoProcesses();
    await p0.login();
    const paused = start({ store: gated, cacheMs: 0 }, service, time); // has lost the lock
    const other = start({ store, cacheMs: 0 }, service, time);
    time.now += 2 * DAY_MS;
    service.always(() => oauthError("invalid_grant"));
    const save = gated.stop("save", BEFORE);
    const late = failureOf(paused.value());
    await save.asked;
    time.now += DAY_MS;
    expect(await failureOf(other.value())).toBeInstanceOf(ReconnectRequiredError);
    save.goOn();
    expect(await late).toBeInstanceOf(ReconnectRequiredError);
    expect(service.spent()).toHaveLength(2);
    expect((await store.load(SHOP))?.refusedAt).toBe(time.now);
  });

  test("if only the mark cannot be saved, the verdict stands, and is kept in this process", async () => {
    const { gated, p0, service, store, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    service.next(() => oauthError("invalid_grant"));
    const save = gated.stop("save", BEFORE);
    const asked = failureOf(p0.value());
    await save.asked;
    save.fail();
    expect(await asked).toBeInstanceOf(ReconnectRequiredError);
    expect(await failureOf(p0.value())).toBeInstanceOf(ReconnectRequiredError);
    expect(service.spent()).toHaveLength(1);
    expect((await store.load(SHOP))?.refusedAt).toBe(time.now); // saved with the next use
  });
});

describe("unsaved: while the store has not taken a set, it may hold any of those before", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A renewal's patient tries, each with an answer that is lost. */
  const PATIENT = { tries: 6, ms: 3_000 };

  test("the next renewal replaces the set that is stored, though another was issued in between", async () => {
    const { gated, p0, store, time } = twoProcesses();
    await p0.login();
    for (let save = 0; save < PATIENT.tries + 1; save += 1) gated.stop("save", BEFORE).fail();
    time.now += 2 * DAY_MS;
    const unsaved = p0.value();
    await vi.advanceTimersByTimeAsync(PATIENT.ms);
    expect(await unsaved).toBe("access-shop-2");
    time.now += 2 * DAY_MS; // its next use tries to save it once more, and renews it
    expect(await p0.value()).toBe("access-shop-3");
    expect((await store.load(SHOP))?.refreshToken).toBe("refresh-shop-3");
  });

  test("a set does not come back after a disconnect elsewhere that this process knows of", async () => {
    const { gated, p0, p1, store, time } = twoProcesses();
    await p0.login();
    for (let save = 0; save < PATIENT.tries; save += 1) gated.stop("save", BEFORE).fail();
    time.now += 2 * DAY_MS;
    const renewing = failureOf(p0.value());
    await settled();
    await p1.pos.disconnect("shop");
    expect(await failureOf(p0.value())).toBeInstanceOf(NotConnectedError);
    await vi.advanceTimersByTimeAsync(PATIENT.ms);
    expect(await renewing).toBeInstanceOf(NotConnectedError);
    expect(await failureOf(p0.value())).toBeInstanceOf(NotConnectedError);
    expect(await store.load(SHOP)).toBeUndefined();
  });
});

describe("what is handed out", () => {
  test("a set that somebody else stored and that has ended meanwhile is renewed first", async () => {
    const { p0, p1, service, time } = twoProcesses();
    await p0.login();
    time.now += 2 * DAY_MS;
    const held = service.holdNext();
    const waiting = p0.value();
    await settled();
    service.next(() => json({ access_token: "short", refresh_token: "refresh-shop-9", expires_in: 5 }));
    await p1.pos.connect(await p1.pos.exchange("shop", "code"));
    time.now += 5_000;
    service.next(() => json({ access_token: "renewed", expires_in: 60 }));
    held.answer(oauthError("invalid_grant"));
    expect(await waiting).toBe("renewed");
  });

  test("what this very call was given is handed out once, even if the save took until its end", async () => {
    const { gated, p0, service, time } = twoProcesses();
    await p0.login();
    time.now = T0 + 2 * DAY_MS;
    service.next(() => json({ access_token: "short", refresh_token: "refresh-shop-9", expires_in: 1 }));
    const save = gated.stop("save", AFTER);
    const waiting = p0.value();
    await save.asked;
    time.now += 2_000;
    save.goOn();
    expect(await waiting).toBe("short");
  });

  test("whoever joins a renewal whose token ends before it is saved gets one that lives", async () => {
    const { gated, p0, service, time } = twoProcesses();
    await p0.login();
    time.now = T0 + DAY_MS - 1_000; // an early renewal starts beside this call
    const save = gated.stop("save", AFTER);
    expect(await p0.value()).toBe("access-shop-1");
    await save.asked;
    time.now += 2 * DAY_MS; // the machine slept
    const joined = p0.value();
    await settled();
    save.goOn();
    expect(await joined).toBe("access-shop-3");
    expect(service.spent()).toHaveLength(2);
  });

  test("a rejection reported while its token is being connected holds", async () => {
    const { gated, p0, service } = twoProcesses({ cacheMs: 10_000 });
    const tokens = await p0.login();
    const save = gated.stop("save", AFTER);
    const connecting = p0.pos.connect({ ...tokens, version: "again" });
    await save.asked;
    const held = service.holdNext();
    const reported = p0.shop.token({ rejected: "access-shop-1" });
    await settled();
    save.goOn();
    await connecting;
    held.answer(json({ access_token: "another", refresh_token: "refresh-shop-9", expires_in: 60 }));
    expect((await reported).value).not.toBe("access-shop-1");
    expect(await p0.value()).not.toBe("access-shop-1");
  });

  test("a token that was reported before its renewal has ended is not handed to those who wait for it", async () => {
    const { gated, p0, time } = twoProcesses({ cacheMs: 10_000 });
    await p0.login();
    time.now += 2 * DAY_MS;
    const save = gated.stop("save", AFTER);
    const waiting = p0.value();
    await save.asked;
    save.goOn();
    for (let turn = 0; turn < 20; turn += 1) await undefined; // saved, and the lock is not given back yet
    const first = await p0.value();
    expect(first).toBe("access-shop-2");
    const reported = p0.shop.token({ rejected: first });
    expect(await waiting).not.toBe(first);
    expect((await reported).value).not.toBe(first);
  });

  test("a reported rejection holds at once, also for a caller whose look is answered first", async () => {
    const { gated, p0 } = twoProcesses();
    await p0.login();
    expect(await p0.value()).toBe("access-shop-1");
    const load = gated.stop("load", AFTER);
    const before = p0.value();
    await load.asked;
    const reported = p0.pos.tokens("shop").token({ rejected: "access-shop-1" });
    load.goOn();
    expect(await before).toBe("access-shop-2");
    expect((await reported).value).toBe("access-shop-2");
  });
});
