import { inspect } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  failureOf,
  fakeService,
  json,
  later,
  oauthError,
  type Script,
  start,
  T0,
} from "../../testing/fake-service.js";
import { memoryLock } from "../store/locks.js";
import { RateLimitedError } from "../vocabulary/errors.js";

const refused: Script = () => oauthError("invalid_grant");
const isLogin = (form: URLSearchParams) => form.get("grant_type") === "authorization_code";

describe("exchanges of one retailer", () => {
  test("go out one at a time, in all processes that share the lock, and all succeed", async () => {
    const service = fakeService();
    const lock = memoryLock();
    let [underWay, most] = [0, 0];
    service.always(async (_, regular) => {
      most = Math.max(most, ++underWay);
      await new Promise(setImmediate);
      underWay -= 1;
      return regular();
    });
    const clients = [start({ lock }, service), start({ lock }, service)];
    const logins = Array.from({ length: 20 }, (_, at) => clients[at % 2]?.pos.exchange("shop", `code-${at}`));
    const versions = (await Promise.all(logins)).map((set) => set?.version);
    expect([most, new Set(versions).size]).toEqual([1, 20]);
  });

  test("do not wait for those of another retailer, nor for a renewal", async () => {
    const { pos, service, login, value, time } = start();
    await login();
    time.now += 2 * 86_400_000;
    const held = service.holdNext();
    const slow = pos.exchange("shop", "code");
    await pos.exchange("other", "code");
    expect(await value()).toBe("access-shop-2");
    held.answer(json({ access_token: "late", refresh_token: "late", expires_in: 60 }));
    expect((await slow).access.value).toBe("late");
  });

  test("that wait are bounded: past a hundred, the next is told to come back", async () => {
    const { pos, service } = start();
    const held = service.holdNext();
    const waiting = Array.from({ length: 100 }, (_, at) => pos.exchange("shop", `code-${at}`));
    const error = await failureOf(pos.exchange("shop", "one more"));
    expect(error).toMatchObject({
      code: "rate_limited",
      retryAt: T0 + 1000,
      message: expect.stringContaining("is asked by 100 logins already; next request at"),
    });
    held.answer(json({ access_token: "a", refresh_token: "r", expires_in: 60 }));
    expect(await Promise.all(waiting)).toHaveLength(100);
    expect(service.seen).toHaveLength(100);
  });
});

test("if the endpoint does not answer, those that waited are told so with the one that was sent", async () => {
  const { pos, service } = start();
  const silent = later<Response>();
  service.next(() => silent.promise);
  const waiting = Array.from({ length: 20 }, (_, at) => failureOf(pos.exchange("shop", `code-${at}`)));
  silent.reject(new TypeError("fetch failed"));
  for (const error of await Promise.all(waiting))
    expect(error).toMatchObject({ code: "token_endpoint_failed", status: 502 });
  expect(service.seen).toHaveLength(1);
  expect((await pos.exchange("shop", "a later one")).access.value).toBe("access-shop-1");
});

test("what the service granted is kept, shown by status, and kept by a renewal that does not name it", async () => {
  const { pos, service, time, value } = start();
  service.next(() =>
    json({ access_token: "a", refresh_token: "r", expires_in: 60, scope: "products:read sales:write" }),
  );
  await pos.connect(await pos.exchange("shop", "code"));
  expect(await pos.status("shop")).toMatchObject({ scope: "products:read sales:write" });
  time.now += 60_000;
  service.next(() => json({ access_token: "b", expires_in: 60, scope: "" }));
  expect(await value()).toBe("b");
  expect(await pos.status("shop")).toMatchObject({ scope: "products:read sales:write" });
  time.now += 60_000;
  service.next(() => json({ access_token: "c", expires_in: 60, scope: "products:read" }));
  expect(await value()).toBe("c");
  expect(await pos.status("shop")).toMatchObject({ scope: "products:read" });
});

