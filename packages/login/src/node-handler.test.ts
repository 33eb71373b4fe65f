import { once } from "node:events";
import { get, type IncomingMessage, type RequestListener, request, type ServerResponse } from "node:http";
import express from "express";
import session from "express-session";
import Fastify from "fastify";
import Koa from "koa";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "../../../test/support/listen.js";
import { later } from "../../core/testing/fake-service.js";
import { nodeHandler } from "./index.js";

describe("a request", () => {
  test("arrives with its method, address, headers and body", async () => {
    const origin = await serve(
      nodeHandler(async (request) =>
        Response.json({
          method: request.method,
          url: request.url,
          twice: request.headers.get("x-twice"),
          body: await request.text(),
        }),
      ),
    );
    const sent = {
      method: "POST",
      body: "hello",
      headers: [
        ["x-twice", "a"],
        ["x-twice", "b"],
      ] as [string, string][],
    };
    expect(await (await fetch(`${origin}/path?a=1&a=2`, sent)).json()).toEqual({
      method: "POST",
      url: `${origin}/path?a=1&a=2`,
      twice: "a, b",
      body: "hello",
    });
  });

  test("arrives with its whole path below a router", async () => {
    const app = express();
    app.use("/auth", (req, res, next) => {
      nodeHandler(({ url }) => new Response(new URL(url).pathname))(req, res).catch(next);
    });
    expect(await (await fetch(`${await serve(app)}/auth/callback?x=1`)).text()).toBe("/auth/callback");
  });

  test.each([
    ["an address that is none", "http://[", 200],
    ["two slashes", "//evil.example/x?code=1", 200],
    ["another server's address", "http://evil.example/x", 200],
    ["an asterisk", "*", 200],
  ])("for %s is read as one of this server", async (_, path, status) => {
    const origin = await serve(nodeHandler(({ url }) => new Response(new URL(url).host)));
    const answer = await raw(origin, { path, method: path === "*" ? "OPTIONS" : "GET" });
    expect([answer.status, answer.body]).toEqual([
      status,
      new URL(origin).host.replace("localhost", "127.0.0.1"),
    ]);
  });

  test("whose Host is none is answered", async () => {
    const origin = await serve(nodeHandler(({ url }) => new Response(url)));
    const answer = await raw(origin, { path: "/x", headers: { host: "a b" } });
    expect([answer.status, answer.body]).toEqual([200, "http://localhost/x"]);
  });

  test("that the web's Request cannot be is 405", async () => {
    const origin = await serve(nodeHandler(() => new Response("hello")));
    expect(await raw(origin, { path: "/", method: "TRACE" })).toMatchObject({ status: 405 });
  });
});

describe("an answer", () => {
  test("leaves with its status, headers, cookies beside those of others, and body", async () => {
    const origin = await serve((req, res) => {
      res.setHeader("set-cookie", "of=another");
      nodeHandler(
        () =>
          new Response("hello", {
            status: 203,
            statusText: "Very Good",
            headers: [
              ["x-own", "1"],
              ["set-cookie", "a=1"],
              ["set-cookie", "b=2"],
            ],
          }),
      )(req, res);
    });
    const answer = await fetch(origin);
    expect([answer.status, answer.statusText, await answer.text()]).toEqual([203, "Very Good", "hello"]);
    expect(answer.headers.get("x-own")).toBe("1");
    expect(answer.headers.getSetCookie()).toEqual(["of=another", "a=1", "b=2"]);
  });

  test("without a body, and to HEAD, ends", async () => {
    const origin = await serve(nodeHandler(({ method }) => new Response(method === "HEAD" ? "hello" : null)));
    expect(await (await fetch(origin)).text()).toBe("");
    expect(await (await fetch(origin, { method: "HEAD" })).text()).toBe("");
  });

  test("leaves whole behind express-session, with a browser that comes back", async () => {
    const app = express();
    app.use(session({ secret: "s", resave: false, saveUninitialized: true }));
    app.get("/page", (req, res, next) => {
      nodeHandler(() => new Response("hello"))(req, res).catch(next);
    });
    app.get("/redirect", (req, res, next) => {
      nodeHandler(() => new Response(null, { status: 303, headers: { location: "/page" } }))(req, res).catch(
        next,
      );
    });
    const origin = await serve(app);
    const cookie = (await fetch(`${origin}/page`)).headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const page = await fetch(`${origin}/page`, { headers: { cookie } });
    expect([page.status, await page.text()]).toEqual([200, "hello"]);
    const redirect = await fetch(`${origin}/redirect`, { headers: { cookie }, redirect: "manual" });
    expect([redirect.status, await redirect.text()]).toEqual([303, ""]);
  });

  test("of 8 MB leaves whole, and waits for whoever reads it", async () => {
    let [made, longestQueue] = [0, 0];
    const body = (res: ServerResponse) =>
      new ReadableStream({
        pull(controller) {
          longestQueue = Math.max(longestQueue, res.writableLength);
          made += 1;
          if (made > 128) controller.close();
          else controller.enqueue(new Uint8Array(65_536));
        },
      });
    const origin = await serve((req, res) => void nodeHandler(() => new Response(body(res)))(req, res));
    const answer = await fetch(origin);
    expect((await answer.arrayBuffer()).byteLength).toBe(128 * 65_536);
    expect(longestQueue).toBeLessThan(1_000_000);
  });

  test.each([
    ["with a body", () => new Response("late")],
    ["without one", () => new Response(null, { status: 204 })],
  ])("%s, whose client left before it was there, settles", async (_, answer) => {
    let settled = false;
    const left = later();
    const done = later();
    const origin = await serve((req, res) => {
      res.once("close", () => left.resolve());
      const handler = nodeHandler(async () => {
        await left.promise;
        return answer();
      });
      void handler(req, res).finally(() => {
        settled = true;
        done.resolve();
      });
    });
    const asking = request(origin).on("error", () => {});
    asking.end();
    await once(asking, "socket");
    setTimeout(() => asking.destroy(), 100);
    await done.promise;
    expect(settled).toBe(true);
  });

  test("that fails after the client left is told all the same", async () => {
    const left = later();
    const told = new Promise((resolve) => {
      const failing = async () => {
        await left.promise;
        throw new Error("no database");
      };
      void serve((req, res) => {
        res.once("close", () => left.resolve());
        nodeHandler(failing)(req, res).catch(resolve);
      }).then(async (origin) => {
        const asking = request(origin).on("error", () => {});
        asking.end();
        await once(asking, "socket");
        setTimeout(() => asking.destroy(), 100);
      });
    });
    expect(await told).toEqual(new Error("no database"));
  });

  test("that is quiet is given up when its reader has gone, and the promise resolves", async () => {
    const [cancelled, resolved] = [later(), later()];
    const body = () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
        cancel: () => cancelled.resolve(),
      });
    const handle = nodeHandler(() => new Response(body()));
    const origin = await serve((req, res) => void handle(req, res).then(() => resolved.resolve()));
    const asked = get(origin, (response) => response.once("data", () => asked.destroy()));
    asked.on("error", () => {});
    await cancelled.promise;
    await resolved.promise;
  });

  test("whose reader has gone is given up", async () => {
    const cancelled = new Promise<void>((resolve) => {
      const body = () =>
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
          cancel: () => resolve(),
        });
      serve(nodeHandler(() => new Response(body()))).then((origin) => {
        const asked = get(origin, (response) => response.once("data", () => asked.destroy()));
        asked.on("error", () => {});
      });
    });
    await cancelled;
  });
});

