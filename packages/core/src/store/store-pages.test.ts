import { describe, expect, test } from "vitest";
import { retailerStatus, storePages } from "../authoring.js";

describe("a cursor", () => {
  const pages = storePages("here");

  test.each(["shop", "a", "0", "x".repeat(63), "7:shop:/+=?~", "é, 店, \ufeff"])(
    "says where the next page begins: %s",
    (position) => {
      const cursor = pages.cursorAt(position);
      expect(pages.asked({ limit: 5, cursor })).toEqual({ limit: 5, position });
      expect(cursor).toMatch(/^[\w.-]+$/); // it may stand in an address
    },
  );

  test("is of one place", () => {
    const cursor = storePages("there").cursorAt("shop");
    expect(() => pages.asked({ limit: 5, cursor })).toThrow(/^cursor must/);
  });

  test("that was changed anywhere is refused", () => {
    const cursor = pages.cursorAt("harbour-coffee");
    for (let at = 0; at < cursor.length; at += 1) {
      const other = cursor[at] === "A" ? "B" : "A";
      const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
      expect(() => pages.asked({ limit: 5, cursor: changed })).toThrow(TypeError);
      expect(() => pages.asked({ limit: 5, cursor: cursor.slice(0, at) })).toThrow(TypeError);
    }
  });
});

test("without a cursor there is no position", () => {
  expect(storePages("here").asked({ limit: 10_000 })).toEqual({ limit: 10_000 });
  expect(storePages("here").asked({ limit: 1, cursor: undefined })).toEqual({ limit: 1 });
});

test.each([undefined, null, 7, "limit", {}])("asked %o, the limit is named", (ask) => {
  expect(() => storePages("here").asked(ask)).toThrow(/^limit must be a whole number from 1 to 10000/);
});

test("the status of a record has what is there, and nothing else", () => {
  const kept = { domainPrefix: "shop", issuedAt: 1, expiresAt: 2, refusedAt: 3, scope: "all" };
  expect(retailerStatus(kept)).toStrictEqual(kept);
  const none = { expiresAt: null, refusedAt: null, scope: null };
  expect(retailerStatus({ ...kept, ...none })).toStrictEqual({ domainPrefix: "shop", issuedAt: 1 });
  expect(retailerStatus({ ...kept, refreshToken: "canary" } as object)).toStrictEqual(kept);
});
