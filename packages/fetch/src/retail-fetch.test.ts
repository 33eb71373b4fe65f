import { getEventListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { runInNewContext } from "node:vm";
import { FormData as FormDataOfUndici } from "undici";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

// Real connections: what a host sees of us.

let api: ApiServer;
let fetch: RetailFetch;
/** Answers that wait until a test lets them go. */
const held: ServerResponse[] = [];

beforeEach(async () => {
  api = await apiServer(answer);
  fetch = retailFetch();
});
afterEach(async () => {
  held.length = 0;
  await api.close();
  await fetch.close();
});

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? "", "http://store");
  if (pathname === "/held") return void held.push(response);
  if (pathname === "/long") return void response.end("x".repeat(3_000_000));
  if (pathname === "/moved") return void response.writeHead(302, { location: "/products" }).end();
  if (pathname === "/moved-long") {
    return void response.writeHead(302, { location: "/products" }).end("x".repeat(1_000_000));
  }
  if (pathname === "/moved-unfinished") {
    return void response.writeHead(302, { location: "/products", "content-length": 10 }).flushHeaders();
  }
  if (pathname === "/no-gzip")
    return void response.setHeader("content-encoding", "gzip").end("in plain text");
  if (pathname === "/reset") return void request.socket.resetAndDestroy();
  if (pathname === "/slow") return void setTimeout(() => response.end("slow"), 5);
  if (pathname === "/early") response.writeEarlyHints({ link: "</style.css>; rel=preload" });
  if (pathname === "/continue") response.writeContinue();
  const parts: Buffer[] = [];
  const marks = pathname === "/marked" ? ` ${request.url} ${request.headers["x-mark"]}` : "";
  request.on("data", (part) => parts.push(part));
  request.on("end", () => response.end(`${request.method} ${Buffer.concat(parts)}${marks}`));
}

/** Reads it to the end. */
const text = async (answered: Promise<Response>) => (await answered).text();
const letGo = () => held.splice(0).forEach((response) => void response.end("let go"));
const products = (n: number) => `${api.origin}/products?n=${n}`;

