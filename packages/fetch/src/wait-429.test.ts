import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type LimitedServiceOptions, limitedService } from "../testing/limited-service.js";
import { type RetailFetch, retailFetch } from "./index.js";

// Time is a variable, and the service lives in memory, in the place of the global fetch.

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2030-01-01T12:00:00.400Z") });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const STORE = "https://shop.retail.example";
const SECOND = 1000;
const nothing = () => ({});

/** What came of a call, as soon as something did. */
interface Call {
  status?: number;
  error?: unknown;
}

function calling(fetch: RetailFetch, n: number, init?: RequestInit): Call {
  const call: Call = {};
  fetch(`${STORE}/api/products?n=${n}`, init).then(
    ({ status }) => Object.assign(call, { status }),
    (error) => Object.assign(call, { error }),
  );
  return call;
}

/** Answers as it is told, one after the other, each at once. The last answer stays. */
function answering(...answers: { status?: number; headers?: Record<string, string> }[]): number[] {
  const sentAt: number[] = [];
  vi.stubGlobal("fetch", async () => {
    const { status = 200, headers = {} } = answers[Math.min(sentAt.length, answers.length - 1)] ?? {};
    sentAt.push(Date.now());
    return new Response("", { status, headers });
  });
  return sentAt;
}

describe("1,000 calls against 350 in a window are all served, in their order:", () => {
  const reset = (endsAt: number) => Math.ceil(endsAt / SECOND);
  const rows: {
    name: string;
    says: LimitedServiceOptions["says"];
    refused: number;
  }[] = [
    {
      name: "Remaining and Reset: none is answered 429",
      says: ({ remaining, endsAt }) => ({
        "X-RateLimit-Remaining": String(remaining),
        "X-RateLimit-Reset": String(reset(endsAt)),
      }),
      refused: 0,
    },
    {
      name: "Remaining, and a Reset that is rounded down: none",
      says: ({ remaining, endsAt }) => ({
        "X-RateLimit-Remaining": String(remaining),
        "X-RateLimit-Reset": String(Math.floor(endsAt / SECOND)),
      }),
      refused: 0,
    },
    {
      name: "Retry-After in seconds: no more than there are connections",
      says: ({ status, endsAt }) =>
        status === 429 ? { "Retry-After": String(Math.ceil((endsAt - Date.now()) / SECOND)) } : {},
      refused: 8,
    },
    {
      name: "Retry-After as a date, which has no milliseconds",
      says: ({ status, endsAt }) => (status === 429 ? { "Retry-After": new Date(endsAt).toUTCString() } : {}),
      refused: 8,
    },
    {
      name: "Reset alone, with a 429",
      says: ({ status, endsAt }) => (status === 429 ? { "X-RateLimit-Reset": String(reset(endsAt)) } : {}),
      refused: 8,
    },
  ];

  for (const { name, says, refused } of rows) {
    test(name, async () => {
      const service = limitedService({ limit: 350, windowMs: 10 * SECOND, tookMs: 20, says });
      vi.stubGlobal("fetch", service.fetch);
      const fetch = retailFetch({ wait429Ms: 60 * SECOND });
      const calls = Array.from({ length: 1000 }, (_, n) => calling(fetch, n));
      await vi.advanceTimersByTimeAsync(40 * SECOND);
      expect(calls.map(({ status }) => status)).toEqual(Array(1000).fill(200));
      expect(Math.max(...service.refusedByWindow)).toBe(refused);
      expect(service.refusedByWindow.length).toBeLessThanOrEqual(4); // no window was wasted
      expect(service.most).toBe(8);
      const firstTimes = [...new Set(service.came)];
      expect(firstTimes).toEqual([...firstTimes].sort((one, other) => one - other));
    });
  }
});

