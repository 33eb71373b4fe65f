import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
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

const call = (path = "api/products", method = "GET") => {
  const { port } = silent.address() as AddressInfo;
  return fetch(`https://127.0.0.1:${port}/${path}`, { method, signal: controller.signal }).catch(
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
    const calls = [call(), call(), call("api/1.0/token", "POST")];
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
});
