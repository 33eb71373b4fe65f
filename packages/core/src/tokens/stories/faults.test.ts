import { afterEach, describe, expect, test, vi } from "vitest";
import { DAY_MS, failureOf, json, type Script, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryStore } from "../../store/memory-store.js";
import {
  ClientRefusedError,
  RateLimitedError,
  TokenEndpointError,
  TokenResponseError,
} from "../../vocabulary/errors.js";

afterEach(() => {
  vi.useRealTimers();
});

const HOUR_MS = 3_600_000;
const down: Script = () => new Response("down", { status: 500 });
const tooMany =
  (resetAt?: number | string): Script =>
  () =>
    new Response("slow down", {
      status: 429,
      headers:
        resetAt === undefined ? {} : { "X-RateLimit-Reset": String(resetAt), "X-RateLimit-Remaining": "0" },
    });

const failures: Array<{ name: string; script: Script; error: new (...rest: never[]) => Error }> = [
  { name: "500", script: down, error: TokenEndpointError },
  { name: "503 with JSON", script: () => json({ error: "invalid_grant" }, 503), error: TokenEndpointError },
  { name: "429", script: tooMany((T0 + DAY_MS) / 1000 + 30), error: RateLimitedError },
  {
    name: "403 access_denied",
    script: () => json({ error: "access_denied" }, 403),
    error: TokenEndpointError,
  },
  { name: "404", script: () => json({}, 404), error: TokenEndpointError },
  {
    name: "400 invalid_request",
    script: () => json({ error: "invalid_request" }, 400),
    error: TokenEndpointError,
  },
  {
    name: "400 invalid_scope",
    script: () => json({ error: "invalid_scope" }, 400),
    error: TokenEndpointError,
  },
  {
    name: "400 unsupported_grant_type",
    script: () => json({ error: "unsupported_grant_type" }, 400),
    error: TokenEndpointError,
  },
  {
    name: "401 invalid_client",
    script: () => json({ error: "invalid_client" }, 401),
    error: ClientRefusedError,
  },
  {
    name: "400 unauthorized_client",
    script: () => json({ error: "unauthorized_client" }, 400),
    error: ClientRefusedError,
  },
  {
    name: "a redirect",
    script: () => new Response(null, { status: 307, headers: { location: "https://evil.example/" } }),
    error: TokenEndpointError,
  },
  {
    name: "the network",
    script: () => Promise.reject(new TypeError("fetch failed", { cause: new Error("ENOTFOUND") })),
    error: TokenEndpointError,
  },
  { name: "HTML with status 200", script: () => new Response("<html>"), error: TokenResponseError },
  {
    name: "HTML with status 502",
    script: () => new Response("<html>", { status: 502 }),
    error: TokenEndpointError,
  },
];

