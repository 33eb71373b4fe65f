import {
  InvalidDomainPrefixError,
  RateLimitedError,
  type RetailPosErrorCode,
  StoredTokensError,
} from "@retail-pos/core";
import type { LoginFailureCode } from "@retail-pos/login";
import { describe, expect, test } from "vitest";
import { type Failure, isLoggedInAlready, problemOf } from "../examples/express-login/src/problems.js";

// Whatever may go wrong has words on the examples' pages, and a button that helps. A code that is new in the packages
// does not compile here until it is in one of the lists.

const NOW = Date.UTC(2026, 0, 5, 9, 30, 20);
const store = "harbour-coffee";

const OF_LOGINS: Record<LoginFailureCode, true> = {
  access_denied: true,
  state_missing: true,
  state_unknown: true,
  state_expired: true,
  invalid_domain_prefix: true,
  invalid_callback: true,
  code_refused: true,
  retailer_not_accepted: true,
  authorization_failed: true,
  login_refused: true,
};
const OF_CORE: Record<Exclude<RetailPosErrorCode, LoginFailureCode>, true> = {
  not_connected: true,
  reconnect_required: true,
  rate_limited: true,
  token_endpoint_failed: true,
  bad_token_response: true,
  client_refused: true,
  store_failed: true,
  bad_stored_tokens: true,
};
const codes = Object.keys({ ...OF_LOGINS, ...OF_CORE });
const unknown = problemOf({ code: "error" });

describe.each(codes)("%s", (code) => {
  test("has a heading of its own, in words that need no developer", () => {
    const { heading, advice, eyebrow, label } = problemOf({ code, isLogin: true });
    expect(heading).not.toBe(unknown.heading);
    expect([heading, advice, eyebrow, label].join(" ")).not.toMatch(
      /_|token|callback|state|code|cookie\b|40\d|50\d/,
    );
  });

  test("at a login: a new one helps, but not where the application itself is refused", () => {
    const href = code === "client_refused" ? "/" : "/auth/retail-pos";
    expect(problemOf({ code, isLogin: true })).toMatchObject({ href, eyebrow: "Not logged in" });
  });
});

test.each(Object.keys(OF_LOGINS))("%s: somebody who is logged in stays so, and finds back", (code) => {
  const problem = problemOf({ code, isLogin: true, store });
  expect(problem).toMatchObject({ href: "/products", advice: expect.stringContaining(`with ${store}.`) });
});

test("a login that is limited is tried again, also by somebody who is logged in: their store may need it", () => {
  const problem = problemOf({ code: "rate_limited", isLogin: true, store, error: limited(600) });
  expect(problem).toMatchObject({ href: "/auth/retail-pos", eyebrow: "Please wait", wait: { seconds: 600 } });
});

test.each(["not_connected", "reconnect_required", "bad_stored_tokens"])(
  "%s: only a login helps, also somebody who is logged in",
  (code) => {
    expect(problemOf({ code, store })).toMatchObject({ href: "/auth/retail-pos" });
  },
);

describe("a record that another application keeps", () => {
  const theirs = () => problemOf({ code: "bad_stored_tokens", isLogin: true, error: of(true) });

  test("is ours to fix: no button leads to a login, which would change nothing", () => {
    expect(theirs()).toMatchObject({ heading: "This is ours to fix", href: "/" });
    expect(theirs().advice).not.toContain("Log in");
    const page = problemOf({ code: "bad_stored_tokens", store, error: of(true) });
    expect(page).toMatchObject({ heading: "This is ours to fix", href: "/products" });
  });

  test("is told from one that cannot be read, which a login replaces", () => {
    const page = problemOf({ code: "bad_stored_tokens", store, error: of(false) });
    expect(page).toMatchObject({ href: "/auth/retail-pos", advice: expect.stringContaining("Log in") });
  });

  function of(another: boolean): StoredTokensError {
    const error = new StoredTokensError("a test says so");
    return Object.defineProperty(error, "isOfAnotherApplication", { value: another });
  }
});

test.each([
  ["a stranger", undefined, "/"],
  ["somebody who is logged in", store, "/products"],
])("a page that does not exist leads %s on", (_who, who, href) => {
  expect(problemOf({ code: "not_found", isLogin: true, store: who })).toMatchObject({ href });
});

describe("a limit", () => {
  const waitOf = (failure: Omit<Failure, "code">) => problemOf({ code: "rate_limited", ...failure }).wait;

  test("of more than a minute says until when, in whole minutes", () => {
    const until = { iso: "2026-01-05T09:41:00.000Z", words: "5 January 2026 at 09:41 UTC" };
    expect(waitOf({ isLogin: true, error: limited(600) })).toEqual({ seconds: 600, until });
    expect(waitOf({ store, error: limited(600) })).toEqual({ seconds: 600, until });
  });

  test("of seconds names no minute", () => {
    expect(waitOf({ isLogin: true, error: limited(3) })).toEqual({ seconds: 3 });
  });

  test("is core's alone", () => {
    expect(waitOf({ error: new InvalidDomainPrefixError() })).toBeUndefined();
    expect(waitOf({ error: { code: "rate_limited", headers: {} } })).toBeUndefined();
  });
});

describe("a login that counted before", () => {
  test.each([
    ["spent", "state_unknown", store, store, true],
    ["too old", "state_expired", store, store, true],
    ["of another store", "state_unknown", "second-chapter", store, false],
    ["of nobody who is logged in", "state_unknown", store, undefined, false],
    ["without a store", "state_missing", undefined, undefined, false],
    ["named twice", "state_unknown", [store, store], store, false],
    ["refused for another reason", "code_refused", store, store, false],
  ])("%s", (_case, code, domainPrefix, who, expected) => {
    expect(isLoggedInAlready(code, domainPrefix, who)).toBe(expected);
  });
});

function limited(seconds: number): RateLimitedError {
  return new RateLimitedError(NOW + seconds * 1000, NOW);
}
