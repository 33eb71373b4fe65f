import { describe, expect, test } from "vitest";
import { mayReplace } from "./compare-and-set.js";
import { parseDomainPrefix } from "./domain-prefix.js";
import type { TokenSet } from "./token-set.js";

const SHOP = parseDomainPrefix("shop");
const before = set("before", { issuedAt: 1 });

describe("a set that somebody else stored, with the refresh token that ours was made from", () => {
  test.each([
    ["the same set, marked as refused meanwhile", { issuedAt: 1, refusedAt: 5 }, true],
    ["a newer set of a service that does not rotate", { issuedAt: 4 }, false],
    ["such a newer set, marked as refused meanwhile", { issuedAt: 4, refusedAt: 5 }, false],
    ["the same set, on which a 429 is noted", { issuedAt: 1, limitedUntil: 5 }, true],
    ["a newer set, on which a 429 is noted", { issuedAt: 4, limitedUntil: 5 }, false],
  ])("%s", (_, stored, isReplaced) => {
    const ours = set("ours", { issuedAt: 3 });
    expect(mayReplace(set("theirs", stored), [before], ours)).toBe(isReplaced);
  });

  test("a newer set gives way to tokens of a service that rotates: their refresh token alone is good", () => {
    const ours = set("ours", { issuedAt: 3, refreshToken: "rotated" });
    expect(mayReplace(set("theirs", { issuedAt: 4 }), [before], ours)).toBe(true);
  });
});

function set(version: string, fields: Partial<TokenSet>): TokenSet {
  const access = { value: `access-${version}` };
  return { domainPrefix: SHOP, access, refreshToken: "refresh", issuedAt: 0, version, ...fields };
}
