import { expect, test } from "vitest";
import { closeTime, isoTime, lengthOf, localTime } from "./times.js";

test.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 min 0 s"],
  [-899_999, "14 min 59 s"],
  [900_000, "15 min"],
  [-3_599_999, "59 min"],
  [3_600_000, "1 h"],
  [47 * 3_600_000, "47 h"],
  [48 * 3_600_000, "2 d"],
  [2000 * 86_400_000, "2,000 d"],
])("%d ms are %s", (ms, text) => {
  expect(lengthOf(ms)).toBe(text);
});

test("an instant is told as the clock on the wall has it, and to machines in UTC", () => {
  expect(localTime(new Date(2030, 0, 2, 3, 4).getTime())).toBe("2030-01-02 03:04");
  expect(isoTime(Date.UTC(2030, 0, 2, 3, 4, 5, 6))).toBe("2030-01-02T03:04:05.006Z");
});

test("the second is told for what lies less than a quarter of an hour away", () => {
  const at = new Date(2030, 0, 2, 3, 4, 5).getTime();
  const minutes = (count: number) => at + count * 60_000;
  expect(closeTime(at, minutes(14))).toBe("2030-01-02 03:04:05");
  expect(closeTime(at, minutes(-14))).toBe("2030-01-02 03:04:05");
  expect(closeTime(at, minutes(15))).toBe("2030-01-02 03:04");
});

test("a number that is no instant is shown as it is", () => {
  expect([localTime(1e300), isoTime(1e300)]).toEqual(["1e+300", "1e+300"]);
});