describe("a 429 is waited for", () => {
  const now = () => Date.now();
  const rows: { name: string; headers: (at: number) => Record<string, string>; waitedMs: number }[] = [
    { name: "seconds", headers: () => ({ "Retry-After": "7" }), waitedMs: 7 * SECOND },
    { name: "no time at all is a second", headers: () => ({ "Retry-After": "0" }), waitedMs: SECOND },
    {
      name: "a date, and the whole of its second",
      headers: () => ({ "Retry-After": "Tue, 01 Jan 2030 12:00:07 GMT" }),
      waitedMs: 7 * SECOND + 599,
    },
    {
      name: "a date of the old form",
      headers: () => ({ "Retry-After": "Tuesday, 01-Jan-30 12:00:07 GMT" }),
      waitedMs: 7 * SECOND + 599,
    },
    {
      name: "a date of C's",
      headers: () => ({ "Retry-After": "Tue Jan  1 12:00:07 2030" }),
      waitedMs: 7 * SECOND + 599,
    },
    {
      name: "the reset",
      headers: (at) => ({ "X-RateLimit-Reset": String(Math.floor(at / SECOND) + 9) }),
      waitedMs: 9 * SECOND + 599,
    },
    {
      name: "Retry-After before the reset",
      headers: (at) => ({ "Retry-After": "2", "X-RateLimit-Reset": String(Math.floor(at / SECOND) + 9) }),
      waitedMs: 2 * SECOND,
    },
    {
      name: "Retry-After before Remaining: 0",
      headers: (at) => ({
        "Retry-After": "2",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": String(Math.floor(at / SECOND) + 9),
      }),
      waitedMs: 2 * SECOND,
    },
    ...["soon", "-1", "1.5", "", "-7 days", "Tue, 01 Jan 2029 12:00:00 GMT", "Tue, 99 Foo 2030"].map(
      (text) => ({
        name: `"${text}" is none, and the reset counts`,
        headers: (at: number) => ({
          "Retry-After": text,
          "X-RateLimit-Reset": String(Math.floor(at / SECOND) + 9),
        }),
        waitedMs: 9 * SECOND + 599,
      }),
    ),
    { name: "nothing usable: a minute", headers: () => ({ "Retry-After": "soon" }), waitedMs: 60 * SECOND },
    {
      name: "a reset in the past: a minute",
      headers: (at) => ({ "X-RateLimit-Reset": String(Math.floor(at / SECOND) - 9) }),
      waitedMs: 60 * SECOND,
    },
  ];

  for (const { name, headers, waitedMs } of rows) {
    test(`by ${name}`, async () => {
      const sentAt = answering({ status: 429, headers: headers(now()) }, {});
      const call = calling(retailFetch({ wait429Ms: 100 * SECOND }), 1);
      await vi.advanceTimersByTimeAsync(100 * SECOND);
      expect(call).toEqual({ status: 200 });
      expect((sentAt[1] ?? 0) - (sentAt[0] ?? 0)).toBe(waitedMs);
    });
  }

  test("with no more patience than the wait, though several calls were under way", async () => {
    let sent = 0;
    vi.stubGlobal("fetch", async () => {
      const n = sent++;
      await new Promise((resolve) => setTimeout(resolve, 20 + (n % 8))); // their answers come one by one
      return new Response("", { status: n < 8 ? 429 : 200 });
    });
    const fetch = retailFetch({ wait429Ms: 60 * SECOND });
    const calls = Array.from({ length: 100 }, (_, n) => calling(fetch, n));
    await vi.advanceTimersByTimeAsync(61 * SECOND);
    expect(calls).toEqual(Array(100).fill({ status: 200 }));
    expect(sent).toBe(108);
  });

  test("for longer, if a later answer of the same window says so", async () => {
    const sentAt: number[] = [];
    vi.stubGlobal("fetch", async () => {
      const n = sentAt.push(Date.now()) - 1;
      await new Promise((resolve) => setTimeout(resolve, 20 + n));
      return new Response("", n < 2 ? { status: 429, headers: { "Retry-After": n === 0 ? "2" : "9" } } : {});
    });
    const fetch = retailFetch({ wait429Ms: 60 * SECOND });
    const calls = [calling(fetch, 1), calling(fetch, 2)];
    await vi.advanceTimersByTimeAsync(10 * SECOND);
    expect(calls).toEqual([{ status: 200 }, { status: 200 }]);
    expect((sentAt[2] ?? 0) - (sentAt[0] ?? 0)).toBe(9 * SECOND + 21);
  });

  test("with the patience it had, if the turn comes sooner than was known", async () => {
    const sentAt: number[] = [];
    const headers = [
      { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(Math.floor(Date.now() / SECOND) + 60) },
      { "Retry-After": "5" },
      { "Retry-After": "15" },
    ];
    vi.stubGlobal("fetch", async () => {
      const n = sentAt.push(Date.now()) - 1;
      await new Promise((resolve) => setTimeout(resolve, 20 + n));
      return new Response("", { status: n === 1 || n === 2 ? 429 : 200, headers: headers[n] ?? {} });
    });
    const fetch = retailFetch({ perHost: 2, wait429Ms: 70 * SECOND });
    const calls = [1, 2, 3].map((n) => calling(fetch, n));
    await vi.advanceTimersByTimeAsync(30 * SECOND);
    expect(calls).toEqual([{ status: 200 }, { status: 200 }, { status: 200 }]);
    // The third waited for the minute first, then for five seconds and for fifteen; it was not sent in between.
    const waitedMs = sentAt.map((at) => at - (sentAt[0] ?? 0));
    expect(waitedMs).toEqual([0, 0, 5021, 20_043, expect.any(Number)]);
  });

  test("and asked again, as long as there is patience left for the whole of the next wait", async () => {
    const sentAt = answering({ status: 429, headers: { "Retry-After": "4" } });
    const call = calling(retailFetch({ wait429Ms: 10 * SECOND }), 1);
    await vi.advanceTimersByTimeAsync(8 * SECOND);
    expect(call).toEqual({ status: 429 }); // a third wait would make it twelve seconds
    expect(sentAt).toHaveLength(3);
  });

  for (const text of [String(365 * 86_400), "Wed, 01 Jan 2031 12:00:00 GMT", "9".repeat(400)]) {
    test(`but not for a year: "${text.slice(0, 40)}"`, async () => {
      const sentAt = answering({ status: 429, headers: { "Retry-After": text } });
      const fetch = retailFetch({ wait429Ms: 60 * SECOND });
      const calls = [1, 2, 3].map((n) => calling(fetch, n));
      await vi.advanceTimersByTimeAsync(1);
      expect(calls).toEqual([{ status: 429 }, { status: 429 }, { status: 429 }]); // each got its own
      expect(sentAt).toHaveLength(3);
    });
  }

  for (const method of ["GET", "get", "HEAD", "OPTIONS"]) {
    test(`by ${method}`, async () => {
      answering({ status: 429, headers: { "Retry-After": "2" } }, {});
      const call = calling(retailFetch({ wait429Ms: 5 * SECOND }), 1, { method });
      await vi.advanceTimersByTimeAsync(2 * SECOND);
      expect(call).toEqual({ status: 200 });
    });
  }

  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    test(`but not by ${method}: it is sent once, and does not wait for the turn of others`, async () => {
      const sentAt = answering({ status: 429, headers: { "Retry-After": "2" } });
      const fetch = retailFetch({ wait429Ms: 5 * SECOND });
      const first = calling(fetch, 1);
      await vi.advanceTimersByTimeAsync(1);
      const writing = calling(fetch, 2, { method });
      await vi.advanceTimersByTimeAsync(1);
      expect([first, writing]).toEqual([{}, { status: 429 }]);
      expect(sentAt).toHaveLength(2);
    });
  }

  for (const [backMs, waitedMs] of [
    [3 * SECOND, 10 * SECOND],
    [3600 * SECOND, 7 * SECOND],
  ] as const) {
    test(`though the clock is set back by ${backMs / SECOND} seconds meanwhile`, async () => {
      answering({ status: 429, headers: { "Retry-After": "7" } }, {});
      const fetch = retailFetch({ wait429Ms: 60 * SECOND });
      const calls = [calling(fetch, 1), calling(fetch, 2)];
      await vi.advanceTimersByTimeAsync(SECOND);
      vi.setSystemTime(Date.now() - backMs);
      await vi.advanceTimersByTimeAsync(waitedMs - SECOND - 1);
      expect(calls).toEqual([{}, { status: 200 }]);
      await vi.advanceTimersByTimeAsync(1);
      expect(calls).toEqual([{ status: 200 }, { status: 200 }]);
    });
  }

  test("not by default", async () => {
    const sentAt = answering({ status: 429, headers: { "Retry-After": "2" } });
    const call = calling(retailFetch(), 1);
    await vi.advanceTimersByTimeAsync(60 * SECOND);
    expect(call).toEqual({ status: 429 });
    expect(sentAt).toHaveLength(1);
  });

  test("and an aborted caller leaves at once, with the reason", async () => {
    const sentAt = answering({ status: 429, headers: { "Retry-After": "2" } });
    const { signal, abort } = aborting();
    const call = calling(retailFetch({ wait429Ms: 5 * SECOND }), 1, { signal });
    await vi.advanceTimersByTimeAsync(1);
    abort(new Error("enough"));
    await vi.advanceTimersByTimeAsync(0);
    expect(call.error).toEqual(new Error("enough"));
    await vi.advanceTimersByTimeAsync(60 * SECOND);
    expect(sentAt).toHaveLength(1);
  });
});

