import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

// A host that accepts connections, and never says a word of TLS. undici waits for ten seconds.

let silent: Server;
let fetch: RetailFetch;
let controller: AbortController;
const sockets: Socket[] = [];

beforeEach(async () => {
  sockets.length = 0;
  silent = createServer((socket) => void sockets.push(socket.on("error", () => {}).resume()));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  controller = new AbortController();
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
});

/** @returns why it failed. */
const call = (path = "api/products", init?: RequestInit) => {
  const { port } = silent.address() as AddressInfo;
  return fetch(`https://127.0.0.1:${port}/${path}`, { ...init, signal: controller.signal }).then(
    () => "it was answered",
    (error: Error) => error.message,
  );
};
const opened = (count: number) => vi.waitFor(() => expect(sockets).toHaveLength(count), 5000);
const allClosed = () => vi.waitFor(() => expect(sockets.every(({ closed }) => closed)).toBe(true), 5000);

describe("calls that are aborted while their connections are being made", () => {
  test("give them up, and those that come later have the places", async () => {
    fetch = retailFetch({ perHost: 2 });
    for (const round of [1, 2, 3]) {
      const calls = [call(), call(), call()];
      await opened(2 * round);
      controller.abort(new Error("enough"));
      expect(await Promise.all(calls)).toEqual(Array(3).fill("enough"));
      controller = new AbortController();
      await allClosed();
    }
  });

  test("do not hold up close(), nor does a token request", async () => {
    fetch = retailFetch({ perHost: 2 });
    const calls = [call(), call(), call("api/1.0/token", { method: "POST" })];
    await opened(3);
    controller.abort(new Error("enough"));
    expect(await Promise.all(calls)).toEqual(Array(3).fill("enough"));
    await fetch.close();
    await allClosed();
  }, 5000);

  test("take nobody else's", async () => {
    fetch = retailFetch({ perHost: 2 });
    const other = new AbortController();
    const first = call();
    controller = other;
    const second = call();
    await opened(2);
    other.abort(new Error("enough"));
    expect(await second).toBe("enough");
    await vi.waitFor(() => expect(sockets.filter(({ closed }) => closed)).toHaveLength(1), 5000);
    await Promise.all(sockets.map((socket) => socket.destroy()));
    expect(await first).toBe("fetch failed");
  });

  test("before they are made, too", async () => {
    fetch = retailFetch({ perHost: 1 });
    for (const round of [1, 2, 3]) {
      const aborted = call();
      controller.abort(new Error(`enough ${round}`));
      expect(await aborted).toBe(`enough ${round}`);
      controller = new AbortController();
    }
    await fetch.close();
    await allClosed();
  }, 5000);

  for (const method of ["GET", "POST"]) {
    test(`many ${method} at once, also those that come next at that moment`, async () => {
      fetch = retailFetch({ perHost: 2 });
      const body = method === "POST" ? "a body" : null;
      const calls = Array.from({ length: 6 }, () => {
        controller = new AbortController();
        setTimeout((one) => one.abort(new Error("enough")), 300, controller);
        return call("api/products", { method, body });
      });
      expect(await Promise.all(calls)).toEqual(Array(6).fill("enough"));
      await fetch.close();
      await allClosed();
    }, 5000);
  }
});

describe("a host that answers slowly", () => {
  const slowApi = async () => {
    const api = await apiServer((request, response) => {
      if (request.url === "/moved") response.writeHead(302, { location: `${elsewhere}/held` }).end();
      else if (request.url === "/begun") response.writeHead(200, { "content-length": 10 }).flushHeaders();
      else if (request.url !== "/held") response.end("ok");
    });
    onTestFinished(() => api.close());
    return api;
  };
  let elsewhere = "";
  beforeEach(() => {
    fetch = retailFetch({ perHost: 1 });
  });

  test("gets no new connection for a call that was aborted", async () => {
    const api = await slowApi();
    const held = fetch(`${api.origin}/held`, { signal: controller.signal });
    await vi.waitFor(() => expect(api.underWay).toBe(1));
    controller.abort(new Error("enough"));
    await expect(held).rejects.toThrow("enough");
    await fetch.close();
    expect(api.connections).toBe(1);
  });

  test("gets none for an answer that was cancelled", async () => {
    const api = await slowApi();
    await (await fetch(`${api.origin}/begun`)).body?.cancel();
    await fetch.close();
    expect(api.connections).toBe(1);
  });

  test("holds the places of calls that are redirected to it no longer than they wait", async () => {
    const [store, central] = [await slowApi(), await slowApi()];
    elsewhere = central.origin;
    void fetch(`${central.origin}/held`, { signal: controller.signal }).catch(() => {});
    await vi.waitFor(() => expect(central.underWay).toBe(1));
    for (const round of [1, 2]) {
      const moved = new AbortController();
      const call = fetch(`${store.origin}/moved`, { signal: moved.signal });
      await vi.waitFor(() => expect(store.came).toHaveLength(2 * round - 1));
      await vi.waitFor(() => expect(store.underWay).toBe(0));
      moved.abort(new Error("enough"));
      await expect(call).rejects.toThrow("enough");
      expect(await (await fetch(`${store.origin}/products`)).text()).toBe("ok");
    }
    controller.abort(new Error("enough"));
    await fetch.close();
    expect(central.came).toEqual(["/held"]);
  });
});
