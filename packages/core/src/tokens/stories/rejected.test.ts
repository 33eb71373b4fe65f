import { describe, expect, test } from "vitest";
import {
  DAY_MS,
  failureOf,
  json,
  later,
  oauthError,
  settled,
  start,
  T0,
} from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import {
  RateLimitedError,
  ReconnectRequiredError,
  TokenEndpointError,
  TokenResponseError,
} from "../../vocabulary/errors.js";
import type { TokenSource } from "../../vocabulary/token-source.js";

test("a live token that the API rejected is renewed, once for all who report it", async () => {
  const { login, service, shop } = start();
  await login();
  const rejected = "access-shop-1";
  const tokens = await Promise.all(Array.from({ length: 100 }, () => shop.token({ rejected })));
  expect(new Set(tokens.map(({ value }) => value))).toEqual(new Set(["access-shop-2"]));
  expect(service.spent()).toEqual(["refresh-shop-1"]);
});

test("reports that come after the renewal get the new token without another", async () => {
  const { login, service, shop } = start({ cacheMs: 0 });
  await login();
  await shop.token({ rejected: "access-shop-1" });
  for (let count = 0; count < 10; count += 1) {
    expect((await shop.token({ rejected: "access-shop-1" })).value).toBe("access-shop-2");
  }
  expect(service.spent()).toHaveLength(1);
});

test("a value that is not the held one causes no renewal", async () => {
  const { login, service, shop, value } = start();
  await login();
  for (const rejected of ["somebody-else's", "", "refresh-shop-1"]) {
    expect((await shop.token({ rejected })).value).toBe("access-shop-1");
  }
  expect(await value()).toBe("access-shop-1");
  expect(service.spent()).toEqual([]);
});

test("where the store holds another token, that one is used and nothing is requested", async () => {
  const shared = { store: memoryStore(), lock: memoryLock() };
  const one = start(shared);
  const two = start(shared, one.service, one.time);
  await one.login();
  await two.value();
  await one.shop.token({ rejected: "access-shop-1" });
  expect((await two.shop.token({ rejected: "access-shop-1" })).value).toBe("access-shop-2");
  expect(one.service.spent()).toHaveLength(1);
});

test("two processes that report the same token at the same time cause one request", async () => {
  const shared = { store: memoryStore(), lock: memoryLock() };
  const one = start(shared);
  const two = start(shared, one.service, one.time);
  await one.login();
  await two.value();
  const asked = [one, two, one, two].map(({ shop }) => shop.token({ rejected: "access-shop-1" }));
  expect((await Promise.all(asked)).map(({ value }) => value)).toEqual(Array(4).fill("access-shop-2"));
  expect(one.service.spent()).toHaveLength(1);
});

test("in a process that has just started, the stored token is recognised as the rejected one", async () => {
  const store = memoryStore();
  const one = start({ store });
  await one.login();
  const restarted = start({ store }, one.service, one.time);
  expect((await restarted.shop.token({ rejected: "access-shop-1" })).value).toBe("access-shop-2");
});

for (const { name, answer, error } of [
  { name: "500", answer: () => new Response("down", { status: 500 }), error: TokenEndpointError },
  { name: "429", answer: () => new Response(null, { status: 429 }), error: RateLimitedError },
  { name: "invalid_grant", answer: () => oauthError("invalid_grant"), error: ReconnectRequiredError },
]) {
  test(`the rejected token is not handed out again, to nobody, while renewing fails with ${name}`, async () => {
    const { events, login, service, shop, time } = start({ cacheMs: 0 });
    await login();
    service.always(answer);
    expect(await failureOf(shop.token({ rejected: "access-shop-1" }))).toBeInstanceOf(error);
    for (let count = 0; count < 100; count += 1) {
      time.now += 10;
      expect(await failureOf(shop.token())).toBeInstanceOf(error);
    }
    await settled();
    expect(service.spent().length).toBeLessThanOrEqual(2);
    for (const event of events)
      if (event.type === "renewal_failed") expect(event.servedHeldToken).toBe(false);
  });
}

test("during a pause after a failure, what another process renewed meanwhile is used", async () => {
  const shared = { store: memoryStore(), lock: memoryLock() };
  const one = start(shared);
  const two = start(shared, one.service, one.time);
  await one.login();
  await two.value();
  one.service.next(() => new Response(null, { status: 500 }));
  await failureOf(two.shop.token({ rejected: "access-shop-1" }));
  await one.shop.token({ rejected: "access-shop-1" });
  expect((await two.shop.token()).value).toBe("access-shop-2");
  expect(one.service.spent()).toHaveLength(2);
});

test("a report during an early renewal waits for that one", async () => {
  const { login, service, shop, time } = start();
  await login();
  time.now = T0 + DAY_MS - 1000;
  const held = service.holdNext();
  expect((await shop.token()).value).toBe("access-shop-1");
  await settled();
  const reported = shop.token({ rejected: "access-shop-1" });
  const bystander = shop.token();
  await settled();
  held.release();
  expect((await reported).value).toBe("access-shop-2");
  expect((await bystander).value).toBe("access-shop-2");
  expect(service.spent()).toHaveLength(1);
});