describe("a failing renewal", () => {
  for (const { name, script, error } of failures) {
    test(`fails nobody while the held token lives, and is observed: ${name}`, async () => {
      const { events, login, service, time, types, value } = start();
      await login();
      time.now = T0 + DAY_MS - 200_000;
      service.always(script);
      for (let count = 0; count < 5; count += 1) {
        expect(await value()).toBe("access-shop-1");
        await settled();
      }
      expect(service.spent()).toHaveLength(1);
      const told = name === "429" ? "rate_limited" : "renewal_failed";
      expect(types()).toEqual(["connected", told]);
      expect(events.at(-1)).toMatchObject({ domainPrefix: "shop", at: time.now });
      if (told === "renewal_failed")
        expect(events.at(-1)).toMatchObject({ servedHeldToken: true, error: expect.any(error) });
    });

    test(`after expiry is the error of everybody who waits, then the remembered one at once: ${name}`, async () => {
      const { login, service, shop, time, value } = start();
      await login();
      time.now = T0 + DAY_MS;
      service.always(script);
      const waiting = await Promise.all(Array.from({ length: 50 }, () => failureOf(shop.token())));
      for (const each of waiting) expect(each).toBeInstanceOf(error);
      time.now += 700; // the pause is one second, with jitter of a fifth
      expect(await failureOf(value())).toBeInstanceOf(error);
      expect(service.spent()).toHaveLength(1);
    });
  }

  test("an endpoint that never answers ends with the timeout, and the held token is served meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { events, login, service, time, value } = start({ timeoutMs: 5000 });
    await login();
    time.now = T0 + DAY_MS - 1000;
    service.always(() => new Promise(() => {}));
    expect(await value()).toBe("access-shop-1");
    await vi.advanceTimersByTimeAsync(4999);
    expect(events.map(({ type }) => type)).toEqual(["connected"]);
    await vi.advanceTimersByTimeAsync(1);
    await settled();
    expect(events.at(-1)).toMatchObject({ type: "renewal_failed", servedHeldToken: true });
    expect(await value()).toBe("access-shop-1");
    time.now += 2000;
    const waiting = failureOf(value());
    await settled();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await waiting).toBeInstanceOf(TokenEndpointError);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a body that never ends falls under the same timeout", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { login, service, time, value } = start({ timeoutMs: 5000 });
    await login();
    time.now = T0 + DAY_MS;
    service.always(
      () => new Response(new ReadableStream({ start: (to) => to.enqueue(new Uint8Array([123])) })),
    );
    const waiting = failureOf(value());
    await settled();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await waiting).toBeInstanceOf(TokenEndpointError);
  });

  test("pauses 1 s, doubling to 60 s, each at most a fifth shorter; a success starts over", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.always(down);
    for (const pauseMs of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]) {
      const before = service.spent().length;
      await failureOf(value());
      expect(service.spent()).toHaveLength(before + 1);
      time.now += pauseMs * 0.8 - 1;
      await failureOf(value());
      expect(service.spent()).toHaveLength(before + 1);
      time.now += pauseMs * 0.2 + 1;
    }
    service.always(undefined);
    expect(await value()).toBe("access-shop-2");
    time.now += DAY_MS;
    service.next(down);
    await failureOf(value());
    time.now += 1000;
    expect(await value()).toBe("access-shop-3");
  });

  test("goes on doubling its pause where the store fails in between", async () => {
    const store = memoryStore();
    let isDown = false;
    const load: typeof store.load = (prefix) =>
      isDown ? Promise.reject(new Error("connection refused")) : store.load(prefix);
    const { login, service, time, value } = start({ store: { ...store, load } });
    await login();
    time.now = T0 + DAY_MS;
    service.always(down);
    for (const pauseMs of [1000, 2000, 4000, 8000]) {
      await failureOf(value());
      time.now += pauseMs;
    }
    await failureOf(value()); // the fifth: 16 s
    time.now += 12_000;
    await failureOf(value()); // held back; looks at the store
    time.now += 4000;
    isDown = true;
    await failureOf(value());
    isDown = false;
    time.now += 1000;
    await failureOf(value()); // the sixth: 32 s
    expect(service.spent()).toHaveLength(6);
    time.now += 25_000;
    await failureOf(value());
    expect(service.spent()).toHaveLength(6);
  });

  test("before expiry holds back callers after expiry, too", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS - 1;
    service.next(down);
    expect(await value()).toBe("access-shop-1");
    await settled();
    time.now += 1;
    expect(await failureOf(value())).toBeInstanceOf(TokenEndpointError);
    expect(service.spent()).toHaveLength(1);
    time.now += 1000;
    expect(await value()).toBe("access-shop-2");
  });

  test("leaves the stored set as it is", async () => {
    const { login, pos, service, time, value } = start();
    await login();
    for (const { script } of failures) {
      time.now += 2 * DAY_MS;
      service.next(script);
      await failureOf(value());
    }
    time.now += DAY_MS;
    expect((await pos.tokens("shop").token()).value).toBe("access-shop-2");
    expect(service.spent().every((token) => token === "refresh-shop-1")).toBe(true);
  });
});

