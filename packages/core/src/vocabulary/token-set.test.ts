import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { parseDomainPrefix } from "./domain-prefix.js";
import { StoredTokensError } from "./errors.js";
import { checkStored, isBearerValue, redacted, redactedAccess, validate } from "./token-set.js";

const T0 = Date.UTC(2030, 0, 1);
const shop = parseDomainPrefix("shop");
const ACCESS = "canary-access-3b1f";
const REFRESH = "canary-refresh-9c2e";

const complete = {
  domainPrefix: shop,
  access: { value: ACCESS, expiresAt: T0 + 1 },
  refreshToken: REFRESH,
  issuedAt: T0,
  version: "1",
  refusedAt: T0 + 2,
  limitedUntil: T0 + 3,
  scope: "products:read sales:read",
};

describe("a bearer value", () => {
  for (const value of ["a", "~!@#$%^&*()", "a.b-c_d~e+f/g==", "x".repeat(8_192)]) {
    test(`may be ${value.slice(0, 20)}`, () => expect(isBearerValue(value)).toBe(true));
  }
  for (const value of [
    "",
    " ",
    "a b",
    "a\n",
    "a\r\nX: y",
    "\0",
    "é",
    "𝒶",
    "\u007f",
    null,
    undefined,
    5,
    ["a"],
    {},
  ]) {
    test(`may not be ${JSON.stringify(value)}`, () => expect(isBearerValue(value)).toBe(false));
  }
});

describe("a quiet token set", () => {
  test("shows no token, however it is printed, alone or inside something", () => {
    const set = redacted(complete);
    for (const value of [
      set,
      set.access,
      { user: { set } },
      [set],
      new Map([["set", set]]),
      Object.freeze(redacted(set)),
    ]) {
      const shown = inspect(value, { depth: 10, showHidden: true });
      expect(shown).not.toContain("canary");
      expect(`${value} ${inspect(value)}`).not.toContain("canary");
    }
    expect(inspect(set)).toContain("shop");
    for (const [field, value] of Object.entries(complete).slice(-3))
      expect(inspect(set)).toContain(`${field}: ${inspect(value)}`);
  });

  test("keeps everything, for a store to write and read", () => {
    const set = redacted(complete);
    expect(set).toEqual(complete);
    expect(JSON.parse(JSON.stringify(set))).toEqual(complete);
    expect(structuredClone(set)).toEqual(complete);
    expect({ ...set }).toEqual(complete);
    expect(Object.keys(set).sort()).toEqual(Object.keys(complete).sort());
  });

  test("leaves out what is not there, and what does not belong there", () => {
    const { refusedAt, limitedUntil, scope, ...least } = complete;
    const tooMuch = { ...least, access: { value: ACCESS, scope: "" }, owner: "x" };
    const set = redacted(tooMuch);
    expect({ ...set.access }).toStrictEqual({ value: ACCESS });
    expect(Object.keys(set)).toEqual(Object.keys(least));
  });

  test("is a copy to its very bottom", () => {
    const original = { ...complete, access: { ...complete.access } };
    const set = redacted(original);
    original.access.value = "changed";
    original.refreshToken = "changed";
    expect(set).toEqual(complete);
  });

  test("hands out an access token that is as quiet as it is", () => {
    expect(inspect(redactedAccess({ value: ACCESS }))).not.toContain("canary");
    expect(JSON.stringify(redactedAccess({ value: ACCESS, expiresAt: 5 }))).toBe(
      JSON.stringify({ value: ACCESS, expiresAt: 5 }),
    );
  });
});