describe("X-RateLimit-Remaining", () => {
  const soon = () => String(Math.floor(Date.now() / SECOND) + 20);

  for (const { remaining, wait429Ms, together } of [
    { remaining: 3, wait429Ms: 0, together: 3 },
    { remaining: 1, wait429Ms: 0, together: 1 },
    { remaining: 0, wait429Ms: 0, together: 1 },
    { remaining: 0, wait429Ms: SECOND, together: 1 },
    { remaining: 3, wait429Ms: 60 * SECOND, together: 3 },
    { remaining: 100, wait429Ms: 0, together: 8 },
  ]) {
    test(`${remaining}, ${wait429Ms} ms of patience: ${together} at a time while others wait`, async () => {
      const headers = { "X-RateLimit-Remaining": String(remaining), "X-RateLimit-Reset": soon() };
      const service = limitedService({ limit: 1000, windowMs: 60 * SECOND, tookMs: 10, says: () => headers });
      vi.stubGlobal("fetch", service.fetch);
      const fetch = retailFetch({ wait429Ms });
      calling(fetch, 0);
      await vi.advanceTimersByTimeAsync(10);
      const calls = Array.from({ length: 12 }, (_, n) => calling(fetch, n));
      await vi.advanceTimersByTimeAsync(200);
      expect(calls).toEqual(Array(12).fill({ status: 200 }));
      expect(service.most).toBe(together);
    });
  }

  test("0 with patience: the next goes out once the window is over, and is served", async () => {
    const headers = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": soon() };
    const sentAt = answering({ headers }, {});
    const fetch = retailFetch({ wait429Ms: 60 * SECOND });
    const first = calling(fetch, 1);
    await vi.advanceTimersByTimeAsync(0);
    const second = calling(fetch, 2);
    await vi.advanceTimersByTimeAsync(21 * SECOND);
    expect([first, second]).toEqual([{ status: 200 }, { status: 200 }]);
    expect((sentAt[1] ?? 0) - (sentAt[0] ?? 0)).toBe(20 * SECOND + 599);
  });

  test("counts until its reset, and a slow call does not hold the others for longer", async () => {
    const headers = { "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": soon() };
    let sent = 0;
    vi.stubGlobal("fetch", async () => {
      sent += 1;
      if (sent === 2) await new Promise(() => {}); // never answers
      return new Response("", sent === 1 ? { headers } : {});
    });
    const fetch = retailFetch();
    calling(fetch, 1);
    await vi.advanceTimersByTimeAsync(0);
    const [slow, next] = [calling(fetch, 2), calling(fetch, 3)];
    await vi.advanceTimersByTimeAsync(20 * SECOND);
    expect([slow, next]).toEqual([{}, {}]);
    await vi.advanceTimersByTimeAsync(SECOND);
    expect([slow, next]).toEqual([{}, { status: 200 }]);
  });

  test("of an answer that was overtaken does not count", async () => {
    const reset = soon();
    const left = (remaining: string) => ({ "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset });
    const sentAt = answering({ headers: left("0") }, { headers: left("6") }, {});
    const fetch = retailFetch({ perHost: 2, wait429Ms: 60 * SECOND });
    calling(fetch, 1);
    calling(fetch, 2);
    await vi.advanceTimersByTimeAsync(0);
    const third = calling(fetch, 3);
    await vi.advanceTimersByTimeAsync(SECOND);
    expect(third).toEqual({});
    await vi.advanceTimersByTimeAsync(20 * SECOND);
    expect(third).toEqual({ status: 200 });
    expect(sentAt).toHaveLength(3);
  });

  test("of one host says nothing of another", async () => {
    const headers = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": soon() };
    answering({ headers });
    const fetch = retailFetch({ wait429Ms: 60 * SECOND });
    calling(fetch, 1);
    await vi.advanceTimersByTimeAsync(0);
    const other = fetch("https://other.retail.example/");
    expect((await other).status).toBe(200);
  });

  test("of a host that a redirect led to says nothing of the one that was asked", async () => {
    const headers = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": soon() };
    vi.stubGlobal("fetch", async () =>
      Object.defineProperty(new Response("", { headers }), "url", { value: "https://elsewhere.example/" }),
    );
    const fetch = retailFetch({ wait429Ms: 60 * SECOND });
    calling(fetch, 1);
    await vi.advanceTimersByTimeAsync(0);
    const second = calling(fetch, 2);
    await vi.advanceTimersByTimeAsync(0);
    expect(second).toEqual({ status: 200 });
  });
});

test("a token request passes all who wait for their turn, and learns nothing for them", async () => {
  const sentAt = answering({ status: 429, headers: { "Retry-After": "9" } }, { status: 429 });
  const fetch = retailFetch({ perHost: 1, wait429Ms: 60 * SECOND });
  const calls = Array.from({ length: 20 }, (_, n) => calling(fetch, n));
  await vi.advanceTimersByTimeAsync(1);
  const token = await fetch(`${STORE}/api/1.0/token`, { method: "POST", body: "grant_type=refresh_token" });
  expect(token.status).toBe(429);
  expect(sentAt).toHaveLength(2);
  expect(calls).toEqual(Array(20).fill({}));
});

test("close() tells those who wait for their turn; a 429 that comes after it is returned", async () => {
  const service = limitedService({ limit: 0, windowMs: 60 * SECOND, tookMs: 10, says: nothing });
  vi.stubGlobal("fetch", service.fetch);
  const fetch = retailFetch({ perHost: 1, wait429Ms: 90 * SECOND });
  const first = calling(fetch, 1);
  await vi.advanceTimersByTimeAsync(10);
  const second = calling(fetch, 2, { method: "POST" });
  await vi.advanceTimersByTimeAsync(5);
  const closed = fetch.close();
  await vi.advanceTimersByTimeAsync(5);
  await closed;
  expect(first.error).toMatchObject({
    name: "RetailFetchError",
    code: "closed",
    host: "shop.retail.example",
  });
  expect(second).toEqual({ status: 429 });
});

test("close() tells all who wait, also once their turn has come and the timer is late", async () => {
  const sentAt = answering({ status: 429, headers: { "Retry-After": "1" } }, {});
  const fetch = retailFetch({ perHost: 2, wait429Ms: 20 * SECOND });
  const calls = [calling(fetch, 0)];
  await vi.advanceTimersByTimeAsync(1);
  for (let n = 1; n < 20; n += 1) calls.push(calling(fetch, n));
  await vi.advanceTimersByTimeAsync(1);
  vi.setSystemTime(Date.now() + 2 * SECOND);
  await fetch.close();
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  for (const call of calls) expect(call.error).toMatchObject({ code: "closed" });
  expect(sentAt).toHaveLength(1);
});

test("nothing stays of a host that has said what cannot matter any more", async () => {
  const headers = {
    "X-RateLimit-Remaining": "2",
    "X-RateLimit-Reset": String(Math.floor(Date.now() / SECOND) + 5),
  };
  answering({ headers });
  const fetch = retailFetch();
  for (const store of ["one", "two"]) await fetch(`https://${store}.retail.example/`);
  expect(vi.getTimerCount()).toBe(2); // their windows are remembered
  await vi.advanceTimersByTimeAsync(6 * SECOND);
  expect(vi.getTimerCount()).toBe(0);
});

function aborting(): { signal: AbortSignal; abort: (reason: unknown) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
