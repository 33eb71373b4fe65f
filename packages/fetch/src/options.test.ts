import { describe, expect, test } from "vitest";
import { type RetailFetchOptions, retailFetch } from "./index.js";

const NAMES = ["perHost", "keepAliveMs", "wait429Ms"] as const;

describe("a wrong option is a TypeError that names it:", () => {
  const values = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "8", null, 8n, {}, true];
  const rows: [string, unknown][] = NAMES.flatMap((name) =>
    values.map((value): [string, unknown] => [name, value]),
  );
  rows.push(["perHost", 0], ["keepAliveMs", 2 ** 31], ["wait429Ms", 2 ** 31]);
  rows.push(["perhost", 8], ["timeoutMs", 1000], ["fetch", globalThis.fetch]);

  for (const [name, value] of rows) {
    test(`${name}: ${typeof value} ${String(value)}`, () => {
      const make = () => retailFetch({ [name]: value } as RetailFetchOptions);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(new RegExp(`^${name} `));
    });
  }

  for (const value of [null, 8, () => {}, []]) {
    test(`all of them: ${JSON.stringify(value) ?? "a function"}`, () => {
      expect(() => retailFetch(value as RetailFetchOptions)).toThrow(
        new TypeError("options must be an object"),
      );
    });
  }

  test("says what was given", () => {
    expect(() => retailFetch({ perHost: 0 })).toThrow(
      /^perHost must be a whole number, at least 1; 0 was given$/,
    );
    expect(() => retailFetch({ wait429Ms: "5" as never })).toThrow(
      / from 0 to 2147483647; string was given$/,
    );
  });
});

describe("retailFetch itself in the place of what it makes", () => {
  const address = "https://store.example/api/products";
  for (const [kind, input] of Object.entries({
    text: address,
    URL: new URL(address),
    Request: new Request(address),
  })) {
    test(`is told so when it is called with a ${kind}`, () => {
      const fetch = retailFetch as unknown as typeof globalThis.fetch;
      expect(() => fetch(input)).toThrow(/^retailFetch\(\) makes a fetch/);
    });
  }
});

describe("an option may be", () => {
  test("left out, or undefined", () => {
    expect(() => retailFetch()).not.toThrow();
    expect(() => retailFetch(Object.fromEntries(NAMES.map((name) => [name, undefined])))).not.toThrow();
  });

  test("the least and the most that it can be", () => {
    const most = 2 ** 31 - 1;
    expect(() => retailFetch({ perHost: 1, keepAliveMs: 0, wait429Ms: 0 })).not.toThrow();
    expect(() => retailFetch({ perHost: 1e6, keepAliveMs: most, wait429Ms: most })).not.toThrow();
  });
});
