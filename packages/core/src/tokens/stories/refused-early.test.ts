import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  DAY_MS,
  type FakeService,
  failureOf,
  fakeService,
  json,
  oauthError,
  type Script,
  type Started,
  settled,
  start,
  T0,
} from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { ReconnectRequiredError } from "../../vocabulary/errors.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const SHOP = parseDomainPrefix("shop");
const END = T0 + DAY_MS;
/** By then the token has ended for the service too, as a rule. */
const AFTER = END + 2000;
/** By then it has, however slowly the service answered: a refusal counts at once. */
const SURELY_AFTER = AFTER + 10_000;

afterEach(() => void vi.useRealTimers());

/** A service that refuses a refresh while the access token is valid, as `refusal` says. */
function strictService(time: { now: number }, refusal = () => oauthError("invalid_grant")): FakeService {
  const service = fakeService();
  let endsAt = 0;
  service.always(({ form }, regular) => {
    if (form.get("grant_type") === "refresh_token" && time.now < endsAt) return refusal();
    endsAt = time.now + DAY_MS;
    return regular();
  });
  return service;
}

/** Clients of one service and one store, and a walk of the clock with callers at all of them. */
function clientsOf(count: number, options: { store?: TokenStore; isLocked?: boolean } = {}) {
  const { store = memoryStore(), isLocked = true } = options;
  const time = { now: T0 };
  const service = strictService(time);
  const lock = memoryLock();
  const clients = Array.from({ length: count }, () =>
    start({ store, ...(isLocked && { lock }) }, service, time),
  );
  const walk = async (from: number, to: number, stepMs: number) => {
    for (time.now = from; time.now < to; time.now += stepMs) {
      for (const { value } of clients) {
        expect(await value()).toBe("access-shop-1");
        await settled();
      }
    }
  };
  return { clients, service, store, time, walk, first: clients[0] as Started };
}

