import { describe, expect, test } from "vitest";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import {
  RateLimitedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  TokenEndpointError,
} from "../vocabulary/errors.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { decide, type Facts, heldBackBy } from "./decide.js";

const NOW = Date.UTC(2030, 0, 1);
const HOUR_MS = 3_600_000;
const shop = parseDomainPrefix("shop");

const young = set({});
const due = set({ access: { value: "a", expiresAt: NOW + 60_000 } });
const ended = set({ access: { value: "a", expiresAt: NOW } });
const endless = set({ access: { value: "a" } });
const refused = { refusedAt: NOW - 5 * HOUR_MS, limitedUntil: NOW + 1 };
const limited = { limitedUntil: NOW + 1 };
const early = { refusedEarlyAt: NOW - 1000 };
const down = new TokenEndpointError("down");
const rateLimit = new RateLimitedError(NOW + 20_000, NOW - 10_000, { remaining: 0 }, { domainPrefix: shop });

const cases: [what: string, set: TokenSet, facts: Partial<Facts>, decision: unknown][] = [
  ["a young token", young, {}, "serve"],
  ["a token without an end", endless, {}, "serve"],
  ["a token that ends soon", due, {}, "serve and renew"],
  ["a token that ends soon, beside a pause after a failure", due, { pause: { error: down } }, "serve"],
  ["a token that ends soon, with nothing left of the rate limit", due, { pause: {} }, "serve"],
  ["a token that ends soon, after a 429 in any process", { ...due, ...limited }, {}, "serve"],
  ["a token that ends soon, whose refresh token was refused", { ...due, ...refused }, {}, "serve"],
  [
    "a token that ends soon, and the next hourly try is due",
    { ...due, ...refused, limitedUntil: NOW },
    {},
    "serve and renew",
  ],
  ["a token that ends soon, refused early in any process", { ...due, ...early }, {}, "serve"],
  ["a token that ends soon, refused early here", due, { localNote: { set: { ...due, ...early } } }, "serve"],

  ["a token that has ended", ended, {}, "renew"],
  ["a rejected token", young, { isRejected: true }, "renew"],
  ["a rejected token without an end", endless, { isRejected: true }, "renew"],
  ["ended, with nothing left of the rate limit", ended, { pause: {} }, "renew"],
  ["ended, and refused early before", { ...ended, ...early }, {}, "renew"],
  ["rejected, and refused early before", { ...due, ...early }, { isRejected: true }, "renew"],
  ["ended, and the reset is over", { ...ended, limitedUntil: NOW }, {}, "renew"],
  [
    "ended, limited by a clock that was hours ahead",
    { ...ended, limitedUntil: NOW + 2 * HOUR_MS },
    {},
    "renew",
  ],
  ["ended, and the next hourly try is due", { ...ended, ...refused, limitedUntil: NOW }, {}, "renew"],
  [
    "ended, refused an hour ago, in a store that keeps no limit",
    { ...ended, refusedAt: NOW - HOUR_MS },
    {},
    "renew",
  ],

  ["ended, beside a pause after a failure", ended, { pause: { error: down } }, down],
  ["ended, after a 429 in any process", { ...ended, ...limited }, {}, RateLimitedError],
  ["ended, refused, before the next hourly try", { ...ended, ...refused }, {}, ReconnectRequiredError],
  [
    "ended, refused less than an hour ago, in a store that keeps no limit",
    { ...ended, refusedAt: NOW - HOUR_MS + 1 },
    {},
    ReconnectRequiredError,
  ],
  [
    "ended, refused here, and the store does not know",
    ended,
    { localNote: { set: { ...ended, ...refused } } },
    ReconnectRequiredError,
  ],
  [
    "ended, refused, which counts more than a pause",
    { ...ended, ...refused },
    { pause: { error: down } },
    ReconnectRequiredError,
  ],
];

describe("a caller's token, decided:", () => {
  test.each(cases)("%s", (_, given, facts, decision) => {
    const decided = decide(given, factsOf(facts));
    if (typeof decision === "function") expect(decided).toBeInstanceOf(decision);
    else expect(decided).toBe(decision);
  });
});

describe("what holds a token request back", () => {
  test("after a 429 is the remembered error, but its Retry-After counts from now", () => {
    expect(heldBackBy(ended, factsOf({ pause: { error: rateLimit } }))).toMatchObject({
      retryAt: NOW + 20_000,
      rateLimit: { remaining: 0 },
      domainPrefix: "shop",
      headers: { "Retry-After": "20" },
    });
  });

  test("after a refusal here is the error with the service's words", () => {
    const refusal = new ReconnectRequiredError("token reuse");
    expect(heldBackBy(ended, factsOf({ localNote: { set: { ...ended, ...refused }, refusal } }))).toBe(
      refusal,
    );
    expect(heldBackBy({ ...ended, ...refused }, factsOf({}))).not.toBe(refusal);
  });

  test("is that an early renewal was refused, while the token lives", () => {
    const noted = { ...young, ...early };
    expect(heldBackBy(noted, factsOf({}))).toBeInstanceOf(RefusedEarlyError);
    expect(heldBackBy(noted, factsOf({ isRejected: true }))).toBeUndefined();
  });
});

function set(more: Partial<TokenSet>): TokenSet {
  return {
    domainPrefix: shop,
    access: { value: "a", expiresAt: NOW + 24 * HOUR_MS },
    refreshToken: "r",
    issuedAt: NOW - 24 * HOUR_MS,
    version: "1",
    ...more,
  };
}

function factsOf(more: Partial<Facts>): Facts {
  const facts = { now: NOW, renewEarlyMs: 300_000, isRejected: false };
  return { ...facts, localNote: undefined, pause: undefined, ...more };
}