test.each([
  ["the client secret", "the-client-secret"],
  ["the refresh token among others", "read refresh-token-one"],
  ["no scope of RFC 6749", 'read "everything"'],
  ["no text", 7],
])("a scope that is %s is not kept", async (_, scope) => {
  const { pos, service } = start();
  service.next(() =>
    json({ access_token: "access-one", refresh_token: "refresh-token-one", expires_in: 60, scope }),
  );
  expect(await pos.exchange("shop", "code")).not.toHaveProperty("scope");
});

test("an error that a hook makes of an answer shows neither code nor secret, in no event either", async () => {
  const hooks = [
    (body: string) => new Error(body),
    (body: string) => {
      throw new Error(body);
    },
  ];
  for (const parseErrorResponse of hooks) {
    const { pos, service, events, counts } = start();
    service.next(({ form }) => new Response(`you sent ${form}`, { status: 500 }));
    const error = await failureOf(pos.exchange("shop", "the-secret-code", { parseErrorResponse }));
    const shown = inspect([error, events, counts], { depth: 12, showHidden: true });
    expect(shown).toContain("you sent");
    expect(shown).not.toMatch(/the-secret-code|the-client-secret/);
  }
});

describe("after a refused code", () => {
  test("the next exchange of that retailer waits 1 s, doubling to 10 s; a success starts anew", async () => {
    const { pos, service, time } = start();
    for (const pauseMs of [1, 2, 4, 8, 10, 10].map((seconds) => seconds * 1000)) {
      service.next(refused);
      expect(await failureOf(pos.exchange("shop", "made up"))).toMatchObject({
        code: "token_endpoint_failed",
        status: 403,
        error: "invalid_grant",
      });
      const sent = service.seen.length;
      const error = await failureOf(pos.exchange("shop", "a person's"));
      expect(error).toBeInstanceOf(RateLimitedError);
      expect(error).toMatchObject({
        retryAt: time.now + pauseMs,
        status: 503,
        message: expect.stringContaining('of retailer "shop" refused the last code; next request at'),
      });
      time.now += pauseMs - 1;
      expect(await failureOf(pos.exchange("shop", "a person's"))).toBeInstanceOf(RateLimitedError);
      expect(service.seen).toHaveLength(sent);
      time.now += 1;
    }
    await pos.exchange("shop", "good");
    await pos.exchange("shop", "good");
    service.next(refused);
    await failureOf(pos.exchange("shop", "made up"));
    expect(await failureOf(pos.exchange("shop", "code"))).toMatchObject({ retryAt: time.now + 1000 });
  });

  test("those that queued behind it are answered without a request", async () => {
    const { pos, service } = start();
    service.next(refused);
    const errors = await Promise.all(
      Array.from({ length: 10 }, (_, at) => failureOf(pos.exchange("shop", `made up ${at}`))),
    );
    expect(service.seen).toHaveLength(1);
    expect(errors.slice(1).every((error) => error instanceof RateLimitedError)).toBe(true);
  });

  test("other retailers and renewals go on, and a clock that is set back stops nobody", async () => {
    const { pos, service, login, value, time } = start();
    await login();
    time.now += 2 * 86_400_000;
    service.next(refused);
    await failureOf(pos.exchange("shop", "made up"));
    expect(await value()).toBe("access-shop-2");
    await pos.exchange("other", "code");
    time.now -= 86_400_000;
    await pos.exchange("shop", "code");
  });
});