describe("connections to one host", () => {
  test("are kept: three calls use one", async () => {
    for (const n of [1, 2, 3]) await text(fetch(products(n)));
    expect(api.connections).toBe(1);
  });

  for (const [perHost, expected] of [
    [undefined, 8],
    [1, 1],
    [3, 3],
  ] as const) {
    test(`are no more than perHost in a burst of 1,000 calls: ${expected}`, async () => {
      fetch = retailFetch({ perHost });
      const calls = Array.from({ length: 1000 }, () => text(fetch(`${api.origin}/slow`)));
      expect(await Promise.all(calls)).toEqual(Array(1000).fill("slow"));
      expect(api.most).toBe(expected);
      expect(api.connections).toBe(expected);
    });
  }

  test("serve the calls in their order", async () => {
    fetch = retailFetch({ perHost: 1 });
    await Promise.all(Array.from({ length: 50 }, (_, n) => text(fetch(products(n)))));
    expect(api.came).toEqual(Array.from({ length: 50 }, (_, n) => `/products?n=${n}`));
  });

  test("serve them in their order, also right after an answer, and over several connections", async () => {
    for (let round = 0; round < 20; round += 1) {
      const answered = Promise.all([text(fetch(`${api.origin}/slow`)), text(fetch(`${api.origin}/slow`))]);
      await answered;
      await new Promise((resolve) => setTimeout(resolve, 1));
      await text(fetch(products(0)));
      await Promise.all([text(fetch(products(1))), text(fetch(products(2)))]); // in the turn in which that ended
    }
    const wanted = Array.from({ length: 20 }, () => [0, 1, 2].map((n) => `/products?n=${n}`)).flat();
    expect(api.came.filter((path) => path !== "/slow")).toEqual(wanted);
  });

  test("are one host's own: another one's calls do not wait", async () => {
    const other = await apiServer(answer);
    fetch = retailFetch({ perHost: 1 });
    const slow = text(fetch(`${api.origin}/held`));
    expect(await text(fetch(`${other.origin}/products`))).toBe("GET ");
    await arrived(1);
    letGo();
    await slow;
    await other.close();
  });

  for (const ending of ["destroy", "resetAndDestroy"] as const) {
    test(`are made anew if the host has closed the kept one unseen (${ending})`, async () => {
      fetch = retailFetch({ perHost: 2 });
      await Promise.all([text(fetch(products(1))), text(fetch(products(2)))]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      for (const socket of api.sockets) socket[ending]();
      const posted = [3, 4, 5].map((n) => text(fetch(products(n), { method: "POST", body: `${n}` })));
      expect(await Promise.all(posted)).toEqual(["POST 3", "POST 4", "POST 5"]);
      expect(api.came).toHaveLength(5);
    });
  }
});

describe("a token request", () => {
  test("has a connection beside those of perHost, and does not wait", async () => {
    const slow = Array.from({ length: 20 }, () => text(fetch(`${api.origin}/held`)));
    await arrived(8);
    const path = `${api.origin}/stores/shop/api/1.0/token`;
    expect(await text(fetch(path, { method: "POST", body: "grant_type=refresh_token" }))).toBe(
      "POST grant_type=refresh_token",
    );
    expect(api.connections).toBe(9);
    for (let served = 0; served < 20; served += 8) {
      await arrived(Math.min(8, 20 - served));
      letGo();
    }
    await Promise.all(slow);
  });

  for (const [name, path, method] of [
    ["a GET of its path", "/api/1.0/token", "GET"],
    ["a POST below it", "/api/1.0/token/x", "POST"],
    ["a POST with it in the query", "/x?/api/1.0/token", "POST"],
  ] as const) {
    test(`is not: ${name}`, async () => {
      fetch = retailFetch({ perHost: 1 });
      const slow = text(fetch(`${api.origin}/held`));
      await arrived(1);
      const call = text(fetch(api.origin + path, { method }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(api.came).toEqual(["/held"]);
      letGo();
      await Promise.all([slow, call]);
    });
  }
});

describe("a call that waits", () => {
  test("leaves at once when it is aborted, and those behind it move up", async () => {
    fetch = retailFetch({ perHost: 1 });
    const slow = text(fetch(`${api.origin}/held`));
    const { signal, abort } = aborting();
    const calls = [1, 2, 3].map((n) => text(fetch(products(n), n === 2 ? { signal } : {})));
    await arrived(1);
    abort(new Error("enough"));
    await expect(calls[1]).rejects.toThrow("enough");
    expect(api.came).toEqual(["/held"]);
    letGo();
    expect(await Promise.all([slow, calls[0], calls[2]])).toEqual(["let go", "GET ", "GET "]);
    expect(api.came).toEqual(["/held", "/products?n=1", "/products?n=3"]);
  });

  test("may share its signal with thousands: nothing warns, and the signal is left as it was", async () => {
    const warned = vi.fn();
    process.on("warning", warned);
    fetch = retailFetch({ perHost: 1 });
    const slow = text(fetch(`${api.origin}/held`));
    const { signal, abort } = aborting();
    const calls = Array.from({ length: 2000 }, (_, n) => fetch(products(n), { signal }));
    await arrived(1);
    abort(new Error("enough"));
    const outcomes = await Promise.allSettled(calls);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["rejected"]));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    letGo();
    await slow;
    process.off("warning", warned);
    expect(warned).not.toHaveBeenCalled();
  });

  test("is refused if 10,000 wait already; it was not sent", async () => {
    fetch = retailFetch({ perHost: 1 });
    const slow = text(fetch(`${api.origin}/held`));
    const { signal, abort } = aborting();
    const waiting = Array.from({ length: 10_000 }, (_, n) => fetch(products(n), { signal }));
    const error = await fetch(products(10_001)).catch((caught) => caught);
    expect(error).toMatchObject({
      name: "RetailFetchError",
      code: "queue_full",
      host: new URL(api.origin).host,
    });
    expect(error.message).toContain("10,000 calls wait");
    await arrived(1);
    abort(new Error("enough"));
    await Promise.allSettled(waiting);
    letGo();
    await slow;
    expect(await text(fetch(products(1)))).toBe("GET "); // there is room again
  });

  test("is not sent at all with a signal that is aborted already", async () => {
    await expect(fetch(products(1), { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
      "before",
    );
    expect(api.came).toEqual([]);
  });
});

test.for([
  { name: "null: the Request's own counts no more", signal: null, outcome: "GET " },
  { name: "undefined: the Request's own counts", signal: undefined, outcome: "enough" },
])("a signal that is given as $name, in the queue too", async ({ signal, outcome }) => {
  fetch = retailFetch({ perHost: 1 });
  const slow = text(fetch(`${api.origin}/held`));
  const own = aborting();
  const request = new Request(products(1), { signal: own.signal });
  const call = text(fetch(request, { signal } as RequestInit)).catch(({ message }) => message);
  await arrived(1);
  own.abort(new Error("enough"));
  letGo();
  expect([await slow, await call]).toEqual(["let go", outcome]);
});

describe("the connection of a call is free again", () => {
  const rows: { name: string; path: string; ends: (answered: Promise<Response>) => Promise<unknown> }[] = [
    { name: "once the body was read", path: "/long", ends: text },
    { name: "once the body was cancelled", path: "/long", ends: async (it) => (await it).body?.cancel() },
    { name: "if the answer is short, though nobody reads it", path: "/products", ends: (it) => it },
    { name: "after a redirect", path: "/moved", ends: (it) => it },
    { name: "after a redirect with a body that nobody reads", path: "/moved-long", ends: text },
    { name: "if the body cannot be unpacked", path: "/no-gzip", ends: (it) => text(it).catch(() => {}) },
    { name: "if the host resets it", path: "/reset", ends: (it) => it.catch(() => {}) },
  ];

  for (const { name, path, ends } of rows) {
    test(name, async () => {
      fetch = retailFetch({ perHost: 1 });
      for (let round = 0; round < 3; round += 1) await ends(fetch(api.origin + path));
      expect(await text(fetch(products(1)))).toBe("GET ");
    });
  }

  test("after a redirect that is refused, though it has a body", async () => {
    fetch = retailFetch({ perHost: 1 });
    for (const round of [1, 2, 3]) {
      const refused = fetch(`${api.origin}/moved-long`, { redirect: "error" });
      await expect(refused, `round ${round}`).rejects.toThrow(TypeError);
    }
    expect(await text(fetch(products(1)))).toBe("GET ");
  });

  for (const redirect of ["follow", "error"] as const) {
    test(`after a redirect whose body never ends (${redirect}), though more of them came than it has`, async () => {
      fetch = retailFetch({ perHost: 2 });
      const moved = () => text(fetch(`${api.origin}/moved-unfinished`, { redirect })).catch(() => "refused");
      const outcome = redirect === "follow" ? "GET " : "refused";
      expect(await Promise.all([moved(), moved(), moved()])).toEqual(Array(3).fill(outcome));
      expect(await text(fetch(products(1)))).toBe("GET ");
      if (redirect === "follow") await expect.poll(() => api.underWay).toBe(0); // its connection was closed
    });
  }

  test("after a dispatcher that threw", async () => {
    fetch = retailFetch({ perHost: 1 });
    const dispatcher = {
      dispatch() {
        throw new Error("no dispatcher");
      },
    };
    for (const round of [1, 2, 3]) {
      const thrown = fetch(products(1), { dispatcher } as unknown as RequestInit);
      await expect(thrown, `round ${round}`).rejects.toThrow();
    }
    expect(await text(fetch(products(1)))).toBe("GET ");
  });

  test("once a call under way was aborted", async () => {
    fetch = retailFetch({ perHost: 1 });
    const { signal, abort } = aborting();
    const slow = fetch(`${api.origin}/held`, { signal });
    const next = text(fetch(products(1)));
    await arrived(1);
    abort(new Error("enough"));
    await expect(slow).rejects.toThrow("enough");
    expect(await next).toBe("GET ");
  });
});

describe("what is changed after the call was made does not change the call:", () => {
  const marked = () => `${api.origin}/marked?n=1`;
  const rows: Record<string, () => { init: RequestInit; change: () => void }> = {
    Headers: () => {
      const headers = new Headers({ "x-mark": "first" });
      return { init: { headers }, change: () => headers.set("x-mark", "second") };
    },
    "headers in pairs": () => {
      const pair: [string, string] = ["x-mark", "first"];
      return { init: { headers: [pair] }, change: () => pair.splice(1, 1, "second") };
    },
    "headers in an object": () => {
      const headers = { "x-mark": "first" };
      return { init: { headers }, change: () => Object.assign(headers, { "x-mark": "second" }) };
    },
    "the options": () => {
      const init = { headers: { "x-mark": "first" } };
      return { init, change: () => Object.assign(init, { headers: {} }) };
    },
    "bytes as the body": () => {
      const body = new TextEncoder().encode("first");
      return { init: { method: "POST", body }, change: () => void body.fill(0) };
    },
    "an ArrayBuffer of another realm as the body": () => {
      const bytes = runInNewContext("Uint8Array.from([...'first'], (letter) => letter.charCodeAt(0))");
      return { init: { method: "POST", body: bytes.buffer }, change: () => void bytes.fill(0) };
    },
    "URLSearchParams as the body": () => {
      const body = new URLSearchParams({ mark: "first" });
      return { init: { method: "POST", body }, change: () => body.set("mark", "second") };
    },
    "FormData as the body": () => {
      const body = new FormData();
      body.set("mark", "first");
      return { init: { method: "POST", body }, change: () => body.set("mark", "second") };
    },
    "FormData of npm's undici as the body": () => {
      const body = new FormDataOfUndici();
      body.set("mark", "first");
      const init = { method: "POST", body: body as unknown as FormData };
      return { init, change: () => body.set("mark", "second") };
    },
  };

  for (const [name, made] of Object.entries(rows)) {
    test(`${name}, while it waits`, async () => {
      fetch = retailFetch({ perHost: 1 });
      const slow = text(fetch(`${api.origin}/held`));
      const { init, change } = made();
      const waiting = text(fetch(marked(), init));
      change();
      await arrived(1);
      letGo();
      await slow;
      expect(await waiting).toContain("first");
    });
  }

  test("a URL, though nobody waits", async () => {
    const url = new URL(marked());
    const answers = ["1", "2", "3"].map((n) => {
      url.searchParams.set("n", n);
      return text(fetch(url));
    });
    expect(await Promise.all(answers)).toEqual(
      ["1", "2", "3"].map((n) => expect.stringContaining(`n=${n} `)),
    );
  });

  test("a Request without a body", async () => {
    const request = new Request(marked(), { headers: { "x-mark": "first" } });
    const answer = text(fetch(request));
    request.headers.set("x-mark", "second");
    expect(await answer).toContain("first");
  });
});

test("a call does not hang under timers that are replaced", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  for (const n of [1, 2]) expect(await text(fetch(products(n)))).toBe("GET ");
});

describe("goes through as the built-in fetch takes it:", () => {
  test("a Request with a body and headers", async () => {
    const request = new Request(products(1), { method: "PUT", body: "a body" });
    expect(await text(fetch(request))).toBe("PUT a body");
  });

  test("a Request in the place of the options", async () => {
    const options = new Request(products(1), { method: "POST", body: "a body" });
    expect(await text(fetch(products(1), options))).toBe("POST a body");
  });

  test("a stream as the body", async () => {
    const init = { method: "POST", body: new Blob(["in parts"]).stream(), duplex: "half" };
    expect(await text(fetch(products(1), init as RequestInit))).toBe("POST in parts");
  });

  test("a URL, and HEAD", async () => {
    const answered = await fetch(new URL(products(1)), { method: "HEAD" });
    expect([answered.status, await answered.text()]).toEqual([200, ""]);
  });

  test("a redirect: followed, told, returned or refused", async () => {
    const followed = await fetch(`${api.origin}/moved`);
    expect([followed.redirected, followed.url, await followed.text()]).toEqual([
      true,
      `${api.origin}/products`,
      "GET ",
    ]);
    expect((await fetch(`${api.origin}/moved`, { redirect: "manual" })).status).toBe(302);
    await expect(fetch(`${api.origin}/moved`, { redirect: "error" })).rejects.toThrow(TypeError);
  });

  test("early hints and 100 Continue, which nobody asked for", async () => {
    const builtIn = async (path: string) =>
      text(globalThis.fetch(api.origin + path)).catch((error) => error.message);
    for (const path of ["/early", "/continue"]) {
      expect(await text(fetch(api.origin + path)).catch((error) => error.message)).toBe(await builtIn(path));
    }
  });

  test("a data: address", async () => {
    expect(await text(fetch("data:,at%20hand"))).toBe("at hand");
  });

  for (const input of [
    "no address",
    "ftp://store.example/",
    "https://store.example:99999/",
    "//store.example",
  ]) {
    test(`what fetch refuses: ${input}`, async () => {
      const [ours, theirs] = await Promise.all(
        [fetch, globalThis.fetch].map((it) => it(input).catch((error) => error)),
      );
      expect(ours).toBeInstanceOf(TypeError);
      expect(String(ours)).toBe(String(theirs));
    });
  }

  test("a connection that nobody answers", async () => {
    const gone = createServer();
    const port = await portOf(gone);
    await new Promise((resolve) => gone.close(resolve));
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      cause: { code: "ECONNREFUSED" },
    });
  });

  test("a host that speaks another language", async () => {
    const odd = createServer((socket) => socket.resume().end("SSH-2.0-store\r\n"));
    const port = await portOf(odd);
    for (const round of [1, 2]) {
      await expect(fetch(`http://127.0.0.1:${port}/?${round}`)).rejects.toMatchObject({
        message: "fetch failed",
      });
    }
    await new Promise((resolve) => odd.close(resolve));
  });
});