describe("a 503 with Retry-After", () => {
  test.each([
    { after: "600", untilMs: 600_000 },
    { after: new Date(T0 + DAY_MS + 90_000).toUTCString(), untilMs: 90_999 },
    { after: "86400", untilMs: HOUR_MS },
  ])("holds back at least so long, an hour at most: $after", async ({ after, untilMs }) => {
    const { login, service, time, value, types } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next(() => json({}, 503, { "retry-after": after }));
    expect(await failureOf(value())).toMatchObject({ code: "token_endpoint_failed", endpointStatus: 503 });
    time.now += untilMs - 1;
    expect(await failureOf(value())).toBeInstanceOf(TokenEndpointError);
    expect(service.spent()).toHaveLength(1);
    time.now += 1;
    expect(await value()).toBe("access-shop-2");
    expect(types()).toEqual(["connected", "renewal_failed", "renewed"]);
  });

  test("of a second holds back as long as any other failure", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    for (let count = 0; count < 5; count += 1) {
      service.next(() => json({}, 503, { "retry-after": "1" }));
      await failureOf(value());
      time.now += 60_000;
    }
    time.now -= 50_000;
    await failureOf(value());
    expect(service.spent()).toHaveLength(5);
  });
});

describe("429", () => {
  const seconds = (T0 + DAY_MS) / 1000;
  const rows: Array<{ name: string; reset: number | string | undefined; untilMs: number }> = [
    { name: "a reset in 90 s", reset: seconds + 90, untilMs: 90_000 },
    { name: "no reset", reset: undefined, untilMs: 60_000 },
    { name: "a reset in the past", reset: seconds - 5, untilMs: 60_000 },
    { name: "a reset right now", reset: seconds, untilMs: 60_000 },
    { name: "no number", reset: "soon", untilMs: 60_000 },
    { name: "a negative number", reset: -1, untilMs: 60_000 },
    { name: "an empty header", reset: "", untilMs: 60_000 },
    { name: "a reset in 59 minutes", reset: seconds + 3540, untilMs: 3_540_000 },
  ];
  for (const { name, reset, untilMs } of rows) {
    test(`${name}: no request for ${untilMs / 1000} s, then one`, async () => {
      const { login, service, time, value } = start();
      await login();
      time.now = T0 + DAY_MS;
      service.next(tooMany(reset));
      await failureOf(value());
      const retryAt = time.now + untilMs;
      time.now = retryAt - 1;
      const error = await failureOf(value());
      expect(error).toBeInstanceOf(RateLimitedError);
      expect(error).toMatchObject({ status: 503, retryAt, headers: { "Retry-After": "1" } });
      expect(service.spent()).toHaveLength(1);
      time.now = retryAt;
      expect(await value()).toBe("access-shop-2");
    });
  }

  test.each([
    { name: "600", after: "600", untilMs: 600_000 },
    { name: "2", after: "2", untilMs: 2000 },
    { name: "0", after: "0", untilMs: 1000 },
    { name: "a date", after: new Date(T0 + DAY_MS + 90_000).toUTCString(), untilMs: 90_999 },
    { name: "a day", after: "86400", untilMs: HOUR_MS },
    { name: "a word", after: "soon", untilMs: 60_000 },
    { name: "a date in the past", after: new Date(T0).toUTCString(), untilMs: 60_000 },
    { name: "2, beside a reset in 90 s", after: "2", reset: seconds + 90, untilMs: 90_000 },
    { name: "2, beside a reset in the past", after: "2", reset: seconds - 5, untilMs: 2000 },
    { name: "2, beside a reset in a year", after: "2", reset: seconds + 365 * 86_400, untilMs: 2000 },
  ])("without a usable reset waits as Retry-After says ($name)", async ({ after, reset, untilMs }) => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    const headers = { "retry-after": after, ...(reset && { "x-ratelimit-reset": String(reset) }) };
    service.next(() => json({}, 429, headers));
    expect(await failureOf(value())).toMatchObject({ code: "rate_limited", retryAt: T0 + DAY_MS + untilMs });
    time.now += untilMs - 1;
    await failureOf(value());
    expect(service.spent()).toHaveLength(1);
    time.now += 1;
    expect(await value()).toBe("access-shop-2");
  });

  const absurd = [
    { name: "milliseconds", reset: T0 + DAY_MS + 30_000 },
    { name: "a year ahead", reset: seconds + 365 * 86_400 },
    { name: "more digits than a number holds", reset: "9".repeat(40) },
  ];
  for (const { name, reset } of absurd) {
    test(`an absurd reset (${name}) holds back for a minute to an hour, never longer`, async () => {
      const { login, service, time, value } = start();
      await login();
      time.now = T0 + DAY_MS;
      service.next(tooMany(reset));
      await failureOf(value());
      time.now += 59_999;
      await failureOf(value());
      expect(service.spent()).toHaveLength(1);
      time.now += 3_540_001;
      expect(await value()).toBe("access-shop-2");
    });
  }

  test("is no other retailer's matter, and is observed", async () => {
    const { events, login, pos, service, time, value } = start();
    await login("shop");
    await login("other");
    time.now = T0 + DAY_MS;
    service.next(tooMany(seconds + 30));
    await failureOf(value());
    expect((await pos.tokens("other").token()).value).toBe("access-other-2");
    expect(events.filter(({ type }) => type === "rate_limited")).toMatchObject([
      {
        domainPrefix: "shop",
        retryAt: time.now + 30_000,
        rateLimit: { remaining: 0, resetAt: time.now + 30_000 },
      },
    ]);
  });

  test("to a login stands in the way of renewals of that retailer, and the other way round", async () => {
    const { login, pos, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next(tooMany(seconds + 30));
    expect(await failureOf(pos.exchange("shop", "code"))).toBeInstanceOf(RateLimitedError);
    expect(await failureOf(value())).toBeInstanceOf(RateLimitedError);
    expect(service.spent()).toEqual([]);
    time.now += 30_000;
    service.next(tooMany(seconds + 90));
    await failureOf(value());
    expect(await failureOf(pos.exchange("shop", "code"))).toBeInstanceOf(RateLimitedError);
    expect(service.seen.filter(({ form }) => form.has("code"))).toHaveLength(2);
  });

  test("a login is not stopped by other failures, and ends their pause", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next(down);
    await failureOf(value());
    await login();
    expect(await value()).toBe("access-shop-2");
  });
});

describe("Remaining: 0 on a success", () => {
  const emptied: Script = (_, regular) => {
    const { body, status } = regular();
    const reset = (T0 + DAY_MS) / 1000 + 1000;
    return new Response(body, {
      status,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${reset}` },
    });
  };

  test("holds back early renewals until the reset, but not callers without a live token", async () => {
    const { login, service, time, value } = start({ renewEarlyMs: DAY_MS });
    await login();
    time.now = T0 + DAY_MS;
    service.next((seen, regular) => {
      regular();
      return emptied(seen, () =>
        json({ access_token: "short", expires_in: 600, refresh_token: "refresh-shop-2" }),
      );
    });
    expect(await value()).toBe("short");
    time.now += 590_000;
    expect(await value()).toBe("short");
    await settled();
    expect(service.spent()).toHaveLength(1);
    time.now += 10_000;
    expect(await value()).toBe("access-shop-3");
  });

  test("is over at the reset", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next((_, regular) => emptied(_, regular));
    await value();
    time.now += DAY_MS - 1;
    expect(await value()).toBe("access-shop-2");
    await settled();
    expect(await value()).toBe("access-shop-3");
  });
});
