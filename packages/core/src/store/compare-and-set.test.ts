import { describe, expect, test } from "vitest";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { mayReplace } from "./compare-and-set.js";

const SHOP = parseDomainPrefix("shop");
const before = set("before", { issuedAt: 1 });

describe("a set that somebody else stored, with the refresh token that ours was made from", () => {
  const same = { issuedAt: 1, access: before.access };

  test.each([
    ["the same tokens, marked as refused meanwhile", { ...same, refusedAt: 5 }, true],
    ["the same tokens, on which a 429 is noted", { ...same, limitedUntil: 5 }, true],
    ["other tokens of a service that does not rotate", { issuedAt: 4 }, false],
    ["such other tokens, issued in the same millisecond as ours", { issuedAt: 3 }, false],
    ["such other tokens, marked as refused meanwhile", { issuedAt: 3, refusedAt: 5 }, false],
    ["such other tokens, on which a 429 is noted", { issuedAt: 2, limitedUntil: 5 }, false],
  ])("%s", (_, stored, isReplaced) => {
    const ours = set("ours", { issuedAt: 3 });
    expect(mayReplace(set("theirs", stored), [before], ours)).toBe(isReplaced);
  });

  test("the same tokens with a mark stay if ours is another mark or note", () => {
    const marked = set("theirs", { ...same, refusedAt: 5 });
    expect(mayReplace(marked, [before], set("ours", { ...same, refusedAt: 6 }))).toBe(false);
    expect(mayReplace(marked, [before], set("ours", { ...same, limitedUntil: 6 }))).toBe(false);
  });

  test("the same tokens with a note give way to a note on newer ones, which this process alone holds", () => {
    const noted = set("theirs", { ...same, limitedUntil: 5 });
    const unsaved = set("unsaved", { issuedAt: 3 });
    const ours = { ...unsaved, version: "ours", limitedUntil: 6 };
    expect(mayReplace(noted, [before, unsaved], ours)).toBe(true);
    expect(mayReplace({ ...noted, refusedAt: 5 }, [before, unsaved], ours)).toBe(true);
  });

  test("the same tokens with a mark give way though the clock was put back", () => {
    const marked = set("theirs", { ...same, refusedAt: 5 });
    expect(mayReplace(marked, [before], set("ours", { issuedAt: -3_600_000 }))).toBe(true);
  });

  test("other tokens give way to those of a service that rotates: their refresh token alone is good", () => {
    const ours = set("ours", { issuedAt: 3, refreshToken: "rotated" });
    expect(mayReplace(set("theirs", { issuedAt: 4 }), [before], ours)).toBe(true);
  });
});

function set(version: string, fields: Partial<TokenSet>): TokenSet {
  const access = { value: `access-${version}` };
  return { domainPrefix: SHOP, access, refreshToken: "refresh", issuedAt: 0, version, ...fields };
}
