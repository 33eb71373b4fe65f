import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startWorkerd, type Workerd } from "./support/workers/workerd.js";

// In workerd, the runtime of Cloudflare Workers. It ends a request's work once the request is answered or its client
// has left: promises of that work never settle, and its timers never run.

vi.setConfig({ maxConcurrency: 50 });

const DAY_MS = 86_400_000;
/** A caller without an answer hangs. Behind a renewal that died, an answer takes `timeoutMs` and three seconds. */
const HANGS_AFTER_MS = 20_000;

/** When the service answers a renewal. The last answer comes when the renewal has been given up. */
const answers = [
  { answer: "after 300 ms", answerAfterMs: 300, timeoutMs: 10_000 },
  { answer: "after 3 s", answerAfterMs: 3000, timeoutMs: 10_000 },
  { answer: "a second after timeoutMs", answerAfterMs: 3000, timeoutMs: 2000 },
];
const backgrounds = [
  { handed: "to each request's waitUntil", background: "request" },
  { handed: "to waitUntil of cloudflare:workers", background: "module" },
];
const handedOver = backgrounds.flatMap((background) =>
  answers.map((answer) => ({ ...background, ...answer })),
);

/** Since 2024-10-14 a wait for work that died with its request is rejected at once; before, it never settled. */
const dates = ["2024-10-13", "2026-11-01"] as const;
const [OLD, NEW] = dates;
const deaths = dates.flatMap((date) => answers.map((answer) => ({ date, ...answer })));

let sandbox: Sandbox;
let workerds: Record<string, Workerd>;
const unused = Array.from({ length: 100 }, (_, index) => `store-${index}`);

beforeAll(async () => {
  const stores = [...unused, "made-at-the-start"].map((domainPrefix) => ({
    domainPrefix,
    name: domainPrefix,
  }));
  // The refresh token stays, so a renewal that died with its request may be sent again.
  sandbox = await startSandbox({ approved: true, stores, rotation: "never" });
  workerds = { [OLD]: await started(OLD), [NEW]: await started(NEW) };
});

afterAll(async () => {
  for (const workerd of Object.values(workerds ?? {})) await workerd.close();
  await sandbox?.close();
});

/** The worker of these tests, with the behaviour of that day. */
function started(compatibilityDate: string): Promise<Workerd> {
  const { authUrl, baseUrl, application } = sandbox;
  const input = fileURLToPath(new URL("support/workers/worker.mjs", import.meta.url));
  const settings = { authUrl, baseUrl, ...application };
  return startWorkerd({ input, compatibilityDate, compatibilityFlags: ["nodejs_als"], settings });
}

/** What a client of the worker is told: a status, and a token, an error's code or products. */
type Said = { status: number; text: string };

/** @param left a client that leaves resets its connection, because a server may go on if it is only closed. */
async function said(url: string, left?: AbortSignal): Promise<Said> {
  const request = get(url, { agent: false, signal: AbortSignal.timeout(HANGS_AFTER_MS) });
  left?.addEventListener("abort", () => request.socket?.resetAndDestroy());
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await text(response) };
}

/** A store that is logged in, with a client of its own in the worker. */
async function connected({
  background = "none",
  timeoutMs = 10_000,
  date = NEW as string,
  at = workerds[date] as Workerd,
  name = unused.pop() ?? "",
} = {}) {
  const ask = (route: string, left?: AbortSignal) => said(`${at.url}/${name}/${route}`, left);
  const logIn = (left?: AbortSignal) => {
    const code = sandbox.approve(name).searchParams.get("code");
    return ask(`login?code=${code}&background=${background}&timeoutMs=${timeoutMs}`, left);
  };
  expect(await logIn()).toMatchObject({ status: 200 });
  const held = await ask("token");
  return {
    /** What callers get before the token's end. */
    held,
    logIn,
    token: (left?: AbortSignal) => ask("token", left),
    products: () => ask("products"),
    /** Resolves once so many have asked for a token. */
    hasCallers: (count: number) => expect.poll(() => ask("callers")).toMatchObject({ text: String(count) }),
    nearTheEnd: () => ask(`clock?ahead=${DAY_MS - 60_000}`),
    atTheEnd: () => ask(`clock?ahead=${DAY_MS}`),
    /** Resolves once a new token is in the store. Asks for none. */
    renewed: () => expect.poll(() => ask("stored")).not.toEqual(held),
    /** A new token, once there is one: while core holds a renewal back, it says so. */
    newToken: () =>
      vi.waitFor(async () => {
        const said = await ask("token");
        expect(said).toMatchObject({ status: 200, text: expect.not.stringContaining(held.text) });
        return said;
      }, HANGS_AFTER_MS),
    /** The next token request is answered so long after it came. */
    answersAfter(ms: number): Promise<unknown> {
      const late = sandbox.fault("late", { domainPrefix: name });
      return late.struck.then(() => setTimeout(() => late.release(), ms));
    },
    holdApi: () => sandbox.fault("late", { domainPrefix: name, endpoint: "api" }),
    renewals: () =>
      sandbox.tokenRequests(name).filter(({ grantType }) => grantType === "refresh_token").length,
  };
}

