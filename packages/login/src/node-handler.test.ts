import { once } from "node:events";
import { get, IncomingMessage, type RequestListener, request, ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, Socket } from "node:net";
import { text } from "node:stream/consumers";
import express from "express";
import session from "express-session";
import express4 from "express4";
import Fastify from "fastify";
import Koa from "koa";
import serverless from "serverless-http";
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
    ["/path?a=1&a=2", "/path?a=1&a=2"],
    ["//evil.example/x?code=1", "//evil.example/x?code=1"],
    ["http://shop.example/path?query=/a", "/path?query=/a"],
    ["http://shop.example?query", "/?query"],
    ["HTTPS://user:password@evil.example:81/x", "/x"],
    ["http://shop.example", "/"],
    ["http://[", "/"],
    ["*", "/*"],
  ])("for the target %s has the path %s, and this server's host", async (path, expected) => {
    const origin = await serve(nodeHandler(({ url }) => new Response(url)));
    const answer = await raw(origin, { path, method: path === "*" ? "OPTIONS" : "GET" });
    expect(answer).toEqual({ status: 200, body: `${origin}${expected}` });
  });

  test("for a whole address arrives with its path below a router", async () => {
    const app = express();
    app.use("/auth", (req, res, next) => {
      nodeHandler(({ url }) => new Response(url))(req, res).catch(next);
    });
    const answer = await raw(await serve(app), {
      path: "http://shop.example/auth/callback?x=1",
      headers: { host: "shop.example" },
    });
    expect(answer.body).toBe("http://shop.example/auth/callback?x=1");
  });

  test.each([
    "localhost/admin/delete?x=",
    "localhost#",
    "localhost\\admin",
    "localhost?",
    "user@localhost",
    "a b",
    "a\tb",
    "localhost:99999",
    "localhost:80x",
    "[::1",
    "a%2Fb",
    ":80",
  ])("with the Host %j is 400, and the handler does not see it", async (host) => {
    const seen: string[] = [];
    const origin = await serve(
      nodeHandler(({ url }) => {
        seen.push(url);
        return new Response();
      }),
    );
    expect(await raw(origin, { path: "/public", headers: { host } })).toMatchObject({ status: 400 });
    expect(seen).toEqual([]);
  });

  test.each([
    "/public/../admin",
    "/public/%2e%2E/admin",
    "/public\\..\\admin",
    "/public/./admin",
    "/public/..?x",
    "http://shop.example/public/..",
    "http://shop.example\\public/admin",
  ])("whose path would become another one is 400: %s", async (path) => {
    const origin = await serve(nodeHandler(() => new Response("seen")));
    expect(await raw(origin, { path, headers: { host: "shop.example" } })).toMatchObject({ status: 400 });
  });

  test.each(["/a..b/.c/d.", "/public?back=/../admin", "/...", "/%2e%2e%2e"])(
    "with dots elsewhere is read: %s",
    async (path) => {
      const origin = await serve(nodeHandler(({ url }) => new Response(new URL(url).href)));
      const answer = await raw(origin, { path, headers: { host: "shop.example" } });
      expect(answer.body).toBe(`http://shop.example${path}`);
    },
  );

  test.each([
    ["shop.example:8080", "http://shop.example:8080/x"],
    ["[::1]:3000", "http://[::1]:3000/x"],
    ["my_service", "http://my_service/x"],
  ])("with the Host %j has the address %s", async (host, url) => {
    const origin = await serve(nodeHandler((request) => new Response(request.url)));
    expect(await raw(origin, { path: "/x", headers: { host } })).toEqual({ status: 200, body: url });
  });

  test("without a Host has the address http://localhost", async () => {
    const origin = await serve((req, res) => {
      req.headers.host = "";
      void nodeHandler(({ url }) => new Response(url))(req, res);
    });
    expect(await raw(origin, { path: "/x" })).toEqual({ status: 200, body: "http://localhost/x" });
  });

  describe("has the headers that the framework sees", () => {
    const seen = nodeHandler(({ headers }) =>
      Response.json([...headers].filter(([name]) => /^[cx]/.test(name))),
    );

    test.each<[string, (req: IncomingMessage) => void, [string, string][]]>([
      [
        "as they came",
        () => {},
        [
          ["cookie", "a=1; b=2"],
          ["x-one", "1, 2"],
        ],
      ],
      [
        "rawHeaders empty",
        (req) => req.rawHeaders.splice(0),
        [
          ["cookie", "a=1; b=2"],
          ["x-one", "1, 2"],
        ],
      ],
      [
        "rawHeaders missing",
        (req) => Object.assign(req, { rawHeaders: undefined }),
        [
          ["cookie", "a=1; b=2"],
          ["x-one", "1, 2"],
        ],
      ],
      [
        "one changed",
        ({ headers }) => Object.assign(headers, { cookie: "c=3" }),
        [
          ["cookie", "c=3"],
          ["x-one", "1, 2"],
        ],
      ],
      ["one taken away", ({ headers }) => delete headers.cookie, [["x-one", "1, 2"]]],
      [
        "one that is no text, one that is a list, one that is undefined",
        ({ headers }) =>
          Object.assign(headers, { "content-length": 5, "x-list": ["3", "4"], "x-one": undefined }),
        [
          ["content-length", "5"],
          ["cookie", "a=1; b=2"],
          ["x-list", "3, 4"],
        ],
      ],
    ])("%s", async (_, change, expected) => {
      const origin = await serve((req, res) => {
        change(req);
        void seen(req, res);
      });
      const headers = { cookie: ["a=1", "b=2"], "x-one": ["1", "2"], connection: "close" };
      const answer = await raw(origin, { path: "/", headers });
      expect(JSON.parse(answer.body).filter(([name]: [string]) => name !== "connection")).toEqual(expected);
    });
  });

  test("that the web's Request cannot be is 405", async () => {
    const origin = await serve(nodeHandler(() => new Response("hello")));
    expect(await raw(origin, { path: "/", method: "TRACE" })).toMatchObject({ status: 405 });
  });
});

