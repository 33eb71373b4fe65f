import dns from "node:dns";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
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
  for (const family of ["resolve4", "resolve6"] as const)
    vi.spyOn(dns.promises.Resolver.prototype, family).mockImplementation(async (host: string) => {
      if (host.startsWith("real") && family === "resolve4") return ["127.0.0.1"];
      if (host.startsWith("late") && family === "resolve4") throw timeout;
      if (host.startsWith("late")) return ["::1"];
      throw unknownHost;
    });
  fetch = retailFetch();
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  asked.length = 0;
  await fetch.close();
  await new Promise((resolve) => server.close(resolve));
});

const exchangeAt = (name: string) => exchangeAtHost(`${name}.example`);
const exchangeAtHost = (host: string) =>
  fetch(`http://${host}:${port}/api/1.0/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "authorization_code", code: "forged" }),
  });
const timeout = Object.assign(new Error("queryA ETIMEOUT"), { code: "ETIMEOUT" });
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

test("a name that DNS knows does not wait behind names that it does not know", async () => {
  const forged = Promise.allSettled(["a", "b"].map(exchangeAt));
  await vi.waitUntil(() => asked.length === 1);
  for (const real of ["real", "real-too"]) expect(await (await exchangeAt(real)).text()).toBe("ok");
  expect(asked.map(({ host }) => host)).toEqual(["a.example"]);
  asked[0]?.answer(unknownHost);
  await vi.waitUntil(() => asked.length === 2);
  asked[1]?.answer(unknownHost);
  expect((await forged).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test.each(["localhost", "shop.localhost", "Shop.LOCALHOST."])("%s is never asked of DNS", async (host) => {
  vi.mocked(dns.promises.Resolver.prototype.resolve4).mockImplementation(async () => ["127.0.0.1"]);
  const forged = exchangeAt("a").catch(() => {});
  await vi.waitUntil(() => asked.length === 1);
  const exchanging = exchangeAtHost(host);
  expect(await (await exchangeAt("real")).text()).toBe("ok"); // DNS has been asked since
  expect(dns.promises.Resolver.prototype.resolve4).toHaveBeenCalledTimes(1);
  asked[0]?.answer(unknownHost);
  await forged;
  await vi.waitUntil(() => asked.length === 2);
  expect(asked[1]?.host).toBe(host.toLowerCase());
  asked[1]?.answer(null);
  expect(await (await exchanging).text()).toBe("ok");
});

test("a name whose IPv4 addresses DNS did not tell in time stays in line", async () => {
  const both = Promise.allSettled(["a", "late"].map(exchangeAt));
  await vi.waitUntil(() => vi.mocked(dns.promises.Resolver.prototype.resolve6).mock.calls.length === 1);
  await new Promise(setImmediate);
  for (const index of [0, 1]) {
    await vi.waitUntil(() => asked.length === index + 1);
    asked[index]?.answer(unknownHost);
  }
  expect(asked.map(({ host }) => host)).toEqual(["a.example", "late.example"]);
  expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("of many names that DNS says are nowhere, twenty stay in line, and the others give their places up", async () => {
  const forged = Array.from({ length: 40 }, (_, index) => exchangeAt(`a${index}`).catch((error) => error));
  const given = await Promise.all(forged.slice(1, 20)); // one is looked up, the oldest of the others left
  for (const error of given)
    expect(error).toMatchObject({ cause: { message: expect.stringContaining("not looked up") } });
  expect(asked.map(({ host }) => host)).toEqual(["a0.example"]);
  for (let index = 0; index < 21; index += 1) {
    await vi.waitUntil(() => asked.length === index + 1);
    asked[index]?.answer(null);
  }
  const answers = await Promise.all([forged[0], ...forged.slice(20)]);
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 21 }, () => 200));
});

test("each name that waits has a resolver of its own", async () => {
  const forged = Promise.allSettled(["a", "b", "c"].map(exchangeAt));
  const { mock } = vi.mocked(dns.promises.Resolver.prototype.resolve4);
  await vi.waitUntil(() => mock.contexts.length === 2);
  expect(new Set(mock.contexts).size).toBe(2);
  for (const index of [0, 1, 2]) {
    await vi.waitUntil(() => asked.length === index + 1);
    asked[index]?.answer(unknownHost);
  }
  await forged;
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

test("a lookup that throws fails its own exchange, and the next one is asked for", async () => {
  vi.mocked(dns.lookup).mockImplementationOnce(() => {
    throw new Error("no resolver");
  });
  await expect(exchangeAt("a")).rejects.toMatchObject({ cause: { message: "no resolver" } });
  expect(await (await exchangeAt("known")).text()).toBe("ok");
});

test("a call on a connection that an exchange opened, and its host has just closed, waits for no exchange", async () => {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => void sockets.add(socket));
  for (let turns = 0; turns < 8; turns += 1) {
    const hosts = Array.from({ length: 8 }, (_, index) => `known-${turns}-${index}`);
    await Promise.all(hosts.map(async (host) => (await exchangeAt(host)).text()));
    const stuck = exchangeAt("a");
    await vi.waitUntil(() => asked.length === 1);
    for (const socket of sockets) socket.end();
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    const calls = hosts.map((host) => fetch(`http://${host}.example:${port}/api/products`));
    await Promise.allSettled(calls.map(async (call) => (await call).text()));
    asked.pop()?.answer(unknownHost);
    await expect(stuck).rejects.toThrow("fetch failed");
  }
});
