import { describe, expect, test, vi } from "vitest";
import {
  ClientRefusedError,
  InvalidDomainPrefixError,
  isRetailPosError,
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RetailPosError,
  StoredTokensError,
  TokenEndpointError,
  TokenResponseError,
} from "./errors.js";

const T0 = Date.UTC(2030, 0, 1);

const classes = [
  {
    name: "InvalidDomainPrefixError",
    error: new InvalidDomainPrefixError(),
    code: "invalid_domain_prefix",
    status: 400,
  },
  { name: "NotConnectedError", error: new NotConnectedError(), code: "not_connected", status: 401 },
  {
    name: "ReconnectRequiredError",
    error: new ReconnectRequiredError("refused"),
    code: "reconnect_required",
    status: 401,
  },
  { name: "RateLimitedError", error: new RateLimitedError(T0 + 1, T0), code: "rate_limited", status: 503 },
  {
    name: "TokenEndpointError",
    error: new TokenEndpointError("down"),
    code: "token_endpoint_failed",
    status: 502,
  },
  {
    name: "TokenResponseError",
    error: new TokenResponseError("odd"),
    code: "bad_token_response",
    status: 502,
  },
  {
    name: "ClientRefusedError",
    error: new ClientRefusedError("invalid_client"),
    code: "client_refused",
    status: 500,
  },
  { name: "StoredTokensError", error: new StoredTokensError("odd"), code: "bad_stored_tokens", status: 500 },
];

for (const { name, error, code, status } of classes) {
  describe(`${name}`, () => {
    test("says by code, status and name what it is", () => {
      expect(error).toBeInstanceOf(RetailPosError);
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({ code, status, statusCode: status, name });
      expect(error.stack).toMatch(new RegExp(`^${name}: `));
      expect(isRetailPosError(error)).toBe(true);
    });

    test("shows its message to the other end only below 500", () => {
      expect(error.expose).toBe(status < 500);
    });

    test("has no properties that are not known", () => {
      expect(Object.values(error)).not.toContain(undefined);
      expect("domainPrefix" in error).toBe(false);
      expect("cause" in error).toBe(false);
    });
  });
}

test("an error names its retailer and keeps its origin", () => {
  const cause = new Error("ECONNRESET");
  const details = { domainPrefix: "shop", cause };
  const errors = [
    new NotConnectedError(details),
    new ReconnectRequiredError("refused", details),
    new RateLimitedError(T0 + 1, T0, undefined, details),
    new TokenEndpointError("down", details),
    new TokenResponseError("odd", details),
    new ClientRefusedError("invalid_client", details),
    new StoredTokensError("odd", details),
  ];
  for (const error of errors) expect(error).toMatchObject(details);
  for (const error of [errors[0], errors[2], errors[6]]) expect(error?.message).toContain('"shop"');
});

describe("a RateLimitedError", () => {
  for (const { name, retryAt, seconds } of [
    { name: "half a minute", retryAt: T0 + 30_000, seconds: "30" },
    {
      name: "a part of a second, rounded up so that nobody comes too early",
      retryAt: T0 + 1_001,
      seconds: "2",
    },
    { name: "an hour", retryAt: T0 + 3_600_000, seconds: "3600" },
    { name: "an instant that has come: one second, never zero or less", retryAt: T0 - 5_000, seconds: "1" },
  ]) {
    test(`tells HTTP clients when to come back: ${name}`, () => {
      const error = new RateLimitedError(retryAt, T0);
      expect(error.headers).toEqual({ "Retry-After": seconds });
      expect(error.retryAt).toBe(retryAt);
    });
  }

  test("carries what the service said about its limit, if it said something", () => {
    const rateLimit = { limit: 5, remaining: 0, resetAt: T0 };
    expect(new RateLimitedError(T0, T0, rateLimit).rateLimit).toEqual(rateLimit);
    expect("rateLimit" in new RateLimitedError(T0, T0)).toBe(false);
  });
});

test("a TokenEndpointError carries the endpoint's answer as far as there was one", () => {
  const answer = { endpointStatus: 400, error: "invalid_request", errorDescription: "no code" };
  expect(new TokenEndpointError("failed", answer)).toMatchObject(answer);
  const silent = new TokenEndpointError("failed");
  for (const field of Object.keys(answer)) expect(field in silent).toBe(false);
});

describe("getResponse", () => {
  const rows = [
    {
      name: "a message for everybody",
      error: new NotConnectedError({ domainPrefix: "shop" }),
      text: /"shop"/,
    },
    { name: "500", error: new ClientRefusedError("invalid_client"), text: /^Internal Server Error$/ },
    { name: "502", error: new TokenEndpointError("10.0.0.1 is down"), text: /^Bad Gateway$/ },
    { name: "503", error: new RateLimitedError(T0 + 5_000, T0), text: /^Service Unavailable$/ },
    {
      name: "a refused code",
      error: new TokenEndpointError("start again", { status: 403 }),
      text: /^start again$/,
    },
    {
      name: "a status of somebody's own",
      error: new RetailPosError("not_connected", 599, "secret"),
      text: /^Error$/,
    },
  ];
  for (const { name, error, text } of rows) {
    test(`answers in plain text, and shows no message that is not for everybody: ${name}`, async () => {
      for (const response of [error.getResponse(), error.getResponse()]) {
        expect(response).toBeInstanceOf(Response);
        expect(response.status).toBe(error.status);
        expect(Object.fromEntries(response.headers)).toEqual({
          "content-type": "text/plain; charset=utf-8",
          "x-content-type-options": "nosniff",
          "cache-control": "no-store",
          ...(error.headers && { "retry-after": error.headers["Retry-After"] }),
        });
        expect(await response.text()).toMatch(text);
      }
    });
  }

  test("is of every class, with a body for its status", async () => {
    for (const { error, status } of classes) {
      expect(error.getResponse().status).toBe(status);
      expect(await error.getResponse().text()).not.toMatch(/^(Error)?$/);
    }
  });
});

describe("isRetailPosError", () => {
  test("holds across duplicate copies of the package", async () => {
    vi.resetModules();
    const copy = await import("./errors.js");
    const error = new copy.NotConnectedError();
    expect(error).not.toBeInstanceOf(RetailPosError);
    expect(isRetailPosError(error)).toBe(true);
    expect(copy.isRetailPosError(new NotConnectedError())).toBe(true);
  });

  for (const { name, value } of [
    { name: "an ordinary error", value: new Error("not_connected") },
    { name: "an object that looks like one", value: { code: "not_connected", status: 401, expose: true } },
    { name: "a text", value: "not_connected" },
    { name: "null", value: null },
    { name: "undefined", value: undefined },
    { name: "a function", value: () => new NotConnectedError() },
  ]) {
    test(`is false for ${name}`, () => {
      expect(isRetailPosError(value)).toBe(false);
    });
  }
});
