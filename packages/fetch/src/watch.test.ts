import { describe, expect, test } from "vitest";
import type { Handler } from "./dispatcher.js";
import { fail, type Watch, watch } from "./watch.js";

/** A handler as a `fetch` makes one, and its request as undici tells it. */
interface Played {
  readonly handler: Handler;
  /** What the handler was told. */
  readonly told: unknown[];
  /** What undici was asked for. */
  readonly asked: unknown[];
  readonly begin: () => unknown;
  readonly head: () => unknown;
  /** @returns whether undici reads on. */
  readonly data: () => boolean;
  readonly end: () => unknown;
  readonly fails: () => unknown;
}

const reason = new Error("reset");

function older(): Played {
  const told: unknown[] = [];
  const asked: unknown[] = [];
  const say = (word: unknown, answer?: unknown) =>
    function (this: Handler) {
      told.push(word, this === handler);
      return answer;
    };
  const handler: Handler = {
    onConnect: say("begun"),
    onHeaders: say("head"),
    onData: say("data", false),
    onComplete: say("over"),
    onError: say("failed"),
  };
  return {
    handler,
    told,
    asked,
    begin: () => handler.onConnect?.((why: unknown) => asked.push(why)),
    head: () =>
      handler.onHeaders?.(302, [Buffer.from("Connection"), Buffer.from("close")], () => asked.push("go on")),
    data: () => handler.onData?.(Buffer.from("x")) !== false,
    end: () => handler.onComplete?.([]),
    fails: () => handler.onError?.(reason),
  };
}

function newer(): Played {
  const told: unknown[] = [];
  const asked: unknown[] = [];
  let isPaused = false;
  const controller = {
    abort: (why: unknown) => asked.push(why),
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      asked.push("go on");
    },
  };
  const say = (word: unknown) =>
    function (this: Handler) {
      told.push(word, this === handler);
      if (word === "data") controller.pause();
    };
  const handler: Handler = {
    onRequestStart: say("begun"),
    onResponseStart: say("head"),
    onResponseData: say("data"),
    onResponseEnd: say("over"),
    onResponseError: say("failed"),
  };
  return {
    handler,
    told,
    asked,
    begin: () => handler.onRequestStart?.(controller, {}),
    head: () => handler.onResponseStart?.(controller, 302, { connection: "close" }, "Found"),
    data: () => {
      handler.onResponseData?.(controller, Buffer.from("x"));
      return !isPaused;
    },
    end: () => handler.onResponseEnd?.(controller, {}),
    fails: () => handler.onResponseError?.(controller, reason),
  };
}

describe.each(Object.entries({ older, newer }))("a handler of the %s shape", (_, play) => {
  test("is told everything, by whoever watches nothing", () => {
    const { handler, told, begin, head, data, end } = play();
    watch(handler, {});
    for (const say of [begin, head, data, end]) say();
    expect(told).toEqual(["begun", true, "head", true, "data", true, "over", true]);
  });

  test("waits for its reader, and goes on when it is told to", () => {
    const { handler, asked, begin, head, data } = play();
    let goOn = () => {};
    watch(handler, { head: (_status, _headers, it) => (goOn = it) });
    begin();
    head();
    expect(data()).toBe(false);
    goOn();
    expect(asked).toEqual(["go on"]);
  });

  test("reads on without room, if somebody wants that", () => {
    const { handler, begin, head, data, told } = play();
    watch(handler, { readsOn: () => true });
    begin();
    head();
    expect(data()).toBe(true);
    expect(told).toContain("data");
  });

  test("has its head and its abort passed on", () => {
    const { handler, asked, begin, head } = play();
    const seen: unknown[] = [];
    watch(handler, {
      begun: (abort) => abort(reason),
      head: (status, headers) => seen.push(status, String(headers().get("connection"))),
    });
    begin();
    head();
    expect([...seen, ...asked]).toEqual([302, "close", reason]);
  });

  test("is told nothing more where somebody is silent, who learns of the end all the same", () => {
    const { handler, told, begin, head, data, fails } = play();
    const ends: boolean[] = [];
    watch(handler, { isSilent: () => true, over: (hasFailed) => ends.push(hasFailed) });
    begin();
    head();
    expect(data()).toBe(true);
    fails();
    expect(told).toEqual(["begun", true, "head", true]);
    expect(ends).toEqual([true]);
  });

  test("learns of no failure that is taken back, nor does who watched before", () => {
    const { handler, told, fails, end } = play();
    const heard: string[] = [];
    let isTakenBack = true;
    watch(handler, { over: () => heard.push("inner") });
    watch(handler, { takesBack: () => isTakenBack, over: () => heard.push("outer") });
    fails();
    expect([...told, ...heard]).toEqual([]);
    isTakenBack = false;
    end();
    expect([...told, ...heard]).toEqual(["over", true, "inner", "outer"]);
  });

  test("that throws at its end is over", () => {
    const { handler, end } = play();
    const ends: boolean[] = [];
    const broken = () => {
      throw reason;
    };
    Object.assign(handler, { onComplete: broken, onResponseEnd: broken });
    watch(handler, { over: (hasFailed) => ends.push(hasFailed) } satisfies Watch);
    expect(end).toThrow(reason);
    expect(ends).toEqual([false]);
  });

  test("is told of a failure that undici did not tell", () => {
    const { handler, told } = play();
    fail(handler, reason);
    expect(told).toEqual(["failed", true]);
  });
});
