import { expect, test } from "vitest";
import { progressOn } from "./progress.js";

function shownOn(isTTY: boolean) {
  const texts: string[] = [];
  let now = 0;
  const stderr = { isTTY, write: (text: string | Uint8Array) => texts.push(String(text)) > 0 };
  return { texts, progress: progressOn({ stderr }, () => now), letPass: (ms: number) => (now += ms) };
}

test("a terminal sees it ten times a second at most, on one line", () => {
  const { texts, progress, letPass } = shownOn(true);
  for (let count = 1; count <= 250; count += 1) {
    progress.show(() => `${count} seen`);
    letPass(1);
  }
  expect(texts).toEqual(["\r\u001b[2K1 seen", "\r\u001b[2K101 seen", "\r\u001b[2K201 seen"]);
  progress.clear();
  expect(texts.at(-1)).toBe("\r\u001b[2K");
});

test("a pipe sees nothing", () => {
  const { texts, progress } = shownOn(false);
  progress.show(() => "1 seen");
  progress.clear();
  expect(texts).toEqual([]);
});
