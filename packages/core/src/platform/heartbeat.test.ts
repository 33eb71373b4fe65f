import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { endRequestOf } from "../../testing/ended-request.js";
import { ABANDONED, Heartbeat, Once } from "./heartbeat.js";

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
  const progress = new Heartbeat(10_000);
  const failure = new Error("failed");
  expect(await progress.wait(Promise.resolve("done"))).toBe("done");
  await expect(progress.wait(Promise.reject(failure))).rejects.toBe(failure);
  expect(vi.getTimerCount()).toBe(0);
});

test("a step that takes longer than it may ends the waits for it, a second after it was overdue", async () => {
  const progress = new Heartbeat(10_000);
  const waits = [watched(progress.wait(never)), watched(progress.wait(never))];
  await vi.advanceTimersByTimeAsync(10_999);
  expect(waits).toEqual([{ end: "waits" }, { end: "waits" }]);
  await vi.advanceTimersByTimeAsync(1);
  expect(waits).toEqual([{ end: ABANDONED }, { end: ABANDONED }]);
});

test("a wait that begins when the step is long overdue takes a second", async () => {
  const progress = new Heartbeat(10_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(progress.isOverdue).toBe(true);
  const wait = watched(progress.wait(never));
  await vi.advanceTimersByTimeAsync(999);
  expect(wait.end).toBe("waits");
  await vi.advanceTimersByTimeAsync(1);
  expect(wait.end).toBe(ABANDONED);
});

test("each step has its own time, and work that goes on is waited for", async () => {
  const progress = new Heartbeat(10_000);
  const wait = watched(progress.wait(never));
  for (let step = 0; step < 5; step += 1) {
    await vi.advanceTimersByTimeAsync(9_000);
    progress.next(10_000);
  }
  expect(wait.end).toBe("waits");
});

test("after a standstill of this thread, a step that goes on within the next second is not stuck", async () => {
  const progress = new Heartbeat(10_000);
  const wait = watched(progress.wait(never));
  await vi.advanceTimersByTimeAsync(10_500); // overdue, as after a standstill
  progress.next(10_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(wait.end).toBe("waits");
});

describe("work that is done once for all who ask for it", () => {
  const failure = new Error("failed");
  const until = <T>(work: Promise<T>) => vi.fn(() => work);

  test("settles for each of them as it does by itself, and is begun at once", async () => {
    for (const end of [Promise.resolve("done"), Promise.reject(failure)]) {
      const [once, begin] = [new Once<unknown>(), until(end)];
      const all = [once.join(10_000, begin), once.join(10_000, begin), once.join(10_000, begin)];
      expect([begin.mock.calls.length, once.isUnderWay]).toEqual([1, true]);
      const ends = await Promise.allSettled(all);
      expect(new Set(ends.map((one) => JSON.stringify(one))).size).toBe(1);
      expect([begin.mock.calls.length, once.isUnderWay]).toEqual([1, false]);
    }
  });

  test("who waits for its end joins what began since, with all who did so", async () => {
    const once = new Once<string>();
    let end = (_: string) => {};
    void once.join(10_000, () => new Promise((resolve) => (end = resolve)));
    const begin = until(Promise.resolve("the next"));
    const late = [1, 2, 3].map(() => once.ended().then(() => once.join(10_000, begin)));
    end("the first");
    expect(await Promise.all(late)).toEqual(Array(3).fill("the next"));
    expect(begin).toHaveBeenCalledTimes(1);
  });

  test("that is stuck is begun anew, once for all who wait", async () => {
    const once = new Once<string>();
    void once.join(10_000, () => never);
    const begin = until(new Promise<string>((resolve) => setTimeout(resolve, 12_000, "anew")));
    const all = Promise.all([once.join(10_000, begin), once.join(10_000, begin)]);
    await vi.advanceTimersByTimeAsync(12_000);
    expect(await all).toEqual(["anew", "anew"]);
    expect(begin).toHaveBeenCalledTimes(1);
  });

  test("is stuck as soon as the runtime says that its request has ended", async () => {
    const once = new Once<string>();
    const work = new Promise<never>(() => {});
    void once.join(10_000, () => work);
    endRequestOf(work);
    expect(await once.join(10_000, async () => "anew")).toBe("anew");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is stuck if it failed and the runtime says something else", async () => {
    const once = new Once<string>();
    let fail = (_: Error) => {};
    const work = new Promise<string>((_, reject) => (fail = reject));
    once.join(10_000, () => work).catch(() => {});
    const joined = once.join(10_000, async () => "anew");
    fail(failure);
    await expect(joined).rejects.toBe(failure);
  });
});