describe("a record from a store", () => {
  test("is taken where it is a token set of that retailer", () => {
    expect(checkStored(complete, shop)).toEqual(complete);
    expect(checkStored(JSON.parse(JSON.stringify(complete)), shop)).toEqual(complete);
    const least = {
      domainPrefix: "shop",
      access: { value: "a" },
      refreshToken: "r",
      issuedAt: 0,
      version: "1",
    };
    expect(checkStored(least, shop)).toEqual(least);
  });

  test("may say null for what is not there, as a database does", () => {
    const none = { refusedAt: null, limitedUntil: null, scope: null };
    const set = checkStored({ ...complete, access: { value: ACCESS, expiresAt: null }, ...none }, shop);
    expect({ ...set.access }).toStrictEqual({ value: ACCESS });
    expect(Object.keys(none).filter((field) => field in set)).toEqual([]);
  });

  test("is read once: what was checked is what is used", () => {
    const reads: string[] = [];
    const changing = (object: object): object =>
      new Proxy(object, {
        get(target, field) {
          reads.push(String(field));
          const value = Reflect.get(target, field);
          const isFirst = reads.filter((read) => read === String(field)).length === 1;
          if (typeof value === "object") return changing(value);
          return isFirst ? value : `${ACCESS}\r\nX-Evil: 1`;
        },
      });
    expect(checkStored(changing(complete), shop)).toEqual(complete);
    expect(new Set(reads).size).toBe(reads.length);
  });

  test("whose getter throws is refused without what it threw", () => {
    const record = {
      ...complete,
      get refreshToken(): string {
        throw new Error(REFRESH);
      },
    };
    const error = thrownBy(() => checkStored(record, shop));
    expect(error).toBeInstanceOf(StoredTokensError);
    expect((error as Error).message).toContain("it cannot be read");
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("canary");
  });

  test("shows no token afterwards either", () => {
    expect(inspect(checkStored(complete, shop), { showHidden: true, depth: 10 })).not.toContain("canary");
  });

  const rows: Array<{ name: string; record: unknown; problem: RegExp }> = [
    { name: "a text", record: JSON.stringify(complete), problem: /object/ },
    { name: "null", record: null, problem: /object/ },
    { name: "a number", record: 5, problem: /object/ },
    { name: "an empty object", record: {}, problem: /retailer/ },
    { name: "an array", record: [complete], problem: /retailer/ },
    {
      name: "another retailer's",
      record: { ...complete, domainPrefix: "other" },
      problem: /another retailer/,
    },
    { name: "of no retailer", record: { ...complete, domainPrefix: undefined }, problem: /another retailer/ },
    { name: "no access", record: { ...complete, access: undefined }, problem: /^access / },
    { name: "access null", record: { ...complete, access: null }, problem: /^access / },
    { name: "access a text", record: { ...complete, access: ACCESS }, problem: /^access / },
    { name: "no value", record: { ...complete, access: {} }, problem: /access\.value/ },
    { name: "an empty value", record: { ...complete, access: { value: "" } }, problem: /access\.value/ },
    {
      name: "a value that would be two headers",
      record: { ...complete, access: { value: `${ACCESS}\r\nX-Evil: 1` } },
      problem: /access\.value/,
    },
    {
      name: "an expiry as a text",
      record: { ...complete, access: { value: ACCESS, expiresAt: `${T0}` } },
      problem: /access\.expiresAt/,
    },
    {
      name: "an expiry that is no number",
      record: { ...complete, access: { value: ACCESS, expiresAt: Number.NaN } },
      problem: /access\.expiresAt/,
    },
    {
      name: "an expiry as a Date",
      record: { ...complete, access: { value: ACCESS, expiresAt: new Date(T0) } },
      problem: /access\.expiresAt/,
    },
    { name: "no refresh token", record: { ...complete, refreshToken: undefined }, problem: /refreshToken/ },
    { name: "an empty refresh token", record: { ...complete, refreshToken: "" }, problem: /refreshToken/ },
    {
      name: "a refresh token in a list",
      record: { ...complete, refreshToken: [REFRESH] },
      problem: /refreshToken/,
    },
    { name: "no instant of issue", record: { ...complete, issuedAt: undefined }, problem: /issuedAt/ },
    { name: "an instant as a text", record: { ...complete, issuedAt: `${T0}` }, problem: /issuedAt/ },
    {
      name: "an endless instant",
      record: { ...complete, issuedAt: Number.POSITIVE_INFINITY },
      problem: /issuedAt/,
    },
    { name: "no version", record: { ...complete, version: undefined }, problem: /version/ },
    { name: "an empty version", record: { ...complete, version: "" }, problem: /version/ },
    { name: "a version that is a number", record: { ...complete, version: 5 }, problem: /version/ },
    { name: "limited until a text", record: { ...complete, limitedUntil: "soon" }, problem: /limitedUntil/ },
    {
      name: "limited for ever",
      record: { ...complete, limitedUntil: Number.POSITIVE_INFINITY },
      problem: /limitedUntil/,
    },
    { name: "a scope that is a list", record: { ...complete, scope: ["all"] }, problem: /scope/ },
    { name: "refused at a text", record: { ...complete, refusedAt: "yesterday" }, problem: /refusedAt/ },
  ];
  for (const { name, record, problem } of rows) {
    test(`is refused, and the field is named but never its value: ${name}`, () => {
      expect(validate(record, shop)).toMatch(problem);
      const error = thrownBy(() => checkStored(record, shop));
      expect(error).toBeInstanceOf(StoredTokensError);
      expect(error).toMatchObject({ domainPrefix: "shop", status: 500, expose: false });
      expect(inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error)).not.toContain("canary");
    });
  }
});

test("a record whose getters change their minds is kept as it was checked", () => {
  const changing = changingOnSecondLook({ ...complete, access: changingOnSecondLook(complete.access) });
  expect(checkStored(changing, shop)).toEqual(complete);
});

/** The right value once, and something else whenever it is asked for again. */
function changingOnSecondLook<T extends object>(object: T): T {
  const seen = new Set<string | symbol>();
  return new Proxy(object, {
    get(target, name) {
      if (seen.has(name)) return "\r\nanother";
      seen.add(name);
      return Reflect.get(target, name);
    },
  });
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
