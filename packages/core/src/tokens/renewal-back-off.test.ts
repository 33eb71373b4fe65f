import { describe, expect, test } from "vitest";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError, type RetailPosError, TokenEndpointError } from "../vocabulary/errors.js";
import { type BackOff, backOff } from "./renewal-back-off.js";

const T0 = Date.UTC(2030, 0, 1);
const shop = parseDomainPrefix("shop");
const other = parseDomainPrefix("other");

test("nothing is held back before something has failed", () => {
  const { held } = start();
  expect(held.renewal(shop)).toBeUndefined();
  expect(held.limit(shop)).toBeUndefined();
  expect(held.early(shop)).toBe(false);
});

describe("after a 429", () => {
  test("neither renewal nor login goes out until the reset", () => {
    const { held, limited, time } = start();
    held.failed(shop, limited(T0 + 30_000));
    for (const now of [T0, T0 + 1, T0 + 29_999]) {
      time.now = now;
      expect(held.renewal(shop)).toBeInstanceOf(RateLimitedError);
      expect(held.limit(shop)).toBeInstanceOf(RateLimitedError);
      expect(held.early(shop)).toBe(true);
    }
    time.now = T0 + 30_000;
    expect(held.renewal(shop)).toBeUndefined();
    expect(held.limit(shop)).toBeUndefined();
    expect(held.early(shop)).toBe(false);
  });

  test("the remembered error is the same but for Retry-After, which counts from now", () => {
    const { held, time } = start();
    const rateLimit = { limit: 5, remaining: 0, resetAt: T0 + 30_000 };
    held.failed(shop, new RateLimitedError(T0 + 30_000, T0, rateLimit, { domainPrefix: shop }));
    time.now = T0 + 20_000;
    const facts = { retryAt: T0 + 30_000, rateLimit, domainPrefix: shop, headers: { "Retry-After": "10" } };
    expect(held.renewal(shop)).toMatchObject(facts);
    expect(held.limit(shop)).toMatchObject(facts);
  });

  test("other retailers are unaffected", () => {
    const { held, limited } = start();
    held.failed(shop, limited(T0 + 30_000));
    expect(held.renewal(other)).toBeUndefined();
    expect(held.limit(other)).toBeUndefined();
    expect(held.early(other)).toBe(false);
  });

  test("a clock that is set back by a day does not hold the retailer for a day", () => {
    const { held, limited, time } = start();
    held.failed(shop, limited(T0 + 30_000));
    time.now = T0 - 86_400_000;
    expect(held.renewal(shop)).toBeUndefined();
  });

  test("another failure, of a request that was already under way, does not let requests out before the reset", () => {
    const { down, held, limited, time } = start();
    held.failed(shop, limited(T0 + 600_000));
    held.failed(shop, down);
    time.now = T0 + 120_000;
    expect(held.renewal(shop)).toBeInstanceOf(RateLimitedError);
    expect(held.limit(shop)).toBeInstanceOf(RateLimitedError);
  });

  test("neither does a success, of a request that was already under way", () => {
    const { held, limited, time } = start();
    held.failed(shop, limited(T0 + 600_000));
    held.succeeded(shop, { remaining: 3, resetAt: T0 + 600_000 });
    time.now = T0 + 599_999;
    expect(held.renewal(shop)).toBeInstanceOf(RateLimitedError);
    expect(held.limit(shop)).toBeInstanceOf(RateLimitedError);
  });

  test("a second one, once the first has run out, counts like the first", () => {
    const { held, limited, time } = start();
    held.failed(shop, limited(T0 + 600_000));
    time.now = T0 + 600_000;
    held.failed(shop, limited(T0 + 630_000));
    time.now = T0 + 629_999;
    expect(held.renewal(shop)).toMatchObject({ retryAt: T0 + 630_000 });
    time.now = T0 + 630_000;
    expect(held.renewal(shop)).toBeUndefined();
  });
});

