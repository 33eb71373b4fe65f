import { describe, expect, test } from "vitest";
import {
  DAY_MS,
  failureOf,
  fakeService,
  json,
  later,
  oauthError,
  settled,
  start,
  T0,
} from "../../../testing/fake-service.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { NotConnectedError, ReconnectRequiredError } from "../../vocabulary/errors.js";
import type { Lock } from "../../vocabulary/lock.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const SHOP = parseDomainPrefix("shop");
/** A lock whose lease is always lost: everybody is let in. */
const noLock: Lock = (_key, work) => work();

describe("a process that holds nothing of the retailer yet", () => {
  test("does not believe a look that began before a disconnect and is answered after it", async () => {
    const store = memoryStore();
    const elsewhere = start({ store });
    await elsewhere.login();
    const { pos } = start({ store }, elsewhere.service, elsewhere.time);
    const { load } = store;
    const looking = later<Awaited<ReturnType<typeof load>>>();
    const stored = await load(SHOP);
    store.load = () => looking.promise;
    const waiting = failureOf(pos.tokens("shop").token());
    await pos.disconnect("shop");
    store.load = load;
    looking.resolve(stored);
    expect(await waiting).toBeInstanceOf(NotConnectedError);
    expect(await failureOf(pos.tokens("shop").token())).toBeInstanceOf(NotConnectedError);
  });

  test("does not believe a login whose save is answered after a look that found nothing", async () => {
    const store = memoryStore();
    const { login, pos, service, time } = start({ store });
    const { save } = store;
    const answer = later<boolean>();
    store.save = async (...set) => {
      await save(...set);
      return answer.promise;
    };
    const loggingIn = login();
    await settled();
    await start({ store }, service, time).pos.disconnect("shop");
    expect(await failureOf(pos.tokens("shop").token())).toBeInstanceOf(NotConnectedError);
    answer.resolve(true);
    await loggingIn;
    expect(await failureOf(pos.tokens("shop").token())).toBeInstanceOf(NotConnectedError);
  });

  test("does not believe a login whose save is answered after a later disconnect", async () => {
    const store = memoryStore();
    const { login, pos } = start({ store });
    const { save } = store;
    const answer = later<boolean>();
    store.save = async (...set) => {
      await save(...set);
      return answer.promise;
    };
    const loggingIn = login();
    await settled();
    await pos.disconnect("shop");
    answer.resolve(true);
    await loggingIn;
    expect(await failureOf(pos.tokens("shop").token())).toBeInstanceOf(NotConnectedError);
  });
});

