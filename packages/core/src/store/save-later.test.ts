import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { saveLater } from "./save-later.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A set that the store does not take. */
function unsaved() {
  return { isUnsaved: true, saveUnsaved: vi.fn(async () => {}) };
}

/** After how many seconds each try came. */
async function triesWithin(seconds: number, { saveUnsaved }: ReturnType<typeof unsaved>): Promise<number[]> {
  const tries: number[] = [];
  saveUnsaved.mockClear();
  for (let second = 0; second <= seconds; second += 1) {
    await vi.advanceTimersByTimeAsync(second === 0 ? 0 : 1000);
    while (tries.length < saveUnsaved.mock.calls.length) tries.push(second);
  }
  return tries;
}

test("the pauses between tries get longer, from one second to a minute", async () => {
  const held = unsaved();
  void saveLater(held);
  expect(await triesWithin(200, held)).toEqual([1, 3, 7, 15, 31, 63, 123, 183]);
});

test("a process that is about to end stays for half a minute of tries", async () => {
  const held = unsaved();
  void saveLater(held);
  await vi.advanceTimersByTimeAsync(40_000);
  process.emit("beforeExit", 0);
  expect(await triesWithin(60, held)).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30]);
  process.emit("beforeExit", 0);
  expect(await triesWithin(20, held)).toEqual([]);
});

test("a process that lives on tries again, and stays again when it is about to end later", async () => {
  const held = unsaved();
  void saveLater(held);
  await vi.advanceTimersByTimeAsync(0);
  process.emit("beforeExit", 0);
  await vi.advanceTimersByTimeAsync(90_000);
  expect(await triesWithin(3, held)).toEqual([2]);
  process.emit("beforeExit", 0);
  expect(await triesWithin(5, held)).toEqual([0, 3]);
});

test("it stays no longer than until a try succeeds", async () => {
  const held = unsaved();
  void saveLater(held);
  await vi.advanceTimersByTimeAsync(0);
  held.saveUnsaved.mockImplementation(async () => {
    held.isUnsaved = false;
  });
  process.emit("beforeExit", 0);
  expect(await triesWithin(60, held)).toEqual([0]);
});

test("tries go on if the process takes no listeners, as in Next's Edge Runtime", async () => {
  vi.useRealTimers(); // modules that are loaded keep them, also for the tests of other files
  vi.resetModules();
  vi.spyOn(process, "on").mockImplementation(() => {
    throw new Error("not supported in the Edge Runtime");
  });
  const fresh = await import("./save-later.js");
  vi.useFakeTimers();
  const held = unsaved();
  void fresh.saveLater(held);
  expect(await triesWithin(3, held)).toEqual([1, 3]);
});
