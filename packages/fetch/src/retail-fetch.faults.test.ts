import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

// Hosts that do everything a host may do wrong, and callers who abort at any moment. What happens to one call is not
// said here: only that each ends, that none is sent twice, and that nothing stays.

const CALLS = 200;

let apis: ApiServer[];
let random: () => number;
/** How often each call has reached its host, by its number. */
const arrivals = new Map<string, number>();

beforeEach(async () => {
  arrivals.clear();
  apis = await Promise.all([1, 2, 3].map(() => apiServer(answer, { keepAliveTimeout: 100 })));
});
afterEach(() => Promise.all(apis.map((api) => api.close())));

const oneOf = <T>(...all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;

const ends: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  "a short answer": (_, response) => response.end("ok"),
  "a late answer": (_, response) => setTimeout(() => response.end("ok"), 15),
  "a long answer": (_, response) => response.end("x".repeat(300_000)),
  "an answer that breaks off": ({ socket }, response) => {
    response.writeHead(200, { "content-length": 100 }).write("half");
    setTimeout(() => socket.destroy(), 10);
  },
  "an answer that closes": (_, response) => response.writeHead(200, { connection: "close" }).end("ok"),
  "no answer": () => {},
  "a closed connection": ({ socket }) => socket.destroy(),
  "a reset": ({ socket }) => socket.resetAndDestroy(),
  "a redirect": (_, response) => response.writeHead(302, { location: `${oneOf(...apis).origin}/goal` }).end(),
  "a redirect without an end": (_, response) =>
    response
      .writeHead(302, { location: `${oneOf(...apis).origin}/goal`, "content-length": 10 })
      .flushHeaders(),
};

function answer(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const number = `${request.headers["x-number"]} ${request.url}`;
  arrivals.set(number, (arrivals.get(number) ?? 0) + 1);
  const usual = random() < 0.5 || request.url === "/goal";
  (ends[usual ? "a late answer" : oneOf(...Object.keys(ends))] as (typeof ends)[string])(request, response);
}

/** Makes a call that is aborted sooner or later; resolves however it ends. */
async function oneCall(fetch: RetailFetch, number: number): Promise<void> {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("enough")), random() * 600);
  const method = oneOf("GET", "GET", "GET", "POST", "HEAD");
  const headers: Record<string, string> = { "x-number": String(number) };
  if (random() < 0.03) headers["expect"] = "100-continue"; // refused
  const init = { method, headers, redirect: oneOf("follow", "error"), signal: controller.signal } as const;
  try {
    const origin = random() < 0.03 ? "http://127.0.0.1:1" : oneOf(...apis).origin;
    const path = random() < 0.1 ? "/api/1.0/token" : "/api/products";
    const body = method === "POST" ? "b".repeat(random() * 10_000) : null;
    const response = await fetch(`${origin}${path}`, { ...init, body });
    if (random() < 0.2) await response.body?.cancel();
    else await response.text();
  } catch {
    // Any of the faults, or the abort.
  }
}

for (const [seed, keepAliveMs] of [
  [1, 10_000],
  [2, 1001],
  [3, 0],
] as const) {
  test(`each call ends, none is sent twice, and nothing stays (${seed}, connections kept for ${keepAliveMs} ms)`, async () => {
    random = pseudoRandom(seed);
    const fetch = retailFetch({ perHost: 3, keepAliveMs });
    const calls: Promise<void>[] = [];
    for (let number = 0; number < CALLS; number += 1) {
      calls.push(oneCall(fetch, number));
      if (random() < 0.1) await new Promise((resolve) => setTimeout(resolve, random() * 60));
    }
    await Promise.all(calls);
    await fetch.close();
    expect([...arrivals].filter(([, count]) => count > 1)).toEqual([]);
    expect(arrivals.size).toBeGreaterThan(CALLS / 10);
    await expect.poll(() => apis.map(({ open }) => open)).toEqual([0, 0, 0]);
  });
}

/** The same numbers for the same seed; between 0 and 1. */
function pseudoRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
