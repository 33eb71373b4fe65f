import dns from "node:dns";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { retailPos } from "@retail-pos/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type RetailFetch, retailFetch } from "./index.js";

// Callbacks with made-up prefixes: their hosts' names take one of the two that Node looks up at a time.

/** Lookups under way that have not been answered, by name. */
const asked: { host: string; answer: (error: Error | null) => void }[] = [];
let fetch: RetailFetch;
let port: number;
const server = createServer((_, response) => response.end("ok"));

beforeEach(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
  const lookup = (host: string, { all }: dns.LookupOptions, done: (...answer: unknown[]) => void) => {
    const found = all ? [[{ address: "127.0.0.1", family: 4 }]] : ["127.0.0.1", 4];
    if (host.startsWith("known")) done(null, ...found);
    else asked.push({ host, answer: (error) => (error ? done(error) : done(null, ...found)) });
  };
  vi.spyOn(dns, "lookup").mockImplementation(lookup as typeof dns.lookup);
  fetch = retailFetch();
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  asked.length = 0;
  await fetch.close();
  await new Promise((resolve) => server.close(resolve));
});

const exchangeAt = (host: string) =>
  fetch(`http://${host}.example:${port}/api/1.0/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "authorization_code", code: "forged" }),
  });
const unknownHost = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });

test("exchanges ask for one name at a time; a renewal and a call ask at once", async () => {
  const exchanges = ["a", "b", "c", "d"].map(exchangeAt);
  await vi.waitUntil(() => asked.length === 1);
  const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "r" });
  const renewal = fetch(`http://known.example:${port}/api/1.0/token`, { method: "POST", body });
  expect(await (await renewal).text()).toBe("ok");
  expect(await (await fetch(`http://known-too.example:${port}/api/products`)).text()).toBe("ok");
  expect(asked.map(({ host }) => host)).toEqual(["a.example"]);

  asked[0]?.answer(null);
  expect(await (await exchanges[0])?.text()).toBe("ok");
  await vi.waitUntil(() => asked.length === 2);
  asked[1]?.answer(unknownHost);
  await expect(exchanges[1]).rejects.toMatchObject({ cause: { code: "ENOTFOUND" } });
  for (const index of [2, 3]) {
    await vi.waitUntil(() => asked.length === index + 1);
    asked[index]?.answer(null);
    expect(await (await exchanges[index])?.text()).toBe("ok");
  }
});

test("the exchanges are core's", async () => {
  const pos = retailPos({
    authUrl: "http://localhost",
    baseUrl: "http://localhost/{domain_prefix}",
    clientId: "id",
    clientSecret: "secret",
    redirectUri: "http://localhost/callback",
    fetch: (input, init) => fetch(String(input).replace("localhost", `shop.example:${port}`), init),
  });
  const exchanging = pos.exchange("shop", "a code").catch((error) => error);
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.answer(unknownHost);
  expect(await exchanging).toMatchObject({ code: "token_endpoint_failed" });
});

test("a name that waited ten seconds is asked for no more", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const exchanges = ["a", "b"].map(exchangeAt);
  await vi.waitUntil(() => asked.length === 1);
  vi.advanceTimersByTime(10_001);
  const last = exchangeAt("known");
  asked[0]?.answer(unknownHost);
  await expect(exchanges[0]).rejects.toThrow("fetch failed");
  await expect(exchanges[1]).rejects.toMatchObject({
    cause: { message: expect.stringContaining("in time") },
  });
  expect(await (await last).text()).toBe("ok");
  expect(asked.map(({ host }) => host)).toEqual(["a.example"]);
});