test("a token that was rejected before a login stays rejected if the login brings it again", async () => {
  const { login, pos, service, shop } = start();
  await login();
  service.next(() => oauthError("invalid_grant"));
  await failureOf(shop.token({ rejected: "access-shop-1" }));
  service.next(() => json({ access_token: "access-shop-1", refresh_token: "r", expires_in: 60 }));
  await pos.connect(await pos.exchange("shop", "code"));
  service.next(() => json({ access_token: "access-shop-2", refresh_token: "s", expires_in: 60 }));
  expect((await shop.token()).value).toBe("access-shop-2");
});

test("an answer that repeats an older rejected token is not handed out", async () => {
  const { login, service, shop, time } = start();
  await login();
  await shop.token({ rejected: "access-shop-1" });
  service.always(() => json({ access_token: "access-shop-1", expires_in: 86_400 }));
  const handedOut: string[] = [];
  for (let count = 0; count < 10; count += 1) {
    time.now += 100;
    await shop.token({ rejected: "access-shop-2" }).then(
      ({ value }) => handedOut.push(value),
      () => {},
    );
  }
  expect(handedOut).toEqual([]);
});

describe("an API that answers 401 to every token", () => {
  test("costs ten renewals at once, then one after a second, after two, up to once a minute", async () => {
    const { login, service, shop, time } = start();
    await login();
    await rejectHeld(shop, 20);
    expect(service.spent()).toHaveLength(10);
    for (let second = 0; second < 3600; second += 1) {
      time.now += 1000;
      await rejectHeld(shop, 2);
    }
    expect(service.spent().length).toBeGreaterThan(10 + 55); // a token may really have ended: it goes on
    expect(service.spent().length).toBeLessThan(10 + 6 + 61);
  });

  test("the reporter gets an error, not the rejected token; calls that the API does serve go on", async () => {
    const { login, shop } = start();
    await login();
    await rejectHeld(shop, 20);
    const { value } = await shop.token();
    const error = await failureOf(shop.token({ rejected: value }));
    expect(error).toBeInstanceOf(TokenResponseError);
    expect(error).toMatchObject({ message: expect.stringMatching(/rejects every access token/) });
    expect((await shop.token()).value).toBe(value);
  });

  test("does not hide the token that another process has stored meanwhile", async () => {
    const shared = { store: memoryStore(), lock: memoryLock() };
    const one = start(shared);
    const other = start(shared, one.service, one.time);
    await one.login();
    await rejectHeld(one.shop, 20);
    const held = (await one.shop.token()).value;
    await other.login();
    const spent = one.service.spent().length;
    expect((await one.shop.token({ rejected: held })).value).not.toBe(held);
    expect(one.service.spent()).toHaveLength(spent);
  });

  test("is believed at once of a token whose process has a clock that is far ahead", async () => {
    const store = memoryStore();
    const { login, service, shop } = start({ store, cacheMs: 0 });
    const tokens = await login();
    await rejectHeld(shop, 20);
    await store.save({
      ...tokens,
      issuedAt: T0 + DAY_MS,
      version: "ahead",
      refreshToken: service.valid("shop") ?? "",
    });
    const before = service.spent().length;
    await rejectHeld(shop, 1);
    expect(service.spent()).toHaveLength(before + 1);
  });

  test("is believed again after a login, and for a token that has been good for two minutes", async () => {
    const { login, service, shop, time } = start();
    await login();
    await rejectHeld(shop, 20);
    await login();
    await rejectHeld(shop, 1);
    expect(service.spent()).toHaveLength(11);
    await rejectHeld(shop, 20);
    time.now += 120_000;
    await rejectHeld(shop, 20);
    expect(service.spent()).toHaveLength(30);
  });
});

/** Reports the token that is handed out, so many times in a row. */
async function rejectHeld(source: TokenSource, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const { value } = await source.token();
    await source.token({ rejected: value }).catch(() => {});
  }
}

test("a token that is reported while it is being saved is renewed once more, and nobody meets an error", async () => {
  const memory = memoryStore();
  const gate = later();
  let isHeld = false;
  const store = {
    ...memory,
    async save(...asked: Parameters<typeof memory.save>) {
      const isSaved = await memory.save(...asked);
      if (isHeld) await gate.promise;
      return isSaved;
    },
  };
  const { login, shop, time, value } = start({ store, cacheMs: 0 });
  await login();
  time.now = T0 + DAY_MS;
  isHeld = true;
  const waiting = value();
  await settled();
  const reporting = shop.token({ rejected: "access-shop-2" }); // another process read it, and met a 401
  await settled();
  isHeld = false;
  gate.resolve();
  expect(await waiting).toBe("access-shop-3");
  expect((await reporting).value).toBe("access-shop-3");
});
