import { inspect } from "node:util";
import { expect, test } from "vitest";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { quiet, type TokenSet } from "../vocabulary/token-set.js";
import { HeldSet } from "./held-tokens.js";

const shop = parseDomainPrefix("shop");
const plain: TokenSet = {
  domainPrefix: shop,
  access: { value: "secret-a", expiresAt: 5 },
  refreshToken: "secret-r",
  issuedAt: 1,
  version: "1",
};

/** As the rest of core sees it: what is held can be replaced. */
class Held extends HeldSet {
  override copy(set: TokenSet | undefined): void {
    super.copy(set);
  }
}

const marked = { ...plain, version: "2", refusedAt: 7, limitedUntil: 8, scope: "products:read" };

test.each([plain, marked, { ...plain, access: { value: "a" } }, { ...plain, scope: "sales:read" }])(
  "gives the very set that it copied, and no field besides: %j",
  (set) => {
    const held = new Held(shop);
    held.copy(quiet(set));
    expect({ ...held.set }).toEqual({ ...set });
    expect(Object.keys(held.set ?? {})).toEqual(Object.keys(set));
  },
);

test("nothing of an earlier set is left", () => {
  const held = new Held(shop);
  held.copy(quiet(marked));
  held.copy(quiet(plain));
  expect(Object.keys(held.set ?? {})).toEqual(Object.keys(plain));
  held.copy(undefined);
  expect([held.set, held.access]).toEqual([undefined, undefined]);
});

test("knows a copy by its version, and a copy of nothing", () => {
  const held = new Held(shop);
  expect([held.isCopyOf(undefined), held.isCopyOf(plain)]).toEqual([true, false]);
  held.copy(quiet(plain));
  expect([held.isCopyOf(undefined), held.isCopyOf({ ...plain }), held.isCopyOf(marked)]).toEqual([
    false,
    true,
    false,
  ]);
});

test("hands out one access token, which nobody can change, and shows no secret", () => {
  const held = new Held(shop);
  held.copy(quiet(plain));
  expect(held.set?.access).toBe(held.access);
  expect(Object.isFrozen(held.access)).toBe(true);
  expect(inspect([held, held.set], { depth: 9 })).not.toContain("secret");
});
