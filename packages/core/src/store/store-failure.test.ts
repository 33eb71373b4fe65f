import { inspect } from "node:util";
import { expect, test } from "vitest";
import { storeFailure } from "../authoring.js";
import { isRetailPosError, StoreFailedError } from "../index.js";

const canary = "canary-refresh";

test("says which engine could not do what, for whom and why, and keeps the engine's code", () => {
  const failure = storeFailure(
    "Redis",
    { operation: "load", domainPrefix: "shop" },
    Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" }),
  );
  expect(failure).toBeInstanceOf(StoreFailedError);
  expect(isRetailPosError(failure)).toBe(true);
  expect(failure).toMatchObject({
    code: "store_failed",
    status: 503,
    operation: "load",
    domainPrefix: "shop",
    message: 'Redis could not load the tokens of retailer "shop": connect refused',
    cause: { message: "connect refused", code: "ECONNREFUSED" },
  });
});

test.each([
  ["a retailer's", { operation: "save", domainPrefix: "shop" }, 'save the tokens of retailer "shop"'],
  ["nobody's", { operation: "claim" }, "claim a key"],
  ["of its own words", { operation: "lock", doing: "extend the lock x" }, "extend the lock x"],
] as const)("a task, %s", (_, task, doing) => {
  expect(storeFailure("SQLite", task, new Error("why")).message).toBe(`SQLite could not ${doing}: why`);
});

test.each([
  ["with only a code", { code: "E1" }, "E1"],
  ["with only a name", Object.assign(new Error(""), { name: "AbortError" }), "AbortError"],
  ["that is nothing", undefined, "unknown error"],
  ["with a numeric code", Object.assign(new Error("busy"), { code: 5 }), "busy"],
])("an error %s still says something", (_, error, words) => {
  const { message, cause } = storeFailure("Redis", { operation: "remove" }, error);
  expect(message).toBe(`Redis could not remove the tokens: ${words}`);
  expect((cause as { code?: unknown }).code).toBe((error as { code?: unknown } | undefined)?.code);
});

test("shows no token that the driver repeats, in whatever form, and nothing else that hangs on its error", () => {
  const error = Object.assign(new Error(`cannot send "${encodeURIComponent("canary refresh+")}" ${canary}`), {
    command: { args: [canary] },
    code: `E_${canary}`,
  });
  error.cause = new Error(canary);
  const failure = storeFailure(
    "Redis",
    { operation: "save", secrets: [canary, "canary refresh+", ""] },
    error,
  );
  expect(inspect(failure, { depth: 9, showHidden: true }) + JSON.stringify(failure)).not.toContain("canary");
  expect(failure.message).toBe('Redis could not save the tokens: cannot send "[hidden]" [hidden]');
});

test("takes other words if the engine's own may quote a record", () => {
  const failure = storeFailure("PostgreSQL", { operation: "load" }, new Error(canary), "error 22P02");
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary");
  expect(failure.message).toBe("PostgreSQL could not load the tokens: error 22P02");
});