describe("the reserve for renewals", () => {
  const answer = (remaining: number, limit: number | null = 100) => ({
    ...(limit !== null && { "x-ratelimit-limit": String(limit) }),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset": String(T0 / 1000 + 300),
  });
  const login =
    (headers: Record<string, string>): Script =>
    () =>
      json({ access_token: "a", refresh_token: "r", expires_in: 86_400 }, 200, headers);

  test.each([
    ["a tenth", 10],
    ["less", 3],
    ["nothing", 0],
  ])("%s of the limit left: a login meets a RateLimitedError until the reset", async (_, remaining) => {
    const { pos, service, time } = start();
    service.next(login(answer(remaining)));
    await pos.exchange("shop", "code");
    expect(await failureOf(pos.exchange("shop", "code"))).toMatchObject({
      code: "rate_limited",
      retryAt: T0 + 300_000,
      rateLimit: { limit: 100, remaining },
      headers: { "Retry-After": "300" },
      message: expect.stringContaining("has little left of its rate limit, kept for renewals; next request"),
    });
    expect(service.seen).toHaveLength(1);
    await pos.exchange("other", "code");
    time.now = T0 + 300_000;
    await pos.exchange("shop", "code");
  });

  test.each([
    ["more than a tenth left", answer(11)],
    ["no limit named, something left", answer(1, null)],
    ["no headers", {}],
  ])("%s: a login goes out", async (_, headers) => {
    const { pos, service } = start();
    service.next(login(headers));
    await pos.exchange("shop", "code");
    await pos.exchange("shop", "code");
    expect(service.seen).toHaveLength(2);
  });

  test("counts what a refused code and a renewal said as well", async () => {
    const { pos, service, login: logIn, value, time } = start();
    await logIn();
    time.now += 2 * 86_400_000;
    const headers = { ...answer(10), "x-ratelimit-reset": String(time.now / 1000 + 60) };
    service.next((_, regular) => {
      const response = regular();
      for (const [name, text] of Object.entries(headers)) response.headers.set(name, text);
      return response;
    });
    await value();
    expect(await failureOf(pos.exchange("shop", "code"))).toMatchObject({ retryAt: time.now + 60_000 });
  });
});

test("1,000 forged callbacks while a token expires: the store is renewed at once, its login is told when", async () => {
  const service = fakeService();
  const window = { limit: 50, left: 50 };
  service.always((seen, regular) => {
    if (window.left === 0) return json({}, 429, headersOf());
    window.left -= 1;
    const response = isLogin(seen.form) ? oauthError("invalid_grant") : regular();
    for (const [name, text] of Object.entries(headersOf())) response.headers.set(name, text);
    return response;
  });
  const { pos, time, value, events } = start({}, service);
  const headersOf = () => ({
    "x-ratelimit-limit": String(window.limit),
    "x-ratelimit-remaining": String(window.left),
    "x-ratelimit-reset": String(Math.floor(time.now / 1000) + 300),
  });
  service.next((_, regular) => regular());
  await pos.connect(await pos.exchange("shop", "good"));
  time.now += 2 * 86_400_000;

  for (let second = 0; second < 300; second += 1) {
    const forged = Array.from({ length: 4 }, (_, at) => pos.exchange("shop", `made-up-${second}-${at}`));
    for (const outcome of await Promise.allSettled(forged)) expect(outcome.status).toBe("rejected");
    if (second === 250) expect(await value()).toBe("access-shop-2");
    time.now += 1000;
  }
  expect(window.left).toBeGreaterThan(0);
  const error = await failureOf(pos.exchange("shop", "the store's own"));
  expect(error).toBeInstanceOf(RateLimitedError);
  expect((error as RateLimitedError).retryAt).toBeGreaterThan(time.now - 1);
  expect(events.some(({ type }) => type === "renewal_failed")).toBe(false);
});

