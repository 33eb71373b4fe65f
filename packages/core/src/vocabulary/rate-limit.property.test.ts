import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../../test/support/fuzz.js";
import { parseRateLimit, type RateLimit, retryAtOf } from "./rate-limit.js";

const NAMES = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] as const;
const HOUR_MS = 3_600_000;

const inAnyCase = fc
  .tuple(fc.constantFrom(...NAMES), fc.array(fc.boolean(), { minLength: 21, maxLength: 21 }))
  .map(([name, upper]) => [...name].map((sign, at) => (upper[at] ? sign.toUpperCase() : sign)).join(""));
const name = fc.oneof({ weight: 4, arbitrary: inAnyCase }, { weight: 1, arbitrary: fc.string() });
const number = fc.oneof(
  fc.nat().map(String),
  fc.double().map(String),
  fc.bigInt().map(String),
  fc.constantFrom("", " ", "0", "-1", "+1", "1e9", "0x10", "1_000", "1,000", "NaN", "Infinity", "007", " 7 "),
  fc.constantFrom(
    "9007199254740992",
    "99999999999999999999",
    "١٢",
    "１２",
    "1 2",
    "1, 2",
    "1893456000000",
    "null",
  ),
);
const value = fc.oneof(
  { weight: 4, arbitrary: number },
  { weight: 1, arbitrary: fc.array(number, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

describe("any headers", () => {
  test("give whole numbers or nothing", async () => {
    await holds(
      fc.property(fc.dictionary(name, value), (headers) => {
        expectSound(parseRateLimit(headers));
      }),
      5_000,
    );
  });

  test("may hold what is no text", async () => {
    const odd = fc.oneof(
      fc.double(),
      fc.bigInt(),
      fc.boolean(),
      fc.constant(null),
      fc.date(),
      fc.array(fc.nat()),
    );
    await holds(
      fc.property(fc.dictionary(name, odd), (headers) => {
        expectSound(parseRateLimit(headers as unknown as Record<string, string>));
      }),
      5_000,
    );
  });

  test("mean the same as an object and as Headers, in any letter case", async () => {
    await holds(
      fc.property(
        fc.uniqueArray(fc.tuple(inAnyCase, number), { selector: ([key]) => key.toLowerCase() }),
        (pairs) => {
          const visible = pairs.filter(([, text]) => /^[\x20-\x7e]*$/.test(text));
          expect(parseRateLimit(Object.fromEntries(visible))).toEqual(parseRateLimit(new Headers(visible)));
        },
      ),
      3_000,
    );
  });

  test("say exactly what a service wrote in them", async () => {
    const seconds = fc.integer({ min: 0, max: 4_000_000_000 });
    await holds(
      fc.property(fc.nat(), fc.nat(), seconds, (limit, remaining, reset) => {
        const written = {
          "X-RateLimit-Limit": limit,
          "X-RateLimit-Remaining": remaining,
          "X-RateLimit-Reset": reset,
        };
        const headers = Object.fromEntries(Object.entries(written).map(([key, text]) => [key, String(text)]));
        expect(parseRateLimit(headers)).toEqual({ limit, remaining, resetAt: reset * 1000 });
      }),
      2_000,
    );
  });

  test("never hold anybody back for no time, or for more than an hour", async () => {
    const now = fc.integer({ min: 0, max: 8_000_000_000_000 });
    await holds(
      fc.property(fc.dictionary(name, value), now, (headers, at) => {
        const retryAt = retryAtOf(parseRateLimit(headers), at);
        expect(retryAt).toBeGreaterThan(at);
        expect(retryAt).toBeLessThanOrEqual(at + HOUR_MS);
      }),
      5_000,
    );
  });
});

function expectSound(rateLimit: RateLimit | undefined): void {
  if (rateLimit === undefined) return;
  const entries = Object.entries(rateLimit);
  expect(entries.length).toBeGreaterThan(0);
  for (const [field, number] of entries) {
    expect(["limit", "remaining", "resetAt"]).toContain(field);
    expect(Number.isSafeInteger(number) && number >= 0).toBe(true);
  }
  expect(new Date(rateLimit.resetAt ?? 0).getTime()).not.toBeNaN();
}
