import { describe, expect, test } from "vitest";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { jsonObject, readTokenResponse, type TokenResponse } from "./token-response.js";

const T0 = Date.UTC(2030, 0, 1);
const DAY_MS = 86_400_000;
const DAY = 86_400;
const inADay = (T0 + DAY_MS) / 1000;

describe("the expiry (R5, R6) is", () => {
  const rows: Array<{ name: string; fields: Record<string, unknown>; expiresAt: number | undefined }> = [
    { name: "expires_in from the request", fields: { expires_in: DAY }, expiresAt: T0 + DAY_MS },
    { name: "expires_in as a text", fields: { expires_in: `${DAY}` }, expiresAt: T0 + DAY_MS },
    { name: "expires_in of a week", fields: { expires_in: 604_800 }, expiresAt: T0 + 7 * DAY_MS },
    { name: "one second", fields: { expires_in: 1 }, expiresAt: T0 + 1_000 },
    { name: "expires, an absolute instant", fields: { expires: inADay }, expiresAt: T0 + DAY_MS },
    { name: "expires as a text", fields: { expires: `${inADay}` }, expiresAt: T0 + DAY_MS },
    {
      name: "expires_in, where both are there",
      fields: { expires_in: DAY, expires: inADay + 99 },
      expiresAt: T0 + DAY_MS,
    },
    {
      name: "expires, where expires_in is null",
      fields: { expires_in: null, expires: inADay },
      expiresAt: T0 + DAY_MS,
    },
    {
      name: "expires, where expires_in is zero",
      fields: { expires_in: 0, expires: inADay },
      expiresAt: T0 + DAY_MS,
    },
    {
      name: "expires, where expires_in is negative",
      fields: { expires_in: -5, expires: inADay },
      expiresAt: T0 + DAY_MS,
    },
    {
      name: "expires, where expires_in is a word",
      fields: { expires_in: "soon", expires: inADay },
      expiresAt: T0 + DAY_MS,
    },
    {
      name: "expires, where expires_in is huge",
      fields: { expires_in: 1e300, expires: inADay },
      expiresAt: T0 + DAY_MS,
    },
    {
      name: "expires_in, where expires is past",
      fields: { expires_in: DAY, expires: 1 },
      expiresAt: T0 + DAY_MS,
    },
    { name: "unknown, where neither is there", fields: {}, expiresAt: undefined },
    {
      name: "unknown, where expires is in milliseconds",
      fields: { expires: T0 + DAY_MS },
      expiresAt: undefined,
    },
    {
      name: "unknown, where expires_in is an instant in milliseconds",
      fields: { expires_in: T0 },
      expiresAt: undefined,
    },
    { name: "unknown, where expires is past", fields: { expires: T0 / 1000 - 1 }, expiresAt: undefined },
    { name: "unknown, where expires is now", fields: { expires: T0 / 1000 }, expiresAt: undefined },
  ];
  for (const { name, fields, expiresAt } of rows) {
    test(name, () => {
      expect(read({ access_token: "access", ...fields }).access).toStrictEqual(
        expiresAt === undefined ? { value: "access" } : { value: "access", expiresAt },
      );
    });
  }

  const unusable = [
    0,
    -1,
    -DAY,
    "0",
    "-5",
    "",
    " ",
    "soon",
    "NaN",
    "Infinity",
    "0x10",
    "1 000",
    "1,5",
    "２４",
  ];
  const unusableToo = [null, true, false, [], [DAY], {}, { seconds: DAY }, 1e15, 1e300, "9".repeat(400)];
  for (const value of [...unusable, ...unusableToo]) {
    test(`unknown, where both are ${JSON.stringify(value).slice(0, 30)}`, () => {
      const { access } = read({ access_token: "access", expires_in: value, expires: value });
      expect(access).toStrictEqual({ value: "access" });
    });
  }
});

describe("R4: the refresh token of a response is", () => {
  test("a new one, where it is a text", () => {
    expect(read({ refresh_token: "refresh-2" }).refreshToken).toBe("refresh-2");
    expect(read({ refresh_token: " spaces stay " }).refreshToken).toBe(" spaces stay ");
  });

  for (const value of [undefined, null, "", 0, 5, true, false, [], ["refresh-2"], {}]) {
    test(`none, where it is ${JSON.stringify(value)}`, () => {
      expect("refreshToken" in read({ access_token: "access", refresh_token: value })).toBe(false);
    });
  }
});

describe("an access token is usable", () => {
  for (const value of ["a", "abc.def-ghi_jkl~+/=", "a:b;c,d", "x".repeat(10_000)]) {
    test(`as ${value.slice(0, 30)}`, () => {
      expect(read({ access_token: value }).access).toEqual({ value });
    });
  }

  const unusable = [
    "",
    " ",
    "a b",
    " a",
    "a ",
    "a\nb",
    "a\r\nX-Evil: 1",
    "a\tb",
    "a\0",
    "ключ",
    "a\u00a0",
    "\u007f",
  ];
  for (const value of [...unusable, undefined, null, 5, true, [], ["access"], {}]) {
    test(`but not as ${JSON.stringify(value)}`, () => {
      expect("access" in read({ access_token: value, refresh_token: "refresh-2" })).toBe(false);
    });
  }
});

