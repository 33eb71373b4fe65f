import { retailPos } from "@retail-pos/core";
import { type RetailFetch, retailFetch } from "@retail-pos/fetch";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { afterEach, describe, expect, test, vi } from "vitest";

// A job that calls one store more often than its API allows, with `wait429Ms`: everything is served in the end.

const store = "harbour-coffee";
const CALLS = 300;
const LIMIT = 120;

let sandbox: Sandbox;
let fetch: RetailFetch;

afterEach(async () => {
  vi.unstubAllGlobals();
  await fetch.close();
  await sandbox.close();
});

async function start(windowMs: number) {
  sandbox = await startSandbox({ apiRateLimit: { limit: LIMIT, windowMs } });
  fetch = retailFetch({ wait429Ms: 120_000 });
  const { authUrl, baseUrl, application } = sandbox;
  const pos = retailPos({ ...application, authUrl, baseUrl, fetch });
  const code = sandbox.approve(store).searchParams.get("code") ?? "";
  await pos.connect(await pos.exchange(store, code));
  return pos;
}

/** How an API says when to come again; the sandbox says all of it in seconds. */
type Says = (headers: Headers) => void;

const inSecondsOnly: Says = (headers) => {
  for (const name of ["limit", "remaining", "reset"]) headers.delete(`x-ratelimit-${name}`);
};
const asADateOnly: Says = (headers) => {
  inSecondsOnly(headers);
  const seconds = headers.get("retry-after");
  if (seconds !== null)
    headers.set("retry-after", new Date(Date.now() + Number(seconds) * 1000).toUTCString());
};

/** The numbers of the calls, as they go out through the built-in `fetch`; a call that is sent again once more. */
function watchSending(says: Says): readonly number[] {
  const sent: number[] = [];
  const builtIn = globalThis.fetch;
  vi.stubGlobal("fetch", async (input: string | URL | Request, init?: RequestInit) => {
    const number = new URL(input instanceof Request ? input.url : input).searchParams.get("n");
    if (number !== null) sent.push(Number(number));
    const { body, status, headers } = await builtIn(input, init);
    const changed = new Headers(headers);
    says(changed);
    return new Response(body, { status, headers: changed });
  });
  return sent;
}

const apiCalls = () => sandbox.requests.filter(({ endpoint }) => endpoint === "api");
const limited = () => apiCalls().filter(({ status }) => status === 429);

describe("300 calls against 120 in a window", () => {
  const rows: { name: string; says: Says; perWindow: number }[] = [
    { name: "Remaining and Reset", says: () => {}, perWindow: 0 },
    { name: "Retry-After in seconds", says: inSecondsOnly, perWindow: 8 },
    { name: "Retry-After as a date", says: asADateOnly, perWindow: 8 },
  ];

  test.each(rows)(
    "that says $name: all are served in their order, $perWindow a window are answered 429",
    async ({ says, perWindow }) => {
      const pos = await start(3000);
      const sent = watchSending(says);
      const answers = await Promise.all(
        Array.from({ length: CALLS }, async (_, n) => {
          const answer = await pos.retailer(store).fetch(`api/retailer?n=${n}`);
          await answer.text();
          return answer.status;
        }),
      );
      expect(answers).toEqual(Array(CALLS).fill(200));
      expect([...new Set(sent)]).toEqual(Array.from({ length: CALLS }, (_, n) => n)); // in their order
      const windows = Math.ceil(CALLS / LIMIT);
      expect(limited().length).toBeLessThanOrEqual(perWindow * windows);
      expect(apiCalls().length - limited().length).toBe(CALLS);
      expect(sandbox.tokenRequests(store)).toHaveLength(1);
    },
  );
});

test("a renewal and a sale pass all those who wait for their turn", async () => {
  const pos = await start(5000);
  const retailer = pos.retailer(store);
  const reading = Array.from({ length: LIMIT + 50 }, async () => {
    const answer = await retailer.fetch("api/retailer");
    await answer.text();
    return answer.status;
  });
  while (apiCalls().length < LIMIT) await new Promise((resolve) => setTimeout(resolve, 10));
  const { value } = await retailer.token();
  await retailer.token({ rejected: value }); // a token request
  expect(sandbox.tokenRequests(store)).toHaveLength(2);
  const sale = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  expect((await retailer.fetch("api/sales", sale)).status).toBe(429); // it was sent, once, and nobody repeats it
  expect(apiCalls().filter(({ method }) => method === "POST")).toHaveLength(1);
  expect(await Promise.all(reading)).toEqual(Array(LIMIT + 50).fill(200));
});
