import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { endRequestOf } from "../../testing/ended-request.js";
import { Progress, SharedWork, STUCK } from "./progress.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => {});

/** How a wait has ended so far. */
function watched(wait: Promise<unknown>): { end: unknown } {
  const state: { end: unknown } = { end: "waits" };
  wait.then(
    (value) => {
      state.end = value;
    },
    (error) => {
      state.end = error;
    },
  );
  return state;
}

test("a wait settles as the work does, and leaves no timer", async () => {
  const progress = new Progress(10_000);
  const failure = new Error("failed");
  expect(await progress.wait(Promise.resolve("done"))).toBe("done");
  await expect(progress.wait(Promise.reject(failure))).rejects.toBe(failure);
  expect(vi.getTimerCount()).toBe(0);
});

test("a step that takes longer than it may ends the waits for it, a second after it was overdue", async () => {
  const progress = new Progress(10_000);
  const waits = [watched(progress.wait(never)), watched(progress.wait(never))];
  await vi.advanceTimersByTimeAsync(10_999);
  expect(waits).toEqual([{ end: "waits" }, { end: "waits" }]);
  await vi.advanceTimersByTimeAsync(1);
  expect(waits).toEqual([{ end: STUCK }, { end: STUCK }]);
});

test("a wait that begins when the step is long overdue takes a second", async () => {
  const progress = new Progress(10_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(progress.isOverdue).toBe(true);
  const wait = watched(progress.wait(never));
  await vi.advanceTimersByTimeAsync(999);
  expect(wait.end).toBe("waits");
  await vi.advanceTimersByTimeAsync(1);
  expect(wait.end).toBe(STUCK);
});

test("each step has its own time, and work that goes on is waited for", async () => {
  const progress = new Progress(10_000);
  const wait = watched(progress.wait(never));
  for (let step = 0; step < 5; step += 1) {
    await vi.advanceTimersByTimeAsync(9_000);
    progress.next(10_000);
  }
  expect(wait.end).toBe("waits");
});

test("after a standstill of this thread, a step that goes on within the next second is not stuck", async () => {
  const progress = new Progress(10_000);
  const wait = watched(progress.wait(never));
  await vi.advanceTimersByTimeAsync(10_500); // overdue, as after a standstill
  progress.next(10_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(wait.end).toBe("waits");
});

describe("work that several requests wait for", () => {
  const failure = new Error("failed");

  test("settles for each of them as it does by itself", async () => {
    const done = new SharedWork(new Progress(10_000), Promise.resolve("done"));
    expect(await Promise.all([done.wait(), done.wait()])).toEqual(["done", "done"]);
    const failed = new SharedWork(new Progress(10_000), Promise.reject(failure));
    await expect(failed.wait()).rejects.toBe(failure);
    await expect(failed.wait()).rejects.toBe(failure);
  });

  test("is stuck as soon as the runtime says that its request has ended", async () => {
    const work = new Promise<never>(() => {});
    const shared = new SharedWork(new Progress(10_000), work);
    endRequestOf(work);
    expect(await Promise.all([shared.wait(), shared.wait()])).toEqual([STUCK, STUCK]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is stuck if it failed and the runtime says something else", async () => {
    const work = Promise.reject(failure);
    const shared = new SharedWork(new Progress(10_000), work);
    await expect(shared.wait()).rejects.toBe(failure);
    endRequestOf(work);
    expect(await shared.wait()).toBe(STUCK);
  });
});
