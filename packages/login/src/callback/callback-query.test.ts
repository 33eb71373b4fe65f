import { expect, test } from "vitest";
import { queryIn, readCallback } from "./callback-query.js";

test("a query is read in one go, however often a stranger repeats a parameter", () => {
  // A copy of the list for each of them would take hours.
  const times = 500_000;
  const query = queryIn(new URL(`https://app.example.net/callback?${"&a".repeat(times)}&code=c&code=d`));
  expect(query["a"]).toHaveLength(times);
  expect(query["code"]).toEqual(["c", "d"]);
  expect(() => readCallback(query)).toThrow(expect.objectContaining({ code: "invalid_callback" }));
});
