import { describe, expect, test } from "vitest";
import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError, TokenEndpointError } from "../vocabulary/errors.js";
import { backOff } from "./renewal-back-off.js";

const T0 = Date.UTC(2030, 0, 1);
const shop = parseDomainPrefix("shop");
const other = parseDomainPrefix("other");

test("nothing is held back before something has failed", () => {
  const { held, isPaused, renewal } = start();
  expect(renewal(shop)).toBeUndefined();
  expect(held.limit(shop)).toBeUndefined();
  expect(isPaused(shop)).toBe(false);
});

describe("after a 429", () => {
  test("neither renewal nor login goes out until the reset", () => {
    const { held, isPaused, limited, renewal, time } = start();
    held.failed(shop, limited(T0 + 30_000));
    for (const now of [T0, T0 + 1, T0 + 29_999]) {
      time.now = now;
      expect(renewal(shop)).toBeInstanceOf(RateLimitedError);
      expect(held.limit(shop)).toBeInstanceOf(RateLimitedError);
      expect(isPaused(shop)).toBe(true);
    }
    time.now = T0 + 30_000;
    expect(renewal(shop)).toBeUndefined();
    expect(held.limit(shop)).toBeUndefined();
    expect(isPaused(shop)).toBe(false);
  });

  test("other retailers are unaffected", () => {
    const { held, isPaused, limited, renewal } = start();
    held.failed(shop, limited(T0 + 30_000));
    expect(renewal(other)).toBeUndefined();
    expect(held.limit(other)).toBeUndefined();
    expect(isPaused(other)).toBe(false);
  });

  test("a clock that is set back by a day does not hold the retailer for a day", () => {
    const { held, limited, renewal, time } = start();
    held.failed(shop, limited(T0 + 30_000));
    time.now = T0 - 86_400_000;
    expect(renewal(shop)).toBeUndefined();
  });

  test("another failure, of a request that was already under way, does not let requests out before the reset", () => {
    const { down, held, limited, renewal, time } = start();
    held.failed(shop, limited(T0 + 600_000));
    held.failed(shop, down);
    time.now = T0 + 120_000;
    expect(renewal(shop)).toBeInstanceOf(RateLimitedError);
    expect(held.limit(shop)).toBeInstanceOf(RateLimitedError);
  });

  test("neither does a success, of a request that was already under way", () => {
    const { held, limited, renewal, time } = start();
    held.failed(shop, limited(T0 + 600_000));
    held.succeeded(shop, { remaining: 3, resetAt: T0 + 600_000 });
    time.now = T0 + 599_999;
    expect(renewal(shop)).toBeInstanceOf(RateLimitedError);
    expect(held.limit(shop)).toBeInstanceOf(RateLimitedError);
  });

  test("a second one, once the first has run out, counts like the first", () => {
    const { held, limited, renewal, time } = start();
    held.failed(shop, limited(T0 + 600_000));
    time.now = T0 + 600_000;
    held.failed(shop, limited(T0 + 630_000));
    time.now = T0 + 629_999;
    expect(renewal(shop)).toMatchObject({ retryAt: T0 + 630_000 });
    time.now = T0 + 630_000;
    expect(renewal(shop)).toBeUndefined();
  });
});