describe("a login that fails is observed", () => {
  test("as exchange_failed, with the retailer if one is known", async () => {
    const { pos, service, events } = start();
    service.next(refused, () => json({}, 429));
    await failureOf(pos.exchange("shop", "made up"));
    await failureOf(pos.exchange("other", "code"));
    await failureOf(pos.exchange("no label!", "code"));
    await failureOf(pos.exchange("shop", 7 as unknown as string));
    const told = events.map(({ type, domainPrefix }) => `${type} ${domainPrefix}`);
    expect(told).toEqual([
      "exchange_failed shop",
      "rate_limited other",
      "exchange_failed other",
      "exchange_failed undefined",
    ]);
  });

  test("a lock that cannot be taken is a StoreFailedError, and nothing is sent", async () => {
    const lock = () => Promise.reject(new Error("away"));
    const { pos, service, types } = start({ lock });
    expect(await failureOf(pos.exchange("shop", "code"))).toMatchObject({
      code: "store_failed",
      operation: "lock",
    });
    expect([service.seen.length, types()]).toEqual([0, ["store_failed", "exchange_failed"]]);
  });
});

describe("exchanges of all retailers together", () => {
  /** Codes for made-up retailers whose hosts do not answer, as far as they are sent. */
  function forged(count: number) {
    const started = start();
    const silent = later<Response>();
    started.service.always(({ form }, regular) => (isLogin(form) ? silent.promise : regular()));
    const outcomes = Array.from({ length: count }, (_, at) =>
      failureOf(started.pos.exchange(`made-up-${at}`, "code")),
    );
    return { ...started, silent, outcomes };
  }

  test("that wait for an answer are bounded: 3,000 made-up retailers cost 256 requests", async () => {
    const { pos, service, silent, outcomes } = forged(3000);
    const refused = await Promise.all(outcomes.slice(256));
    expect(service.seen).toHaveLength(256);
    for (const error of refused)
      expect(error).toMatchObject({
        code: "rate_limited",
        status: 503,
        retryAt: T0 + 1000,
        headers: { "Retry-After": "1" },
      });
    silent.reject(new TypeError("fetch failed"));
    await Promise.all(outcomes);
    service.always(undefined);
    expect((await pos.exchange("shop", "code")).access.value).toBe("access-shop-1");
  });

  test("that wait for a lock are bounded, too", async () => {
    const held = later<void>();
    let waiting = 0;
    const { pos } = start({
      lock: async (_key, work) => {
        waiting += 1;
        await held.promise;
        return work();
      },
    });
    const outcomes = Array.from({ length: 3000 }, (_, at) =>
      failureOf(pos.exchange(`made-up-${at}`, "code")),
    );
    const refused = await Promise.all(outcomes.slice(256));
    expect(waiting).toBe(256);
    for (const error of refused) expect(error).toMatchObject({ code: "rate_limited" });
    held.resolve();
    await Promise.all(outcomes.slice(0, 256).map((one) => one.catch(() => {})));
  });

  test("that wait for a lock longer than a login may take keep their places, and give up after a minute", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const held = later<void>();
    const { pos, service } = start({ lock: (_key, work) => held.promise.then(work) });
    const first = Array.from({ length: 256 }, (_, at) => failureOf(pos.exchange(`made-up-${at}`, "code")));
    await new Promise(setImmediate);
    vi.advanceTimersByTime(30_000);
    expect(await failureOf(pos.exchange("shop", "code"))).toMatchObject({ code: "rate_limited" });
    vi.advanceTimersByTime(31_000);
    const next = pos.exchange("shop", "code");
    held.resolve();
    for (const error of await Promise.all(first)) expect(error).toMatchObject({ code: "rate_limited" });
    expect((await next).access.value).toBe("access-shop-1");
    expect(service.seen).toHaveLength(1);
  });

  test("do not stand before a renewal", async () => {
    const { pos, service, time, value, login } = start();
    await login();
    const silent = later<Response>();
    service.always(({ form }, regular) => (isLogin(form) ? silent.promise : regular()));
    const waiting = Array.from({ length: 300 }, (_, at) => failureOf(pos.exchange(`made-up-${at}`, "code")));
    time.now += 2 * 86_400_000;
    expect(await value()).toBe("access-shop-2");
    silent.reject(new TypeError("fetch failed"));
    await Promise.all(waiting);
  });
});