describe("a refresh that is refused while the access token is valid", () => {
  test.each([
    { name: "400 invalid_grant", refusal: () => oauthError("invalid_grant") },
    { name: "403 invalid_grant", refusal: () => oauthError("invalid_grant", 403) },
    { name: "400 without an OAuth error", refusal: () => json({ message: "token still valid" }, 400) },
    { name: "400 invalid_request", refusal: () => oauthError("invalid_request") },
    { name: "403 without a body", refusal: () => new Response(null, { status: 403 }) },
    { name: "409", refusal: () => json({ error: "token_still_valid" }, 409) },
    { name: "425", refusal: () => json({}, 425) },
    { name: "200 with an error", refusal: () => json({ error: "too_early", error_description: "wait" }) },
  ])("is no verdict: one try, the token until its end, and one request then ($name)", async ({ refusal }) => {
    const time = { now: T0 };
    const service = strictService(time, refusal);
    const store = memoryStore();
    const { login, value, pos, types, events, counts } = start({ store }, service, time);
    await login();
    for (time.now = END - 290_000; time.now < END; time.now += 10_000) {
      expect(await value()).toBe("access-shop-1");
      await settled();
    }
    expect(service.spent()).toHaveLength(1);
    expect(await store.load(SHOP)).not.toHaveProperty("refusedAt");
    expect(await pos.status("shop")).not.toHaveProperty("refusedAt");
    expect(types()).toEqual(["connected", "renewal_failed"]);
    expect(events.at(-1)).toMatchObject({
      servedHeldToken: true,
      error: { code: "token_endpoint_failed", message: expect.stringContaining("before its end") },
    });
    expect(counts.at(-1)).toMatchObject({ type: "token_request", error: { code: "token_endpoint_failed" } });

    time.now = AFTER;
    expect(await value()).toBe("access-shop-2");
    expect(service.spent()).toHaveLength(2);
    expect(await store.load(SHOP)).not.toHaveProperty("limitedUntil");
    expect(types()).toEqual(["connected", "renewal_failed", "renewed"]);
  });

  test.each([
    { name: "500", failure: () => json({}, 500) },
    { name: "408", failure: () => json({}, 408) },
    { name: "400 temporarily_unavailable", failure: () => oauthError("temporarily_unavailable") },
    { name: "200 without an error", failure: () => json({}) },
  ])("is none if it fails for another reason: tried again a little later ($name)", async ({ failure }) => {
    const { login, value, service, time } = start();
    await login();
    service.next(failure);
    for (time.now = END - 200_000; service.spent().length < 2; time.now += 500) {
      expect(await value()).toBe("access-shop-1");
      await settled();
    }
    expect(time.now).toBeLessThan(END - 195_000);
    expect(await value()).toBe("access-shop-2");
  });

  test("at the token's end by this process's clock: the request comes when the token has surely ended", async () => {
    const { first, service, time, walk } = clientsOf(1);
    await first.login();
    await walk(END - 200_000, END, 100_000);
    time.now = END;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const waiting = first.value();
    await settled();
    expect(service.spent()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await waiting).toBe("access-shop-2");
    expect(service.spent()).toHaveLength(2);
  });

  test("at the end of a token that was issued slowly, by another process: a refusal is asked once more", async () => {
    const { clients, first, service, time, walk } = clientsOf(2);
    await first.login();
    await walk(END - 200_000, END, 100_000);
    const stillTooEarly: Script = () => oauthError("invalid_grant");
    service.next(stillTooEarly);
    time.now = END + 2000; // the token ends later for the service: its answer was on its way for seven seconds
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const waiting = Promise.all(clients.map(({ value }) => value()));
    await settled();
    expect(service.spent()).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(9999);
    expect(service.spent()).toHaveLength(2);
    time.now = END + 12_000;
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toEqual(["access-shop-2", "access-shop-2"]);
    expect(service.spent()).toHaveLength(3);
    expect(clients.flatMap(({ types }) => types())).not.toContain("reconnect_required");
  });

  test("and with all other retailers, once the service has renewed one after its end", async () => {
    const { first, service, time, walk } = clientsOf(1);
    await first.login();
    await walk(END - 200_000, END, 100_000);
    time.now = AFTER;
    expect(await first.value()).toBe("access-shop-2");
    await first.login("other");
    time.now += DAY_MS;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const waiting = first.pos.tokens("other").token(); // the first since its login: no early renewal was tried
    await settled();
    expect(service.spent("other")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await waiting).toMatchObject({ value: "access-other-2" });
  });

  test("and once more after the end: that answer counts", async () => {
    const { first, service, time, walk } = clientsOf(1);
    await first.login();
    await walk(END - 290_000, END, 10_000);
    service.always(undefined);
    service.revoke("shop");
    time.now = SURELY_AFTER;
    expect(await failureOf(first.value())).toBeInstanceOf(ReconnectRequiredError);
    expect(await failureOf(first.value())).toBeInstanceOf(ReconnectRequiredError);
    expect(service.spent()).toHaveLength(2);
    expect(first.types()).toEqual(["connected", "renewal_failed", "reconnect_required"]);
  });

  test.each([2, 6])("is tried once by %i clients of one store together, life after life", async (count) => {
    const { clients, first, service, time } = clientsOf(count);
    await first.login();
    for (const life of [1, 2, 3]) {
      const endsAt = T0 + life * (DAY_MS + 2000) - 2000;
      for (time.now = endsAt - 290_000; time.now < endsAt; time.now += 10_000) {
        await Promise.all(clients.map(({ value }) => value()));
        await settled();
      }
      expect(service.spent()).toHaveLength(2 * life - 1);
      time.now = endsAt + 2000;
      await Promise.all(clients.map(({ value }) => value()));
      expect(service.spent()).toHaveLength(2 * life);
    }
  });

  test("costs one try for each process if the store keeps no note", async () => {
    const inner = memoryStore();
    const forgetful: TokenStore = {
      ...inner,
      save({ refusedEarlyAt: _, ...next }, replacing) {
        return inner.save(next, replacing);
      },
    };
    const { first, service, walk } = clientsOf(3, { store: forgetful });
    await first.login();
    await walk(END - 290_000, END, 10_000);
    expect(service.spent()).toHaveLength(3);
  });

  test("does not keep a token that the API rejects from being renewed, and then the answer counts", async () => {
    const { first, service, time, walk } = clientsOf(1);
    await first.login();
    await walk(END - 290_000, END - 200_000, 10_000);
    service.always(undefined);
    expect(await first.shop.token({ rejected: "access-shop-1" })).toMatchObject({ value: "access-shop-2" });
    expect(service.spent()).toHaveLength(2);

    time.now += DAY_MS - 100_000;
    service.revoke("shop");
    await first.value();
    await settled();
    expect(await failureOf(first.shop.token({ rejected: "access-shop-2" }))).toBeInstanceOf(
      ReconnectRequiredError,
    );
  });

  test("shows the access token in no error and no event, although the service repeats it", async () => {
    const time = { now: T0 };
    const refusal = () =>
      json({ error: "invalid_grant", error_description: "access-shop-1 is still valid" }, 400);
    const { login, value, events, counts } = start({}, strictService(time, refusal), time);
    await login();
    time.now = END - 200_000;
    await value();
    await settled();
    expect(events.at(-1)).toMatchObject({ type: "renewal_failed" });
    expect(inspect([...events, ...counts], { depth: null, showHidden: true })).not.toContain("access-shop-1");
    expect(JSON.stringify([...events, ...counts])).not.toContain("access-shop-1");
  });

  test("stops no login, and a login ends the wait", async () => {
    const { first, service, time, walk } = clientsOf(1);
    await first.login();
    await walk(END - 290_000, END - 200_000, 10_000);
    await first.login();
    expect(await first.value()).toBe("access-shop-2");
    time.now += DAY_MS - 200_000;
    await first.value();
    await settled();
    expect(service.spent()).toHaveLength(2);
  });

  test("adopts what another process renewed meanwhile", async () => {
    const { clients, service, time } = clientsOf(2, { isLocked: false });
    const [one, two] = clients as [Started, Started];
    await one.login();
    await two.value();
    service.always(undefined);
    time.now = END - 200_000;
    const held = service.holdNext();
    await one.value(); // begins an early renewal, which is held
    await settled();
    await two.value();
    await settled();
    held.release(); // the refresh token was spent by the other process: refused
    await settled();
    expect(await one.value()).toBe("access-shop-2");
    expect([...one.types(), ...two.types()]).not.toContain("reconnect_required");
  });

  test("counts as failed in renewDue, whose next run leaves the retailer alone until the end", async () => {
    const { first, service, time } = clientsOf(1);
    await first.login();
    time.now = END - 200_000;
    expect(await first.pos.renewDue()).toMatchObject({ due: 1, failed: 1, refused: 0 });
    expect(await first.pos.renewDue()).toMatchObject({ seen: 1, due: 0 });
    expect(service.spent()).toHaveLength(1);
    time.now = AFTER;
    expect(await first.pos.renewDue()).toMatchObject({ due: 1, renewed: 1 });
    expect(service.spent()).toHaveLength(2);
  });
});
