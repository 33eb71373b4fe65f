import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

let fetch: RetailFetch;
let controller: AbortController;

beforeEach(() => {
  fetch = retailFetch({ perHost: 2 });
  controller = new AbortController();
});
afterEach(() => fetch.close());

describe("a host that accepts connections, and never says a word of TLS", () => {
  test("holds no aborted call, nor the place of one", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket.on("error", () => {}).resume()));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const call = (path = "") =>
      fetch(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/${path}`, {
        method: path ? "POST" : "GET",
        signal: controller.signal,
      }).catch((error: Error) => error.message);
    for (const round of [1, 2, 3]) {
      const calls = [call(), call(), call(), call("api/1.0/token")];
      await expect.poll(() => sockets).toHaveLength(3 * round);
      controller.abort(new Error("enough"));
      expect(await Promise.all(calls)).toEqual(Array(4).fill("enough"));
      controller = new AbortController();
    }
    for (const socket of sockets) socket.destroy();
  });
});

describe("a host that answers slowly", () => {
  const slowApi = async (elsewhere = "") => {
    const api = await apiServer((request, response) => {
      if (request.url === "/moved") response.writeHead(302, { location: `${elsewhere}/held` }).end();
      else if (request.url === "/begun") response.writeHead(200, { "content-length": 10 }).flushHeaders();
      else if (request.url !== "/held") response.end("ok");
    });
    onTestFinished(() => api.close());
    return api;
  };
  const served = async (origin: string) => (await fetch(`${origin}/products`)).text();

  test("is told of an abort, and of an answer that is cancelled: it keeps neither", async () => {
    const api = await slowApi();
    for (const round of [1, 2, 3]) {
      const held = fetch(`${api.origin}/held`, { signal: controller.signal });
      const begun = await fetch(`${api.origin}/begun`);
      await expect.poll(() => api.underWay).toBe(2);
      controller.abort(new Error("enough"));
      await expect(held, `round ${round}`).rejects.toThrow("enough");
      await begun.body?.cancel();
      await expect.poll(() => api.underWay).toBe(0);
      controller = new AbortController();
      expect(await served(api.origin)).toBe("ok");
    }
  });

  test("holds no call that was redirected to it and aborted, nor the place at the host that was asked", async () => {
    const central = await slowApi();
    const store = await slowApi(central.origin);
    for (const round of [1, 2, 3]) {
      const calls = [1, 2].map(() => fetch(`${store.origin}/moved`, { signal: controller.signal }));
      await expect.poll(() => central.came).toHaveLength(2 * round);
      controller.abort(new Error("enough"));
      for (const call of calls) await expect(call, `round ${round}`).rejects.toThrow("enough");
      controller = new AbortController();
      expect(await served(store.origin)).toBe("ok");
    }
  });
});
