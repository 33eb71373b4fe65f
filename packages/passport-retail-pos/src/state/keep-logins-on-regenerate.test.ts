import { describe, expect, test, vi } from "vitest";
import { carryAcrossRegenerate, type Luggage } from "./keep-logins-on-regenerate.js";
import type { Session } from "./sessions.js";

// Each framework has a `regenerate` of its own. These are their shapes; test/matrix.test.ts has the real ones.

const login = { handle: "of the other tab", startedAt: 0 };

describe("regenerate is called as its caller called it, and the logins of the other tabs move along:", () => {
  test.each<[string, (...args: unknown[]) => unknown, unknown[]]>([
    ["with a callback", (done) => setImmediate(done as () => void), []],
    ["with a callback, answered at once", (done) => (done as () => void)(), []],
    ["with keys and a callback", (_keys, done) => setImmediate(done as () => void), [["kept"]]],
    ["with a callback that is promised", async (done) => (done as () => void)(), []],
    ["with a callback that is never called, and a promise", async () => {}, []],
  ])("%s", async (_, own, args) => {
    const { session, luggage, left } = packed(own);
    carryAcrossRegenerate(session, luggage);
    const error = await new Promise((done) => session.regenerate?.(...args, done));
    expect([error, left.at(-1)]).toEqual([undefined, [login]]);
    expect(session.seen).toEqual([...args, expect.any(Function)]);
  });

  test("with keys, for a promise", async () => {
    const { session, luggage, left } = packed(async () => "its own answer");
    carryAcrossRegenerate(session, luggage);
    await session.regenerate?.(["kept"]);
    expect([session.seen, left.at(-1)]).toEqual([[["kept"]], [login]]);
  });

  test("with keys, for nothing: it is done when it returns", () => {
    const { session, luggage, left } = packed(() => undefined);
    carryAcrossRegenerate(session, luggage);
    expect(session.regenerate?.(["kept"])).toBeUndefined();
    expect([session.seen, left.at(-1)]).toEqual([[["kept"]], [login]]);
  });
});

describe("a regenerate that fails says so:", () => {
  const boom = new Error("of the session store");

  test.each<[string, (...args: unknown[]) => unknown]>([
    ["through its callback", (done) => (done as (error: Error) => void)(boom)],
    [
      "as a throw",
      () => {
        throw boom;
      },
    ],
    ["as a rejection", () => Promise.reject(boom)],
  ])("%s, to a callback", async (_, own) => {
    const { session, luggage } = packed(own);
    carryAcrossRegenerate(session, luggage);
    expect(await new Promise((done) => session.regenerate?.(done))).toBe(boom);
  });

  test("as a rejection, to whoever awaits it", async () => {
    const { session, luggage } = packed(() => Promise.reject(boom));
    carryAcrossRegenerate(session, luggage);
    await expect(session.regenerate?.([])).rejects.toBe(boom);
  });
});

describe("a regenerate that never answers is an error after ten seconds:", () => {
  test.each<[string, (...args: unknown[]) => unknown, unknown[]]>([
    ["it takes no callback", () => undefined, []],
    ["its promise stays open", () => new Promise(() => {}), []],
  ])("%s", async (_, own) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { session, luggage } = packed(own);
    carryAcrossRegenerate(session, luggage);
    const error = new Promise((done) => session.regenerate?.(done));
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    expect(String(await error)).toMatch(/not regenerated within 10 seconds/);
  });
});

test("a session without one is left alone", () => {
  const session: Session = {};
  carryAcrossRegenerate(session, packed(() => undefined).luggage);
  expect(Reflect.ownKeys(session)).toEqual([]);
});

/** A session with that `regenerate`, and what its caller's wrapper has to move. */
function packed(own: (...args: unknown[]) => unknown) {
  const left: unknown[] = [];
  const session: Session & { seen: unknown[] } = {
    seen: [],
    regenerate(...args: unknown[]) {
      session.seen = args;
      return own(...args);
    },
  };
  const luggage: Luggage = {
    known: () => [login],
    stored: async () => [login],
    put: (pending) => void left.push(pending),
    failed: (error) => {
      throw error;
    },
  };
  return { session, luggage, left };
}