describe("behaviour 11: domain_prefix", () => {
  for (const value of [undefined, null, "", "shop", "SHOP"]) {
    test(`${JSON.stringify(value)} names nobody else`, () => {
      expect("otherRetailer" in read({ access_token: "access", domain_prefix: value })).toBe(false);
    });
  }

  for (const value of [
    "other",
    "shop2",
    "shop.evil",
    "evil.example/",
    "shop ",
    " ",
    "shop\n",
    "ｓｈｏｐ",
    "%73hop",
  ]) {
    test(`${JSON.stringify(value)} names another retailer`, () => {
      expect(read({ access_token: "access", domain_prefix: value }).otherRetailer).toBe(true);
    });
  }
});

describe("what is odd without being deadly is listed:", () => {
  test("nothing in a response as the spec has it", () => {
    const fields = {
      access_token: "access",
      token_type: "Bearer",
      expires: inADay,
      expires_in: DAY,
      refresh_token: "refresh",
      domain_prefix: "shop",
      scope: "",
    };
    expect(read(fields)).toEqual({
      access: { value: "access", expiresAt: T0 + DAY_MS },
      refreshToken: "refresh",
      oddities: [],
    });
  });

  const rows: Array<{ name: string; fields: Record<string, unknown>; count: number }> = [
    { name: "token_type in lower case is not odd", fields: { token_type: "bearer" }, count: 0 },
    { name: "no token_type is not odd", fields: {}, count: 0 },
    { name: "a scope is not odd", fields: { scope: "read write" }, count: 0 },
    { name: "unknown fields are not odd", fields: { issued_by: "the service" }, count: 0 },
    { name: "an error of null is not odd", fields: { error: null }, count: 0 },
    { name: "another token_type", fields: { token_type: "mac" }, count: 1 },
    { name: "a token_type that is no text", fields: { token_type: ["Bearer"] }, count: 1 },
    { name: "an error beside the token", fields: { error: "invalid_grant" }, count: 1 },
    { name: "a domain_prefix that is a number", fields: { domain_prefix: 5 }, count: 1 },
    { name: "a domain_prefix that is an array", fields: { domain_prefix: ["shop"] }, count: 1 },
    { name: "all at once", fields: { domain_prefix: {}, token_type: 5, error: {} }, count: 3 },
  ];
  for (const { name, fields, count } of rows) {
    test(name, () => {
      const { access, oddities } = read({ access_token: "access", ...fields });
      expect(oddities).toHaveLength(count);
      expect(access?.value).toBe("access");
    });
  }
});

describe("a body", () => {
  const rows: Array<{ name: string; body: string }> = [
    { name: "empty", body: "" },
    { name: "HTML", body: "<!doctype html><title>Sign in</title>" },
    { name: "a form", body: "access_token=access&refresh_token=refresh" },
    { name: "null", body: "null" },
    { name: "a text", body: '"access"' },
    { name: "a number", body: "5" },
    { name: "an array", body: '[{"access_token":"access"}]' },
    { name: "cut off", body: '{"access_token":"access"' },
    { name: "with something behind it", body: '{"access_token":"access"}{}' },
    { name: "with single quotes", body: "{'access_token':'access'}" },
    { name: "nested too deep to parse", body: "[".repeat(500_000) },
  ];
  for (const { name, body } of rows) {
    test(`that is no JSON object is no token response: ${name}`, () => {
      expect(readTokenResponse(body, parseDomainPrefix("shop"), T0)).toBeUndefined();
    });
  }

  test("may begin with a byte-order mark and end with a newline", () => {
    const response = readTokenResponse('\uFEFF{"access_token":"access"}\n', parseDomainPrefix("shop"), T0);
    expect(response?.access?.value).toBe("access");
  });

  test("cannot inherit fields by __proto__ or constructor", () => {
    const inherited = '{"access_token":"evil","refresh_token":"evil","domain_prefix":"evil"}';
    for (const name of ["__proto__", "constructor", "prototype"]) {
      const response = readTokenResponse(`{"${name}":${inherited}}`, parseDomainPrefix("shop"), T0);
      expect(response).toEqual({ oddities: [] });
    }
    expect(jsonObject("{}")?.["access_token"]).toBeUndefined();
  });

  test("that is an empty object holds nothing", () => {
    expect(read({})).toEqual({ oddities: [] });
  });
});

function read(fields: Record<string, unknown>): TokenResponse {
  const response = readTokenResponse(JSON.stringify(fields), parseDomainPrefix("shop"), T0);
  if (!response) throw new Error("it was taken for no token response");
  return response;
}