describe("after other failures", () => {
  test("the pause is a second, doubling to a minute, and up to a fifth less so that not all come back as one", () => {
    const { down, held, time } = start();
    const longest = [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000);
    for (const pauseMs of longest) {
      const failedAt = time.now;
      held.failed(shop, down);
      time.now = failedAt + 0.8 * pauseMs - 1;
      expect(held.renewal(shop)).toBe(down);
      time.now = failedAt + pauseMs;
      expect(held.renewal(shop)).toBeUndefined();
    }
  });

  test("the pauses of many retailers differ", () => {
    const { down, held, time } = start();
    const retailers = Array.from({ length: 200 }, (_, index) => parseDomainPrefix(`shop-${index}`));
    for (const retailer of retailers) held.failed(retailer, down);
    time.now = T0 + 900;
    const waiting = retailers.filter((retailer) => held.renewal(retailer)).length;
    expect(waiting).toBeGreaterThan(0);
    expect(waiting).toBeLessThan(200);
  });

  test("of a hundred thousand retailers are remembered of the latest, and no more", () => {
    const { down, held } = start();
    const retailers = Array.from({ length: 100_000 }, (_, index) => parseDomainPrefix(`shop-${index}`));
    for (const retailer of retailers) held.failed(retailer, down);
    const waiting = retailers.map((retailer) => held.renewal(retailer) !== undefined);
    expect(waiting.slice(-10_000)).toEqual(Array(10_000).fill(true));
    expect(waiting.filter(Boolean).length).toBeLessThanOrEqual(20_000);
  });

  test("a person may log in all the same", () => {
    const { down, held } = start();
    held.failed(shop, down);
    expect(held.limit(shop)).toBeUndefined();
  });

  test("other retailers are unaffected", () => {
    const { down, held } = start();
    held.failed(shop, down);
    expect(held.renewal(other)).toBeUndefined();
    expect(held.early(other)).toBe(false);
  });

  test("a success ends the pause and the counting", () => {
    const { down, held, time } = start();
    for (let count = 0; count < 5; count += 1) held.failed(shop, down);
    held.succeeded(shop, undefined);
    expect(held.renewal(shop)).toBeUndefined();
    held.failed(shop, down);
    time.now += 1_000;
    expect(held.renewal(shop)).toBeUndefined();
  });

  test("a thousand failures in a row still mean a minute", () => {
    const { down, held, time } = start();
    for (let count = 0; count < 1_000; count += 1) held.failed(shop, down);
    expect(held.renewal(shop)).toBe(down);
    time.now = T0 + 60_000;
    expect(held.renewal(shop)).toBeUndefined();
  });
});

describe("Remaining: 0 on a success", () => {
  const rows = [
    { name: "until the reset", rateLimit: { remaining: 0, resetAt: T0 + 30_000 }, until: T0 + 30_000 },
    { name: "for a minute, where the reset is not known", rateLimit: { remaining: 0 }, until: T0 + 60_000 },
    {
      name: "for a minute, where the reset is past",
      rateLimit: { remaining: 0, resetAt: 1 },
      until: T0 + 60_000,
    },
    { name: "for an hour at most", rateLimit: { remaining: 0, resetAt: T0 + 1e10 }, until: T0 + 3_600_000 },
  ];
  for (const { name, rateLimit, until } of rows) {
    test(`holds back early renewals ${name}, and nobody who has no live token`, () => {
      const { held, time } = start();
      held.succeeded(shop, rateLimit);
      time.now = until - 1;
      expect(held.early(shop)).toBe(true);
      expect(held.renewal(shop)).toBeUndefined();
      expect(held.limit(shop)).toBeUndefined();
      expect(held.early(other)).toBe(false);
      time.now = until;
      expect(held.early(shop)).toBe(false);
    });
  }

  for (const rateLimit of [undefined, {}, { remaining: 1, resetAt: T0 + 30_000 }, { limit: 0 }]) {
    test(`is not ${JSON.stringify(rateLimit)}`, () => {
      const { held } = start();
      held.succeeded(shop, rateLimit);
      expect(held.early(shop)).toBe(false);
    });
  }
});

describe("a pause, because the store or the lock failed,", () => {
  test("holds back early renewals for a second", () => {
    const { held, time } = start();
    held.pause(shop);
    expect(held.early(shop)).toBe(true);
    expect(held.renewal(shop)).toBeUndefined();
    expect(held.limit(shop)).toBeUndefined();
    time.now += 1_000;
    expect(held.early(shop)).toBe(false);
  });

  test("does not shorten a hold that stands", () => {
    const { held, limited, time } = start();
    held.failed(shop, limited(T0 + 30_000));
    held.pause(shop);
    time.now = T0 + 29_999;
    expect(held.renewal(shop)).toBeInstanceOf(RateLimitedError);
  });

  test("does not begin the doubling anew", () => {
    const { down, held, time } = start();
    for (let count = 0; count < 7; count += 1) held.failed(shop, down);
    time.now += 60_000;
    held.pause(shop);
    time.now += 1_000;
    held.failed(shop, down);
    time.now += 40_000;
    expect(held.renewal(shop)).toBe(down);
  });
});

test("thousands of retailers may be held back at once: none is forgotten before its time", () => {
  const { held, limited, time } = start();
  const retailers = Array.from({ length: 5_000 }, (_, index) => parseDomainPrefix(`shop-${index}`));
  for (const retailer of retailers) held.failed(retailer, limited(T0 + 30_000));
  time.now = T0 + 29_999;
  expect(retailers.filter((retailer) => held.renewal(retailer))).toHaveLength(5_000);
  time.now = T0 + 30_000;
  expect(retailers.filter((retailer) => held.renewal(retailer))).toHaveLength(0);
});

function start(): {
  held: BackOff;
  time: { now: number };
  down: RetailPosError;
  limited: (retryAt: number) => RateLimitedError;
} {
  const time = { now: T0 };
  return {
    held: backOff(() => time.now),
    time,
    down: new TokenEndpointError("down"),
    limited: (retryAt) => new RateLimitedError(retryAt, time.now),
  };
}