describe("a browser that leaves", () => {
  test("aborts the request's signal while the handler works", async () => {
    const [working, aborted] = [later(), later()];
    const origin = await serve(
      nodeHandler(async ({ signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        working.resolve();
        await aborted.promise;
        return new Response("for nobody");
      }),
    );
    const asked = get(origin).on("error", () => {});
    await working.promise;
    asked.destroy();
    await aborted.promise;
  });

  test("aborts it while the body is on its way, and while the handler reads what is sent", async () => {
    const ends: Promise<unknown>[] = [];
    const origin = await serve(
      nodeHandler(({ method, signal, body }) => {
        ends.push(once(signal, "abort"));
        if (method === "POST") return new Response(body);
        return new Response(new ReadableStream({ start: (to) => to.enqueue(new Uint8Array(1)) }));
      }),
    );
    for (const method of ["GET", "POST"]) {
      const asked = request(origin, { method }).on("error", () => {});
      asked.flushHeaders();
      if (method === "POST") asked.write("half");
      await once(asked, "response");
      asked.destroy();
    }
    await Promise.all(ends);
    expect(ends).toHaveLength(2);
  });

  test("before the handler is asked finds it aborted", async () => {
    const [left, asked] = [later(), later<boolean>()];
    const handle = nodeHandler(({ signal }) => {
      asked.resolve(signal.aborted);
      return new Response("for nobody");
    });
    const origin = await serve((req, res) => {
      left.resolve();
      res.once("close", () => setImmediate(() => void handle(req, res)));
    });
    const leaving = get(origin).on("error", () => {});
    await left.promise;
    leaving.destroy();
    expect(await asked.promise).toBe(true);
  });

  test.each([
    ["with a body", () => new Response("hello")],
    ["without one", () => new Response(null, { status: 303, headers: { location: "/" } })],
  ])("one that stays for an answer %s aborts nothing", async (_, answer) => {
    const [signals, closed] = [[] as AbortSignal[], later()];
    const handle = nodeHandler(({ signal }) => {
      signals.push(signal);
      return answer();
    });
    const origin = await serve((req, res) => {
      res.once("close", () => closed.resolve());
      void handle(req, res);
    });
    await (await fetch(origin, { redirect: "manual" })).text();
    await closed.promise;
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
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

  test("to HEAD lets go of its body at once, also of a quiet one", async () => {
    const cancelled = later();
    const body = () => new ReadableStream({ cancel: () => cancelled.resolve() });
    const origin = await serve(nodeHandler(() => new Response(body(), { headers: { "x-own": "1" } })));
    const answer = await fetch(origin, { method: "HEAD" });
    expect([answer.status, answer.headers.get("x-own")]).toEqual([200, "1"]);
    await cancelled.promise;
  });

  test.each([
    ["a length that is too short", { "content-length": "3" }],
    ["a length that is too long", { "content-length": "300" }],
    ["a coding of the transfer", { "transfer-encoding": "identity" }],
    ["a length, and a connection that ends", { "content-length": "3", connection: "close" }],
    ["what an upstream says of its own connection", { "keep-alive": "timeout=1", connection: "keep-alive" }],
  ])("with %s ends where it ends: the next answer on the connection is whole", async (_, headers) => {
    const wrong = new Headers({ ...headers });
    const origin = await serve(
      nodeHandler(({ url }) =>
        url.endsWith("/1") ? new Response("one HTTP/1.1 200 OK", { headers: wrong }) : new Response("two"),
      ),
    );
    const answers = await pipelined(origin, ["/1", "/2"]);
    expect(answers).toEqual([
      { status: 200, body: "one HTTP/1.1 200 OK" },
      { status: 200, body: "two" },
    ]);
  });

  test.each<[string, (write: ServerResponse["write"]) => unknown]>([
    ["undefined", () => undefined],
    ["null", () => null],
  ])("leaves whole through a write that answers %s", async (_, answers) => {
    const body = () => ReadableStream.from([1, 2, 3].map((each) => new TextEncoder().encode(`${each} `)));
    const origin = await serve((req, res) => {
      const write = res.write.bind(res) as (chunk: unknown) => boolean;
      res.write = ((chunk: unknown) => {
        write(chunk);
        return answers(res.write);
      }) as ServerResponse["write"];
      void nodeHandler(() => new Response(body()))(req, res);
    });
    expect(await (await fetch(origin)).text()).toBe("1 2 3 ");
  });

  test.each<[string, (app: express.RequestHandler) => object]>([
    ["Express 5", (app) => express().use(app)],
    ["Express 4", (app) => express4().use(app)],
  ])("and its request pass serverless-http and %s", async (_, appWith) => {
    const app = appWith((req, res, next) => {
      nodeHandler(
        async (request) =>
          new Response(
            `${request.method} ${request.url} ${request.headers.get("cookie")} ${await request.text()}`,
            {
              status: 201,
              headers: [
                ["set-cookie", "a=1"],
                ["set-cookie", "b=2"],
              ],
            },
          ),
      )(req, res).catch(next);
    });
    const answer = (await serverless(app as never)(
      {
        version: "2.0",
        requestContext: { http: { method: "POST", path: "/callback", sourceIp: "127.0.0.1" } },
        rawPath: "/callback",
        rawQueryString: "code=1",
        headers: { host: "shop.example", "content-type": "text/plain" },
        cookies: ["a=1", "b=2"],
        body: "sent",
      },
      {},
    )) as object;
    expect(answer).toMatchObject({
      statusCode: 201,
      cookies: ["a=1", "b=2"],
      body: "POST https://shop.example/callback?code=1 a=1; b=2 sent",
    });
  });

  describe("of somebody else", () => {
    const cancelled = () => {
      const told = later();
      return { told: told.promise, body: new ReadableStream({ cancel: () => told.resolve() }) };
    };

    test.each<[string, (body: ReadableStream) => Promise<Response>]>([
      ["answers", async (body) => new Response(body)],
      ["fails", () => Promise.reject(new Error("too late"))],
    ])("that is whole stays as it is if the handler %s later", async (outcome, late) => {
      const { told, body } = cancelled();
      const handle = nodeHandler(() => late(body));
      const settled = later();
      const origin = await serve((req, res) => {
        res.writeHead(503).end("timed out".repeat(100_000));
        void handle(req, res).then(settled.resolve);
      });
      const answer = await fetch(origin);
      expect([answer.status, (await answer.text()).length]).toEqual([503, 900_000]);
      await settled.promise;
      if (outcome === "answers") await told;
    });

    test.each<[string, (body: ReadableStream) => Promise<Response>]>([
      ["answers", async (body) => new Response(body)],
      ["fails", () => Promise.reject(new Error("too late"))],
    ])("that is half there ends with the connection if the handler %s later", async (outcome, late) => {
      const { told, body } = cancelled();
      const handle = nodeHandler(() => late(body), { onError: () => expect.unreachable() });
      const settled = later();
      const origin = await serve((req, res) => {
        res.writeHead(200).write("half");
        void handle(req, res).then(settled.resolve);
      });
      await expect(fetch(origin).then((answer) => answer.text())).rejects.toThrow();
      await settled.promise;
      if (outcome === "answers") await told;
    });

    test("that comes while the body is on its way ends the body", async () => {
      const { told, body } = cancelled();
      const settled = later();
      const origin = await serve((req, res) => {
        const slow = body.pipeThrough(new TransformStream({ start: (to) => to.enqueue(new Uint8Array(1)) }));
        void nodeHandler(() => new Response(slow))(req, res).then(settled.resolve);
        const { write } = res;
        res.write = ((chunk: Uint8Array) => {
          setImmediate(() => res.end());
          return write.call(res, chunk, "utf8");
        }) as ServerResponse["write"];
      });
      expect((await (await fetch(origin)).arrayBuffer()).byteLength).toBe(1);
      await Promise.all([told, settled.promise]);
    });
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
    ["Express 4", () => express4().use((req, res, next) => void failing(req, res).catch(next))],
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

  test("is Response.error() too: onError's answer leaves whole", async () => {
    const onError = (_: unknown, res: ServerResponse) => void res.writeHead(500).end("sorry");
    const handler = nodeHandler(() => Response.error(), { onError });
    const answer = await fetch(await serve((req, res) => void handler(req, res)));
    expect([answer.status, await answer.text()]).toEqual([500, "sorry"]);
  });

  test("at once, before it returns a promise, rejects like any other", async () => {
    const handler = nodeHandler(() => {
      throw boom;
    });
    const req = Object.assign(new IncomingMessage(new Socket()), { method: "GET", url: "/" });
    await expect(handler(req, new ServerResponse(req))).rejects.toBe(boom);
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

describe("over HTTP/2", () => {
  test("a request arrives with its address, headers and body, and an answer leaves", async () => {
    const { origin, ask } = await http2(
      nodeHandler(
        async (request) =>
          new Response(
            JSON.stringify([
              request.method,
              request.url,
              request.headers.get("cookie"),
              await request.text(),
            ]),
            {
              status: 201,
              statusText: "Very Good",
              headers: [
                ["set-cookie", "a=1"],
                ["set-cookie", "b=2"],
                ["connection", "close"],
                ["transfer-encoding", "chunked"],
                ["content-length", "3"],
              ],
            },
          ),
      ),
    );
    const stream = ask({ ":method": "POST", ":path": "/callback?code=1", cookie: ["a=1", "b=2"] });
    stream.end("sent");
    const [headers] = await once(stream, "response");
    expect(JSON.parse(await text(stream))).toEqual(["POST", `${origin}/callback?code=1`, "a=1; b=2", "sent"]);
    expect([headers[":status"], headers["set-cookie"]]).toEqual([201, ["a=1", "b=2"]]);
  });

  test.each(["user@localhost", "localhost:99999"])("the authority %s is 400", async (authority) => {
    const { ask } = await http2(nodeHandler(({ url }) => new Response(url)));
    const stream = ask({ ":path": "/public", ":authority": authority });
    const [headers] = await once(stream, "response");
    stream.close();
    expect(headers[":status"]).toBe(400);
  });

  test("an answer to HEAD, and one without a body, ends", async () => {
    const cancelled = later();
    const body = () => new ReadableStream({ cancel: () => cancelled.resolve() });
    const { ask } = await http2(nodeHandler(({ method }) => new Response(method === "HEAD" ? body() : null)));
    for (const method of ["HEAD", "GET"]) expect(await text(ask({ ":method": method }))).toBe("");
    await cancelled.promise;
  });

  test("an answer that breaks off ends its stream with an error", async () => {
    const body = () =>
      ReadableStream.from(
        (async function* () {
          yield new TextEncoder().encode("half");
          throw new Error("the API broke off");
        })(),
      );
    const { ask } = await http2(nodeHandler(() => new Response(body())));
    await expect(text(ask({}))).rejects.toThrow("NGHTTP2_INTERNAL_ERROR");
  });

  test("an answer of 8 MB leaves whole", async () => {
    const body = () => ReadableStream.from(Array.from({ length: 128 }, () => new Uint8Array(65_536)));
    const { ask } = await http2(nodeHandler(() => new Response(body())));
    let length = 0;
    for await (const chunk of ask({})) length += chunk.length;
    expect(length).toBe(128 * 65_536);
  });

  test.each<[string, boolean]>([
    ["while the handler works", false],
    ["while the body is on its way", true],
  ])("a browser that leaves %s aborts the signal, and the promise resolves", async (_, isAnswered) => {
    const [working, aborted, settled, cancelled] = [later(), later(), later(), later()];
    const body = () =>
      new ReadableStream({
        start: (to) => to.enqueue(new Uint8Array(1)),
        cancel: () => cancelled.resolve(),
      });
    const handle = nodeHandler(async ({ signal }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      working.resolve();
      if (!isAnswered) await aborted.promise;
      return new Response(body());
    });
    const { ask } = await http2((req, res) => void handle(req, res).then(settled.resolve));
    const stream = ask({});
    await (isAnswered ? once(stream, "response") : working.promise);
    stream.close(8); // CANCEL
    await Promise.all([aborted.promise, settled.promise, cancelled.promise]);
  });

  test("a browser that leaves before the handler is asked finds the signal aborted", async () => {
    const [came, asked, settled] = [later(), later<boolean>(), later()];
    const handle = nodeHandler(({ signal }) => {
      asked.resolve(signal.aborted);
      return new Response("for nobody");
    });
    const { ask } = await http2((req, res) => {
      res.once("close", () => setImmediate(() => void handle(req, res).then(settled.resolve)));
      came.resolve();
    });
    const stream = ask({});
    await came.promise;
    stream.close(8); // CANCEL
    expect(await asked.promise).toBe(true);
    await settled.promise;
  });
});

test("a handler that is none is a TypeError, and a misspelt option", () => {
  expect(() => nodeHandler(undefined as never)).toThrow(/handler/);
  expect(() => nodeHandler(() => new Response(), { onerror: () => {} } as never)).toThrow(
    new TypeError("onerror is no option; it is called onError here"),
  );
});

/** An application on HTTP/2, and how to ask it. */
async function http2(app: RequestListener) {
  const server = createHttp2Server(app as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const session = connectHttp2(origin);
  onTestFinished(async () => {
    session.destroy();
    server.close();
    await once(server, "close");
  });
  return { origin, ask: (headers: object) => session.request({ ...headers }) };
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

/** Requests on one connection, and their answers as a parser reads them that trusts what it is told. */
async function pipelined(
  origin: string,
  paths: readonly string[],
): Promise<{ status: number; body: string }[]> {
  const { port } = new URL(origin);
  const socket = connect(Number(port), "127.0.0.1");
  for (const path of paths.slice(0, -1)) socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  socket.write(`GET ${paths.at(-1)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  let rest = await text(socket);
  const answers: { status: number; body: string }[] = [];
  while (rest !== "") {
    const [head = ""] = rest.split("\r\n\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    rest = rest.slice(head.length + 4);
    const length = /^content-length: (\d+)$/im.exec(head)?.[1];
    let body = "";
    if (/^transfer-encoding: chunked$/im.test(head)) {
      for (let size = -1; size !== 0; ) {
        const [line = ""] = rest.split("\r\n");
        size = Number.parseInt(line, 16);
        body += rest.slice(line.length + 2, line.length + 2 + size);
        rest = rest.slice(line.length + 2 + size + 2);
      }
    } else {
      body = rest.slice(0, length === undefined ? rest.length : Number(length));
      rest = rest.slice(body.length);
    }
    answers.push({ status, body });
  }
  return answers;
}