describe("close()", () => {
  test("lets what is under way finish, with its body; tells who waits; refuses who comes later", async () => {
    fetch = retailFetch({ perHost: 1 });
    const slow = text(fetch(`${api.origin}/held`));
    const waiting = fetch(products(1)).catch((error) => error);
    await arrived(1);
    let isClosed = false;
    const closed = fetch.close().then(() => {
      isClosed = true;
    });
    expect(await waiting).toMatchObject({ code: "closed", message: expect.stringContaining("was not sent") });
    await expect(fetch(products(2))).rejects.toMatchObject({ code: "closed" });
    await expect(fetch(`${api.origin}/api/1.0/token`, { method: "POST" })).rejects.toMatchObject({
      code: "closed",
    });
    expect(isClosed).toBe(false);
    letGo();
    expect(await slow).toBe("let go");
    await closed;
    expect(api.came).toEqual(["/held"]);
  });

  test("waits for a call that was made right before it", async () => {
    const call = text(fetch(`${api.origin}/slow`));
    await fetch.close();
    expect([api.came, api.underWay]).toEqual([["/slow"], 0]);
    expect(await call).toBe("slow");
  });

  test("lets a call that is being redirected reach its goal", async () => {
    const call = text(fetch(`${api.origin}/moved`));
    await expect.poll(() => api.came).toContain("/moved");
    await fetch.close();
    expect(await call).toBe("GET ");
  });

  test("closes what is idle, and a second one is harmless", async () => {
    await text(fetch(products(1)));
    expect(api.open).toBe(1);
    await Promise.all([fetch.close(), fetch.close()]);
    await fetch.close();
    await expect.poll(() => api.open).toBe(0);
  });
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** So many requests for `/held` are there. */
async function arrived(count: number): Promise<void> {
  await expect.poll(() => held).toHaveLength(count);
}

function aborting(): { signal: AbortSignal; abort: (reason: unknown) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