describe("after other failures", () => {
  test("the pause is a second, doubling to a minute, and up to a fifth less so that not all come back as one", () => {
    const { down, held, renewal, time } = start();
    const longest = [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000);
    for (const pauseMs of longest) {
      const failedAt = time.now;
      held.failed(shop, down);
      time.now = failedAt + 0.8 * pauseMs - 1;
      expect(renewal(shop)).toBe(down);
      time.now = failedAt + pauseMs;
      expect(renewal(shop)).toBeUndefined();
    }
  });

  test("the pauses of many retailers differ", () => {
    const { down, held, renewal, time } = start();
    const retailers = Array.from({ length: 200 }, (_, index) => parseDomainPrefix(`shop-${index}`));
    for (const retailer of retailers) held.failed(retailer, down);
    time.now = T0 + 900;
    const waiting = retailers.filter((retailer) => renewal(retailer)).length;
    expect(waiting).toBeGreaterThan(0);
    expect(waiting).toBeLessThan(200);
  });

  test("of a hundred thousand retailers are remembered of the latest, and no more", () => {
    const { down, held, renewal } = start();
    const retailers = Array.from({ length: 100_000 }, (_, index) => parseDomainPrefix(`shop-${index}`));
    for (const retailer of retailers) held.failed(retailer, down);
    const waiting = retailers.map((retailer) => renewal(retailer) !== undefined);
    expect(waiting.slice(-10_000)).toEqual(Array(10_000).fill(true));
    expect(waiting.filter(Boolean).length).toBeLessThanOrEqual(20_000);
  });

  test("a person may log in all the same", () => {
    const { down, held } = start();
    held.failed(shop, down);
    expect(held.limit(shop)).toBeUndefined();
  });

  test("other retailers are unaffected", () => {
    const { down, held, isPaused, renewal } = start();
    held.failed(shop, down);
    expect(renewal(other)).toBeUndefined();
    expect(isPaused(other)).toBe(false);
  });

  test("a success ends the pause and the counting", () => {
    const { down, held, renewal, time } = start();
    for (let count = 0; count < 5; count += 1) held.failed(shop, down);
    held.succeeded(shop, undefined);
    expect(renewal(shop)).toBeUndefined();
    held.failed(shop, down);
    time.now += 1_000;
    expect(renewal(shop)).toBeUndefined();
  });

  test("a thousand failures in a row still mean a minute", () => {
    const { down, held, renewal, time } = start();
    for (let count = 0; count < 1_000; count += 1) held.failed(shop, down);
    expect(renewal(shop)).toBe(down);
    time.now = T0 + 60_000;
    expect(renewal(shop)).toBeUndefined();
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
      const { held, isPaused, renewal, time } = start();
      held.succeeded(shop, rateLimit);
      time.now = until - 1;
      expect(isPaused(shop)).toBe(true);
      expect(renewal(shop)).toBeUndefined();
      expect(held.limit(shop)).toBeUndefined();
      expect(isPaused(other)).toBe(false);
      time.now = until;
      expect(isPaused(shop)).toBe(false);
    });
  }

  for (const rateLimit of [undefined, {}, { remaining: 1, resetAt: T0 + 30_000 }, { limit: 0 }]) {
    test(`is not ${JSON.stringify(rateLimit)}`, () => {
      const { held, isPaused } = start();
      held.succeeded(shop, rateLimit);
      expect(isPaused(shop)).toBe(false);
    });
  }
});

describe("a pause, because the store or the lock failed,", () => {
  test("holds back early renewals for a second", () => {
    const { held, isPaused, renewal, time } = start();
    held.storeFailed(shop);
    expect(isPaused(shop)).toBe(true);
    expect(renewal(shop)).toBeUndefined();
    expect(held.limit(shop)).toBeUndefined();
    time.now += 1_000;
    expect(isPaused(shop)).toBe(false);
  });

  test("does not shorten a hold that stands", () => {
    const { held, limited, renewal, time } = start();
    held.failed(shop, limited(T0 + 30_000));
    held.storeFailed(shop);
    time.now = T0 + 29_999;
    expect(renewal(shop)).toBeInstanceOf(RateLimitedError);
  });

  test("does not begin the doubling anew", () => {
    const { down, held, renewal, time } = start();
    for (let count = 0; count < 7; count += 1) held.failed(shop, down);
    time.now += 60_000;
    held.storeFailed(shop);
    time.now += 1_000;
    held.failed(shop, down);
    time.now += 40_000;
    expect(renewal(shop)).toBe(down);
  });
});

test("thousands of retailers may be held back at once: none is forgotten before its time", () => {
  const { held, limited, renewal, time } = start();
  const retailers = Array.from({ length: 5_000 }, (_, index) => parseDomainPrefix(`shop-${index}`));
  for (const retailer of retailers) held.failed(retailer, limited(T0 + 30_000));
  time.now = T0 + 29_999;
  expect(retailers.filter((retailer) => renewal(retailer))).toHaveLength(5_000);
  time.now = T0 + 30_000;
  expect(retailers.filter((retailer) => renewal(retailer))).toHaveLength(0);
});

function start() {
  const time = { now: T0 };
  const held = backOff(() => time.now);
  const pause = (retailer: DomainPrefix) => held.pause(retailer);
  return {
    held,
    time,
    /** The error for a renewal that is wanted now. */
    renewal: (retailer: DomainPrefix) => pause(retailer)?.error,
    isPaused: (retailer: DomainPrefix) => pause(retailer) !== undefined,
    down: new TokenEndpointError("down"),
    limited: (retryAt: number) => new RateLimitedError(retryAt, time.now),
  };
}
