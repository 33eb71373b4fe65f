import { describe, expect, test } from "vitest";
import { parseRateLimit, retryAtOf } from "./rate-limit.js";

const T0 = Date.UTC(2030, 0, 1);
const RESET = T0 / 1000 + 30;
const everything = { limit: 60, remaining: 0, resetAt: RESET * 1000 };

describe("the rate limit is read from", () => {
  const rows: Array<{ name: string; headers: Parameters<typeof parseRateLimit>[0] }> = [
    {
      name: "Headers",
      headers: new Headers({
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": `${RESET}`,
      }),
    },
    {
      name: "the headers of a node:http answer",
      headers: { "x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${RESET}` },
    },
    {
      name: "headers as the spec spells them",
      headers: { "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${RESET}` },
    },
    {
      name: "headers in capitals and in mixed case",
      headers: { "X-RATELIMIT-LIMIT": "60", "x-RateLimit-REMAINING": "0", "X-Ratelimit-Reset": `${RESET}` },
    },
    {
      name: "arrays, of which the first counts",
      headers: {
        "X-RateLimit-Limit": ["60"],
        "X-RateLimit-Remaining": ["0", "5"],
        "X-RateLimit-Reset": [`${RESET}`],
      },
    },
    {
      name: "numbers with white space around them",
      headers: {
        "X-RateLimit-Limit": " 60",
        "X-RateLimit-Remaining": "0 ",
        "X-RateLimit-Reset": `\t${RESET}`,
      },
    },
    {
      name: "an object with other headers, some of them undefined",
      headers: {
        date: undefined,
        "set-cookie": ["a", "b"],
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": `${RESET}`,
        "X-RateLimit-Policy": "7",
      },
    },
    {
      name: "the Headers of another fetch (undici's, node-fetch's), which are no instance of the global class",
      headers: foreignHeaders({
        "x-ratelimit-limit": "60",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": `${RESET}`,
      }),
    },
  ];

  for (const { name, headers } of rows) {
    test(name, () => {
      expect(parseRateLimit(headers)).toEqual(everything);
    });
  }
});

describe("of the three headers", () => {
  for (const { name, headers, rateLimit } of [
    { name: "only the limit", headers: { "X-RateLimit-Limit": "5" }, rateLimit: { limit: 5 } },
    { name: "only what remains", headers: { "X-RateLimit-Remaining": "5" }, rateLimit: { remaining: 5 } },
    {
      name: "only the reset",
      headers: { "X-RateLimit-Reset": `${RESET}` },
      rateLimit: { resetAt: RESET * 1000 },
    },
    {
      name: "a reset long past, which is still a fact",
      headers: { "X-RateLimit-Reset": "0" },
      rateLimit: { resetAt: 0 },
    },
    {
      name: "a usable one beside two unusable ones",
      headers: { "X-RateLimit-Limit": "many", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon" },
      rateLimit: { remaining: 0 },
    },
  ]) {
    test(`those that are usable are returned: ${name}`, () => {
      expect(parseRateLimit(headers)).toEqual(rateLimit);
    });
  }

  const unusable: Array<{ name: string; value: string | string[] | undefined }> = [
    { name: "absent", value: undefined },
    { name: "empty", value: "" },
    { name: "a blank", value: " " },
    { name: "a word", value: "unlimited" },
    { name: "negative", value: "-1" },
    { name: "with a plus", value: "+1" },
    { name: "a decimal", value: "1.5" },
    { name: "a power of ten", value: "1e3" },
    { name: "hexadecimal", value: "0x10" },
    { name: "with a unit", value: "5s" },
    { name: "two values in one", value: "60, 60" },
    { name: "infinity", value: "Infinity" },
    { name: "a number no counter reaches", value: "9".repeat(30) },
    { name: "an empty array", value: [] },
    { name: "full-width digits", value: "６０" },
    { name: "a date", value: "Tue, 01 Jan 2030 00:00:00 GMT" },
  ];
  for (const { name, value } of unusable) {
    test(`none is usable that is ${name}`, () => {
      const headers = {
        "X-RateLimit-Limit": value,
        "X-RateLimit-Remaining": value,
        "X-RateLimit-Reset": value,
      };
      expect(parseRateLimit(headers)).toBeUndefined();
    });
  }

  test("a reset in milliseconds is not usable", () => {
    expect(parseRateLimit({ "X-RateLimit-Reset": `${T0 + 30_000}` })).toBeUndefined();
    expect(parseRateLimit({ "X-RateLimit-Reset": `${T0 + 30_000}`, "X-RateLimit-Limit": "60" })).toEqual({
      limit: 60,
    });
  });

  test("none there is undefined", () => {
    expect(parseRateLimit({})).toBeUndefined();
    expect(parseRateLimit(new Headers())).toBeUndefined();
    expect(parseRateLimit({ "retry-after": "5", "ratelimit-limit": "5" })).toBeUndefined();
  });
});

describe("after a 429 the next request may go out", () => {
  for (const { name, resetAt, retryAt } of [
    { name: "at the reset", resetAt: T0 + 30_000, retryAt: T0 + 30_000 },
    { name: "at a reset one millisecond ahead", resetAt: T0 + 1, retryAt: T0 + 1 },
    { name: "at a reset just under an hour ahead", resetAt: T0 + 3_599_000, retryAt: T0 + 3_599_000 },
    { name: "in an hour, where the reset is a year ahead", resetAt: T0 + 3.2e10, retryAt: T0 + 3_600_000 },
    { name: "in a minute, where the reset is now", resetAt: T0, retryAt: T0 + 60_000 },
    { name: "in a minute, where the reset is past", resetAt: T0 - 5_000, retryAt: T0 + 60_000 },
    { name: "in a minute, where the reset is the epoch", resetAt: 0, retryAt: T0 + 60_000 },
    { name: "in a minute, where the reset is not known", resetAt: undefined, retryAt: T0 + 60_000 },
  ]) {
    test(name, () => {
      expect(retryAtOf(resetAt === undefined ? { limit: 5 } : { resetAt }, T0)).toBe(retryAt);
    });
  }

  test("in a minute, where nothing is known", () => {
    expect(retryAtOf(undefined, T0)).toBe(T0 + 60_000);
  });
});

/** `get` and iteration as the standard has them, in a class of its own. */
function foreignHeaders(values: Record<string, string>): Headers {
  const map = new Map(Object.entries(values));
  const foreign = {
    get: (name: string) => map.get(name.toLowerCase()) ?? null,
    has: (name: string) => map.has(name.toLowerCase()),
    [Symbol.iterator]: () => map[Symbol.iterator](),
  };
  return Object.create(foreign) as Headers;
}
