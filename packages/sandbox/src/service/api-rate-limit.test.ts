import { expect, test } from "vitest";
import { startClient } from "../../testing/client.js";
import { type RateLimit, virtualClock } from "../index.js";

const NOW = Date.parse("2030-01-01T12:00:00.400Z");

async function start(more: Partial<RateLimit> = {}) {
  const clock = virtualClock(NOW);
  const client = await startClient({ clock, apiRateLimit: { limit: 2, windowMs: 10_000, ...more } });
  const { access_token } = await client.login();
  const call = (init?: RequestInit) => client.call("/api/products", access_token, init);
  return { client, clock, call };
}

const limitOf = ({ status, headers }: Response) => ({
  status,
  limit: headers.get("x-ratelimit-limit"),
  remaining: headers.get("x-ratelimit-remaining"),
  reset: headers.get("x-ratelimit-reset"),
  retryAfter: headers.get("retry-after"),
});

test("a window is counted down, and a call over the limit is a 429 that says when to come back", async () => {
  const { call, clock } = await start();
  const answers = [await call(), await call(), await call()].map(limitOf);
  const window = { limit: "2", reset: String(Math.ceil((NOW + 10_000) / 1000)) };
  expect(answers).toEqual([
    { ...window, status: 200, remaining: "1", retryAfter: null },
    { ...window, status: 200, remaining: "0", retryAfter: null },
    { ...window, status: 429, remaining: "0", retryAfter: "10" },
  ]);
  clock.advance(10_000);
  expect((await call()).status).toBe(200);
});

test("a call over the limit is not done", async () => {
  const { call } = await start({ limit: 1 });
  const sale = {
    method: "POST",
    body: JSON.stringify({ product_id: "harbour-coffee-1", quantity: 1 }),
    headers: { "content-type": "application/json" },
  };
  await call();
  expect((await call(sale)).status).toBe(429);
});

test("stores have windows of their own, and so has the token endpoint", async () => {
  const { call, client } = await start({ limit: 1 });
  await call();
  expect((await call()).status).toBe(429);
  const other = await client.login("second-chapter"); // the token endpoint still answers
  expect((await client.call("/api/products", other.access_token, {}, "second-chapter")).status).toBe(200);
});

test("clearFaults begins a window anew", async () => {
  const { call, client } = await start({ limit: 1 });
  await call();
  client.sandbox.clearFaults(client.store);
  expect((await call()).status).toBe(200);
});

test("there is no limit unless it was asked for", async () => {
  const { call, login } = await startClient();
  const { access_token } = await login();
  for (let calls = 0; calls < 400; calls += 1) {
    const answer = await call("/api/retailer", access_token);
    await answer.text();
    expect(limitOf(answer)).toMatchObject({ status: 200, limit: null });
  }
});