describe("while a renewal is under way", () => {
  test("a login wins: it is what is served and stored afterwards", async () => {
    const { login, renewing, store, types, value } = await withRenewing();
    const waiting = value();
    await settled();
    await login();
    expect(await value()).toBe("access-shop-2");
    renewing.answer(json({ access_token: "late", refresh_token: "late-refresh", expires_in: 86_400 }));
    expect(await waiting).toBe("access-shop-2");
    expect(await value()).toBe("access-shop-2");
    expect((await store.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
    expect(types()).toEqual(["connected", "connected"]);
  });

  test("a login wins over a refusal, too", async () => {
    const { login, renewing, store, types, value } = await withRenewing();
    const waiting = value();
    await settled();
    await login();
    renewing.answer(oauthError("invalid_grant"));
    expect(await waiting).toBe("access-shop-2");
    expect(await store.load(SHOP)).not.toHaveProperty("refusedAt");
    expect(types()).not.toContain("reconnect_required");
  });

  test("a login wins over a refusal whose mark finds the store unreadable", async () => {
    const { login, renewing, store, value } = await withRenewing();
    const waiting = value();
    await settled();
    await login();
    store.load = () => Promise.reject(new Error("the store cannot be read"));
    renewing.answer(oauthError("invalid_grant"));
    expect([await waiting, await value()]).toEqual(["access-shop-2", "access-shop-2"]);
  });

  test("a login whose token is rejected at once does not get that token back", async () => {
    const { login, renewing, service, shop, value } = await withRenewing();
    const waiting = value();
    await settled();
    const { access } = await login();
    const reported = shop.token({ rejected: access.value });
    renewing.answer(json({ access_token: "access-of-the-older-renewal", expires_in: 60 }));
    expect((await reported).value).not.toBe(access.value);
    expect(await waiting).not.toBe("");
    expect(service.spent()).toHaveLength(2);
  });

  test("a login wins over a failure, too", async () => {
    const { login, renewing, value } = await withRenewing();
    const waiting = value();
    await settled();
    await login();
    renewing.answer(new Response("down", { status: 500 }));
    expect(await waiting).toBe("access-shop-2");
  });

  test("a disconnected retailer stays disconnected, and nothing is stored again", async () => {
    const { pos, renewing, store, types, value } = await withRenewing();
    const waiting = failureOf(value());
    await settled();
    await pos.disconnect("shop");
    renewing.answer(json({ access_token: "late", refresh_token: "late-refresh", expires_in: 86_400 }));
    expect(await waiting).toBeInstanceOf(NotConnectedError);
    expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
    expect(await store.load(SHOP)).toBeUndefined();
    expect(types()).toEqual(["connected", "disconnected"]);
  });

  test("a retailer that is disconnected and logs in again has the new login's tokens", async () => {
    const { login, pos, renewing, store, value } = await withRenewing();
    const waiting = value();
    await settled();
    await pos.disconnect("shop");
    await login();
    renewing.answer(json({ access_token: "late", refresh_token: "late-refresh", expires_in: 86_400 }));
    expect(await waiting).toBe("access-shop-2");
    expect((await store.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
  });

  test("a login in another process is not overwritten", async () => {
    const { renewing, service, store, time, value } = await withRenewing();
    const waiting = value();
    await settled();
    await start({ store }, service, time).login();
    renewing.answer(json({ access_token: "late", refresh_token: "late-refresh", expires_in: 86_400 }));
    expect(await waiting).toBe("access-shop-2");
    expect((await store.load(SHOP))?.refreshToken).toBe("refresh-shop-2");
  });
});

describe("a caller who asks the store while a renewal is being saved", () => {
  test("does not make the renewal hand out the expired token", async () => {
    const { isSaving, login, saved, service, shop, time } = withSlowSave();
    await login();
    time.now = T0 + DAY_MS;
    const first = shop.token();
    await isSaving.promise;
    const second = shop.token(); // reads the old set, a moment before the new one is there
    await settled();
    saved.resolve();
    for (const { value, expiresAt } of await Promise.all([first, second])) {
      expect(value).toBe("access-shop-2");
      expect(expiresAt).toBeGreaterThan(time.now);
    }
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });

  test("does not make the renewal hand out the rejected token", async () => {
    const { isSaving, login, saved, shop, types } = withSlowSave();
    await login();
    const first = shop.token({ rejected: "access-shop-1" });
    await isSaving.promise;
    const second = shop.token();
    await settled();
    saved.resolve();
    expect((await first).value).toBe("access-shop-2");
    expect((await second).value).toBe("access-shop-2");
    expect(types()).toEqual(["connected", "renewed"]);
  });

  test("does not turn a refusal into the expired token", async () => {
    const { isSaving, login, saved, service, shop, time } = withSlowSave();
    await login();
    service.revoke("shop");
    time.now = T0 + DAY_MS;
    const first = shop.token().catch((error: unknown) => error);
    await isSaving.promise; // of the mark
    const second = shop.token().catch((error: unknown) => error);
    await settled();
    saved.resolve();
    expect(await first).toBeInstanceOf(ReconnectRequiredError);
    expect(await second).toBeInstanceOf(ReconnectRequiredError);
  });

  test("does not hide the renewal from later callers when the answer comes late", async () => {
    const store = memoryStore();
    const slowRead = later();
    let isSlow = false;
    const load: TokenStore["load"] = async (prefix) => {
      const found = await store.load(prefix);
      if (isSlow) await slowRead.promise;
      return found;
    };
    const isSaving = later();
    const saved = later();
    const save: TokenStore["save"] = async (next, replacing) => {
      if (!replacing) return store.save(next);
      isSaving.resolve();
      await saved.promise;
      return store.save(next, replacing);
    };
    const { login, service, shop, time } = start({ store: { ...store, load, save }, cacheMs: 0 });
    await login();
    time.now = T0 + DAY_MS;
    const first = shop.token();
    await isSaving.promise;
    isSlow = true;
    const second = shop.token(); // has read the old set; hears it after the save
    await settled();
    saved.resolve();
    expect((await first).value).toBe("access-shop-2");
    isSlow = false;
    slowRead.resolve();
    expect((await second).value).toBe("access-shop-2");
    expect(service.spent()).toEqual(["refresh-shop-1"]);
  });
});

describe("a lock that was lost: two holders at once, on a service that rotates", () => {
  const orders = [
    { name: "the winner saves first", winnerFirst: true },
    { name: "the loser marks the set first", winnerFirst: false },
  ];
  for (const { name, winnerFirst } of orders) {
    test(`${name}: the winner's refresh token is stored, and nobody ends refused`, async () => {
      const store = memoryStore();
      const one = start({ store, lock: noLock });
      const two = start({ store, lock: noLock }, one.service, one.time);
      await one.login();
      await two.value();
      one.time.now = T0 + DAY_MS;
      const [winner, loser] = [later(), later()];
      for (const gate of [winner, loser]) {
        one.service.next(async (_, regular) => {
          const answer = regular(); // rotates, or refuses, the moment the request arrives
          await gate.promise;
          return answer;
        });
      }
      const waiting = [one, two].map(({ value }) => value().catch((error: unknown) => error));
      await settled();
      expect(one.service.spent()).toEqual(["refresh-shop-1", "refresh-shop-1"]);
      for (const gate of winnerFirst ? [winner, loser] : [loser, winner]) {
        gate.resolve();
        await settled();
      }
      const [first, second] = await Promise.all(waiting);
      expect(first).toBe("access-shop-2");
      if (winnerFirst) expect(second).toBe("access-shop-2");
      expect(await store.load(SHOP)).toMatchObject({ refreshToken: "refresh-shop-2" });
      expect(await store.load(SHOP)).not.toHaveProperty("refusedAt");
      expect(await Promise.all([one.value(), two.value()])).toEqual(["access-shop-2", "access-shop-2"]);
      one.time.now += DAY_MS;
      expect(await one.value()).toBe("access-shop-3");
    });
  }

  test("five processes over ten expiries, answers in any order: the valid refresh token is always stored", async () => {
    const store = slowly(memoryStore());
    const service = fakeService();
    const time = { now: T0 };
    const processes = Array.from({ length: 5 }, () => start({ store, lock: noLock }, service, time));
    await processes[0]?.login();
    service.always(async (_, regular) => {
      const answer = regular();
      for (let turns = random(6); turns > 0; turns -= 1) await new Promise(setImmediate);
      return answer;
    });
    for (let expiry = 1; expiry <= 10; expiry += 1) {
      await Promise.all(processes.map(({ value }) => value()));
      time.now += DAY_MS;
      await Promise.all(processes.map(({ value }) => value().catch(() => {})));
      for (let turn = 0; turn < 5; turn += 1) await settled();
      expect((await store.load(SHOP))?.refreshToken).toBe(service.valid("shop"));
      const values = await Promise.all(processes.map(({ value }) => value()));
      expect(new Set(values)).toEqual(new Set([`access-shop-${expiry + 1}`]));
    }
  });
});

describe("a newer set found in the store is good only while it lives", () => {
  test("after a refusal: one that has expired is not handed out", async () => {
    const { renewing, service, store, time, value } = await withRenewing();
    const waiting = value().catch((error: unknown) => error);
    await settled();
    const held = await store.load(SHOP);
    if (!held) throw new Error("nothing is stored");
    const theirs = {
      ...held,
      access: { value: "dead", expiresAt: time.now - 1 },
      refreshToken: "theirs",
      version: "v",
    };
    await store.save(theirs);
    service.always(() => json({ access_token: "alive", expires_in: 60 }));
    renewing.answer(oauthError("invalid_grant"));
    expect(await waiting).not.toBe("dead");
    expect(await store.load(SHOP)).not.toHaveProperty("refusedAt");
    expect(await value().catch((error: unknown) => error)).not.toBe("dead");
  });

  test("after a success that came too late: one that has expired is not handed out", async () => {
    const { renewing, service, store, time, value } = await withRenewing();
    const waiting = value().catch((error: unknown) => error);
    await settled();
    const held = await store.load(SHOP);
    if (!held) throw new Error("nothing is stored");
    const theirs = {
      ...held,
      access: { value: "dead", expiresAt: time.now - 1 },
      refreshToken: "theirs",
      version: "v",
    };
    await store.save(theirs);
    service.always(() => json({ access_token: "alive", expires_in: 60 }));
    renewing.answer(json({ access_token: "late", refresh_token: "late-refresh", expires_in: 60 }));
    expect(await waiting).not.toBe("dead");
  });
});

/** A client whose token has expired, and whose next token request waits for `renewing`. */
async function withRenewing() {
  const store = memoryStore();
  const started = start({ store });
  await started.login();
  started.time.now = T0 + DAY_MS;
  const renewing = started.service.holdNext();
  return { ...started, store, renewing };
}

/** A client that always asks the store, whose compare-and-set waits for `saved`. */
function withSlowSave() {
  const store = memoryStore();
  const isSaving = later();
  const saved = later();
  const save: TokenStore["save"] = async (next, replacing) => {
    if (!replacing) return store.save(next);
    isSaving.resolve();
    await saved.promise;
    return store.save(next, replacing);
  };
  return { ...start({ store: { ...store, save }, cacheMs: 0 }), isSaving, saved };
}

function slowly(store: TokenStore): TokenStore {
  const pause = async () => {
    for (let turns = random(4); turns > 0; turns -= 1) await new Promise(setImmediate);
  };
  return {
    load: (prefix) => pause().then(() => store.load(prefix)),
    save: (next, replacing) => pause().then(() => store.save(next, replacing)),
    remove: (prefix) => pause().then(() => store.remove(prefix)),
  };
}

let seed = 1;
/** The same numbers in every run. */
function random(below: number): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
}