describe("a handler that throws", () => {
  const boom = Object.assign(new Error("of the handler"), { status: 418, statusCode: 418, expose: true });
  const failing = nodeHandler(() => Promise.reject(boom));

  test.each<[string, () => RequestListener]>([
    ["Express", () => express().use((req, res, next) => void failing(req, res).catch(next))],
    ["Express 5, which waits by itself", () => express().use((req, res) => failing(req, res))],
    [
      "Koa",
      () => {
        const app = new Koa();
        app.silent = true;
        return app.use((ctx) => failing(ctx.req, ctx.res)).callback();
      },
    ],
    [
      "Fastify",
      () => {
        const app = Fastify();
        app.get("/", (request, reply) => failing(request.raw, reply.raw));
        return (req, res) => void app.ready().then(() => app.routing(req, res));
      },
    ],
  ])("is answered by %s", async (_, app) => {
    expect((await fetch(await serve(app()))).status).toBe(418);
  });

  test.each<[string, (answer: Response) => RequestListener]>([
    [
      "Koa",
      (answer) => {
        const app = new Koa();
        app.use((ctx) => nodeHandler(() => answer)(ctx.req, ctx.res));
        return app.callback();
      },
    ],
    [
      "Fastify",
      (answer) => {
        const app = Fastify();
        app.get("/", (request, reply) => nodeHandler(() => answer)(request.raw, reply.raw));
        return (req, res) => void app.ready().then(() => app.routing(req, res));
      },
    ],
  ])("and one that does not is left alone by %s", async (_, app) => {
    const answer = await fetch(await serve(app(new Response("hello", { status: 201 }))));
    expect([answer.status, await answer.text()]).toEqual([201, "hello"]);
  });

  test("is answered by onError, and the promise resolves", async () => {
    const told: unknown[] = [];
    const handler = nodeHandler(() => Promise.reject(boom), {
      onError: (error, res) => {
        told.push(error);
        res.writeHead(500).end("sorry");
      },
    });
    const settled: unknown[] = [];
    const origin = await serve((req, res) => void handler(req, res).then(() => settled.push("resolved")));
    expect(await (await fetch(origin)).text()).toBe("sorry");
    expect([told, settled]).toEqual([[boom], ["resolved"]]);
  });

  test("at once, before it returns a promise, rejects like any other", async () => {
    const handler = nodeHandler(() => {
      throw boom;
    });
    await expect(handler(fakeRequest(), {} as ServerResponse)).rejects.toBe(boom);
  });

  test("in the middle of its body ends the connection, and the promise resolves", async () => {
    const settled: unknown[] = [];
    const body = () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("half")),
        pull: (controller) => controller.error(boom),
      });
    const handler = nodeHandler(() => new Response(body()));
    const origin = await serve((req, res) => void handler(req, res).then(() => settled.push("resolved")));
    await expect(fetch(origin).then((answer) => answer.text())).rejects.toThrow();
    expect(settled).toEqual(["resolved"]);
  });
});

test("a handler that is none is a TypeError, and a misspelt option", () => {
  expect(() => nodeHandler(undefined as never)).toThrow(/handler/);
  expect(() => nodeHandler(() => new Response(), { onerror: () => {} } as never)).toThrow(
    new TypeError("onerror is no option; it is called onError here"),
  );
});

function fakeRequest(): IncomingMessage {
  return { method: "GET", url: "/", headers: {}, rawHeaders: [] } as unknown as IncomingMessage;
}

async function serve(app: RequestListener): Promise<string> {
  const { origin, close } = await listen(app);
  onTestFinished(close);
  return origin.replace("localhost", "127.0.0.1");
}

/** A request that `fetch` would not send. */
async function raw(origin: string, options: object): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(origin);
  const asked = request({ hostname, port, ...options }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode ?? 0, body };
}
