import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { saveLater } from "./save-later.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A set that the store does not take, until `isUnsaved` is false. */
function unsaved() {
  return { isUnsaved: true, set: undefined, saveAgain: vi.fn(async () => {}) };
}

test("pauses get longer from one second to a minute", async () => {
  const held = unsaved();
  void saveLater(held);
  const pauses: number[] = [];
  for (let seconds = 0, last = 0, tries = 0; seconds < 200; seconds += 1) {
    if (held.saveAgain.mock.calls.length > tries) {
      tries += 1;
      pauses.push(seconds - last);
      last = seconds;
    }
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

test("no timer is left a second after a caller has saved the set, or the retailer was disconnected", async () => {
  const held = unsaved();
  const end = saveLater(held);
  await vi.advanceTimersByTimeAsync(18_000); // in the pause of sixteen seconds
  held.isUnsaved = false;
  await vi.advanceTimersByTimeAsync(1000);
  await end;
  expect(vi.getTimerCount()).toBe(0);
});

test("a process that is about to end gets tries for half a minute more, once", async () => {
  const held = unsaved();
  void saveLater(held);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(held.saveAgain).toHaveBeenCalledTimes(5);
  process.emit("beforeExit", 0);
  await vi.advanceTimersByTimeAsync(0);
  expect(held.saveAgain).toHaveBeenCalledTimes(6);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(held.saveAgain).toHaveBeenCalledTimes(11);
  process.emit("beforeExit", 0);
  await vi.advanceTimersByTimeAsync(1000);
  expect(held.saveAgain).toHaveBeenCalledTimes(11);
});
