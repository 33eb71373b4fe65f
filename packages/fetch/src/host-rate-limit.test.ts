import { expect, test } from "vitest";
import { HostLimit } from "./host-rate-limit.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;
const NOW = 1_800_000_000_000;

/** What a host's limit is after one answer that came at {@link NOW}. */
function told(status: number, headers: Record<string, string>): HostLimit {
  const limit = new HostLimit();
  limit.learn(status, new Headers(headers), { now: NOW, sentAt: NOW });
  return limit;
}

const seconds = (at: number) => String(Math.floor(at / SECOND));

test.each([
  ["no reset", {}, MINUTE],
  ["a reset that is no number", { "X-RateLimit-Reset": "soon" }, MINUTE],
  ["a reset in milliseconds", { "X-RateLimit-Reset": String(NOW + 5 * MINUTE) }, MINUTE],
  ["a reset in the past", { "X-RateLimit-Reset": seconds(NOW - 5 * MINUTE) }, MINUTE],
  ["a reset in five minutes", { "X-RateLimit-Reset": seconds(NOW + 5 * MINUTE) }, 5 * MINUTE + 999],
  ["a reset in a year", { "X-RateLimit-Reset": seconds(NOW + YEAR) }, HOUR],
])("what remains counts until the reset, at most an hour, else a minute: %s", (_, headers, forMs) => {
  const limit = told(200, { "X-RateLimit-Limit": "40", "X-RateLimit-Remaining": "3", ...headers });
  expect(limit.room(NOW)).toBe(3);
  expect(limit.room(NOW + forMs - 1)).toBe(3);
  expect(limit.room(NOW + forMs)).toBe(40); // a new window
  expect(limit.knownUntil).toBe(NOW + forMs);
});

test.each([
  ["no limit", {}],
  ["a limit that is no number", { "X-RateLimit-Limit": "many" }],
])("with %s, a new window has no bound of its own", (_, headers) => {
  const limit = told(200, { "X-RateLimit-Remaining": "3", ...headers });
  expect([limit.room(NOW), limit.room(NOW + MINUTE)]).toEqual([3, Number.POSITIVE_INFINITY]);
});

test("one call at a time goes on, whatever the host says remains", () => {
  const limit = told(200, { "X-RateLimit-Limit": "0", "X-RateLimit-Remaining": "0" });
  expect([limit.room(NOW), limit.room(NOW + MINUTE)]).toEqual([1, 1]);
});

test.each([
  [
    "0 and a reset: at the reset",
    200,
    { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": seconds(NOW + MINUTE) },
    MINUTE + 999,
  ],
  ["0 and no reset: now", 200, { "X-RateLimit-Remaining": "0" }, 0],
  ["429 and nothing else: in a minute", 429, {}, MINUTE],
  [
    "429 and a reset in milliseconds: in a minute",
    429,
    { "X-RateLimit-Reset": String(NOW + 9 * SECOND) },
    MINUTE,
  ],
  ["429 and a reset in a year", 429, { "X-RateLimit-Reset": seconds(NOW + YEAR) }, YEAR + 999],
] as const)("whoever can wait asks again: %s", (_, status, headers, inMs) => {
  expect(Math.max(told(status, headers).turnAt(), NOW)).toBe(NOW + inMs);
});
