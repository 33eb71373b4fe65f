import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { answerOfHook, type HookCall, LONGEST_ANSWER_MS } from "./hook-answer.js";

type Ask = HookCall["ask"];
const asked = (ask: Ask, takesDone = true) => answerOfHook({ name: "the hook", ask, takesDone });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const doneFirst: Ask = async (done) => {
  done(null, "a");
  return "b";
};

describe("the first answer counts:", () => {
  const rows: [name: string, ask: Ask, answer: unknown[]][] = [
    ["through done", (done) => done(null, "a", "b"), ["a", "b"]],
    ["through done, later", (done) => void setTimeout(done, 10, undefined, "a"), ["a"]],
    ["done before the promise", doneFirst, ["a"]],
    ["done twice", (done) => [done(null, "a"), done(new Error("later"))], ["a"]],
    ["done after a promise of nothing", async (done) => void setTimeout(done, 10, null, "a"), ["a"]],
    [
      "done after a promise of anything",
      async (done) => {
        setTimeout(done, 10, null, "a");
        return "b";
      },
      ["a"],
    ],
  ];
  test.each(rows)("%s", async (_, ask, answer) => {
    const answered = asked(ask);
    await vi.advanceTimersByTimeAsync(10);
    expect(await answered).toEqual(answer);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test.each([["a"], [false], [undefined]])(
  "a promise of %j is an answer if there is no done",
  async (promised) => {
    expect(await asked(async () => promised, false)).toEqual([promised]);
  },
);

test.each<[string, Ask]>([
  [
    "a throw",
    () => {
      throw new Error("of the hook");
    },
  ],
  [
    "a rejection",
    async () => {
      throw new Error("of the hook");
    },
  ],
  ["an error to done", (done) => done(new Error("of the hook"))],
])("%s is the hook's own error", async (_, ask) => {
  await expect(asked(ask)).rejects.toThrow("of the hook");
  expect(vi.getTimerCount()).toBe(0);
});

test.each<[string, Ask]>([
  ["calls back never", () => {}],
  ["promises nothing, and may still call done", async () => undefined],
  ["promises something, and may still call done", async () => "a"],
  ["promises for ever", () => new Promise(() => {})],
])("a hook that %s ends its login after 30 seconds", async (_, ask) => {
  const answered = asked(ask).catch((error) => error);
  await vi.advanceTimersByTimeAsync(LONGEST_ANSWER_MS);
  expect(await answered).toEqual(new Error("the hook did not answer within 30 seconds"));
});