describe("a renewal that began early, without background,", () => {
  test.concurrent.for(deaths)(
    "and would be answered $answer delays no caller before the token's end, and lets the next one after it renew ($date)",
    async ({ date, answerAfterMs, timeoutMs }) => {
      const store = await connected({ date, timeoutMs });
      const isSent = store.answersAfter(answerAfterMs);
      const api = store.holdApi();
      await store.nearTheEnd();
      const first = store.products();
      await isSent;
      expect(await store.token()).toEqual(store.held);
      api.release();
      expect(await first).toMatchObject({ status: 200 }); // and its renewal has died
      expect(await store.token()).toEqual(store.held);
      await store.atTheEnd();
      const next = await store.token();
      expect(next).toMatchObject({ status: 200, text: expect.not.stringContaining(store.held.text) });
      expect(await store.token()).toEqual(next);
      expect(store.renewals()).toBe(2);
    },
  );

  test.concurrent.for(dates)("may die before it is sent (%s)", async (date) => {
    const store = await connected({ date, timeoutMs: 2000 });
    await store.nearTheEnd();
    for (let callers = 0; callers < 5; callers += 1) expect(await store.token()).toEqual(store.held);
    await store.atTheEnd();
    const next = await Promise.all([store.token(), store.token(), store.products()]);
    expect(next).toEqual(Array(3).fill(expect.objectContaining({ status: 200 })));
    expect(store.renewals()).toBe(1);
  });
});

describe("a renewal after the token's end, without background,", () => {
  test.concurrent.for(deaths)(
    "that is answered $answer ($date)",
    async ({ date, answerAfterMs, timeoutMs }) => {
      const store = await connected({ date, timeoutMs });
      const isSent = store.answersAfter(answerAfterMs);
      await store.atTheEnd();
      const first = store.token();
      await isSent;
      const others = await Promise.all([store.token(), store.token()]);
      const isInTime = answerAfterMs < timeoutMs;
      const expected = isInTime ? { status: 200 } : { status: 502, text: "token_endpoint_failed" };
      expect([await first, ...others]).toEqual(Array(3).fill(expect.objectContaining(expected)));
      expect(await store.newToken()).toEqual(isInTime ? await first : expect.anything());
      expect(store.renewals()).toBe(isInTime ? 1 : 2);
    },
  );

  test.concurrent.for(dates)("whose client left makes no later caller hang (%s)", async (date) => {
    const store = await connected({ date });
    const isSent = store.answersAfter(30_000);
    await store.atTheEnd();
    const client = new AbortController();
    const first = store.token(client.signal);
    await isSent;
    client.abort();
    await expect(first).rejects.toThrow("socket hang up");
    const others = await Promise.all([store.token(), store.token(), store.products()]);
    expect(others).toEqual(Array(3).fill(expect.objectContaining({ status: 200 })));
    expect(store.renewals()).toBe(2);
  });

  test.concurrent.for(dates)("serves those who stay, although one who waited has left (%s)", async (date) => {
    const store = await connected({ date });
    const isSent = store.answersAfter(1000);
    await store.atTheEnd();
    const first = store.token();
    await isSent;
    const client = new AbortController();
    const second = store.token(client.signal);
    const third = store.token();
    await store.hasCallers(4);
    client.abort();
    await expect(second).rejects.toThrow("socket hang up");
    expect(await first).toMatchObject({ status: 200 });
    expect(await third).toEqual(await first);
    expect(store.renewals()).toBe(1);
  });
});

describe("with background handed", () => {
  test.concurrent.for(handedOver)(
    "$handed, an early renewal that is answered $answer is saved although its request was answered",
    async ({ background, answerAfterMs, timeoutMs }) => {
      const store = await connected({ background, timeoutMs });
      const isSent = store.answersAfter(answerAfterMs);
      await store.nearTheEnd();
      expect(await store.token()).toEqual(store.held);
      await isSent;
      expect(await store.token()).toEqual(store.held);
      await store.renewed();
      await store.atTheEnd();
      expect(await store.token()).toEqual(await store.newToken());
      expect(store.renewals()).toBe(1);
    },
  );

  test.concurrent.for(handedOver)(
    "$handed, a renewal after the end that is answered $answer is saved although its client left",
    async ({ background, answerAfterMs, timeoutMs }) => {
      const store = await connected({ background, timeoutMs });
      const isSent = store.answersAfter(answerAfterMs);
      await store.atTheEnd();
      const client = new AbortController();
      const first = store.token(client.signal);
      await isSent;
      client.abort();
      await expect(first).rejects.toThrow("socket hang up");
      await store.renewed();
      expect(await store.token()).toMatchObject({ status: 200 });
      expect(store.renewals()).toBe(1);
    },
  );
});

test.concurrent.for(dates)(
  "a login whose client left does not stop the next one of that store (%s)",
  async (date) => {
    const store = await connected({ date, timeoutMs: 2000 });
    const isSent = store.answersAfter(30_000);
    const client = new AbortController();
    const first = store.logIn(client.signal);
    await isSent;
    client.abort();
    await expect(first).rejects.toThrow("socket hang up");
    expect(await Promise.all([store.logIn(), store.logIn()])).toEqual(
      Array(2).fill(expect.objectContaining({ status: 200 })),
    );
  },
);

describe("with the compatibility date", () => {
  // Before 2024-11-11, `fetch` threw if it was given a `cache`.
  test.concurrent.for(["2023-05-18", "2024-09-30", "2024-11-10", "2026-11-01"])(
    "%s, a client that was made while the worker was loaded logs in, calls and renews",
    async (compatibilityDate, { onTestFinished }) => {
      const at = await started(compatibilityDate);
      onTestFinished(() => at.close());
      const store = await connected({ at, name: "made-at-the-start" });
      expect(await store.products()).toMatchObject({ status: 200 });
      await store.atTheEnd();
      expect(await store.products()).toMatchObject({ status: 200 });
      expect(await store.token()).toEqual(await store.newToken());
    },
  );
});
