import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { isRetailPosError, type RetailPos, retailPos } from "@retail-pos/core";
import { bearer as expressBearer } from "@retail-pos/express-bearer";
import { bearer as fastifyBearer } from "@retail-pos/fastify-bearer";
import { bearer as honoBearer } from "@retail-pos/hono-bearer";
import { bearer as koaBearer } from "@retail-pos/koa-bearer";
import { nodeHandler, type WebHandler, webLogin } from "@retail-pos/login";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import type { Combination, SiteSettings } from "./sites.js";

/** What an application without Passport consists of, whatever serves it. */
interface Parts {
  readonly client: RetailPos;
  /** By path: the login, and who is logged in. */
  readonly handlers: ReadonlyMap<string, WebHandler>;
  /** Who is logged in, by a request's cookies. */
  readonly retailer: (cookies: string | null | undefined) => string | undefined;
}

/** Frameworks with a bearer of ours answer its errors by their own handlers; the others are told core's answer. */
export const webSites: readonly Combination[] = [
  web("node:http with webLogin", (parts) => {
    const handlers = withProducts(parts);
    const notFound = () => new Response(null, { status: 404 });
    return (req, res) => {
      const { pathname } = new URL(req.url ?? "/", "http://localhost");
      void nodeHandler(handlers.get(pathname) ?? notFound, {
        onError: (_, failed) => failed.writeHead(500).end(),
      })(req, res);
    };
  }),
  web("Express 5 with webLogin and express-bearer", ({ client, handlers, retailer }) => {
    const app = express();
    for (const [path, handler] of handlers) app.get(path, nodeHandler(handler));
    const fresh = expressBearer({ client, retailer: (req) => retailer(req.get("cookie")) });
    app.get("/products", fresh, async (req, res) => {
      res.json(await (await req.retailPos.fetch("api/products")).json());
    });
    return app;
  }),
  web("Koa 3 with webLogin and koa-bearer", ({ client, handlers, retailer }) => {
    const app = new Koa();
    app.silent = true;
    const fresh = koaBearer({ client, retailer: (ctx) => retailer(ctx.get("cookie")) });
    app.use((ctx, next) => {
      const handler = handlers.get(ctx.path);
      return handler ? nodeHandler(handler)(ctx.req, ctx.res) : next();
    });
    app.use(fresh).use(async (ctx) => {
      ctx.body = await (await ctx.state.retailPos.fetch("api/products")).json();
    });
    return app.callback();
  }),
  web("Fastify 5 with webLogin and fastify-bearer", ({ client, handlers, retailer }) => {
    const app = Fastify();
    for (const [path, handler] of handlers) {
      const answer = nodeHandler(handler);
      app.get(path, (request, reply) => answer(request.raw, reply.raw));
    }
    const fresh = fastifyBearer({ client, retailer: (request) => retailer(request.headers.cookie) });
    app.get("/products", { preHandler: fresh }, async (request) =>
      (await request.retailPos.fetch("api/products")).json(),
    );
    return (req, res) => void app.ready().then(() => app.routing(req, res));
  }),
  web("Hono 4 on Node with webLogin and hono-bearer", ({ client, handlers, retailer }) => {
    const app = new Hono();
    for (const [path, handler] of handlers) app.get(path, (c) => handler(c.req.raw));
    const fresh = honoBearer({ client, retailer: (c) => retailer(c.req.header("cookie")) });
    app.get("/products", fresh, async (c) =>
      c.json(await (await c.var.retailPos.fetch("api/products")).json()),
    );
    return getRequestListener(app.fetch);
  }),
];

function web(name: string, serve: (parts: Parts) => RequestListener): Combination {
  return { name, site: (settings) => serve(partsOf(settings)) };
}

/** Where there is no bearer of ours: the client's own `fetch`, and core's own answer to an error. */
function withProducts({ client, handlers, retailer }: Parts): ReadonlyMap<string, WebHandler> {
  const products: WebHandler = async (request) => {
    const store = retailer(request.headers.get("cookie"));
    if (!store) return new Response(null, { status: 401 });
    try {
      return Response.json(await (await client.retailer(store).fetch("api/products")).json());
    } catch (error) {
      if (isRetailPosError(error)) return error.getResponse();
      throw error;
    }
  };
  return new Map([...handlers, ["/products", products]]);
}

/** What the application writes: the login, and who is logged in, in a cookie of its own. */
function partsOf({ strategy, login: startWith, redirectUri }: SiteSettings): Parts {
  const {
    clientID: clientId,
    clock,
    authUrl,
    baseUrl,
    clientSecret,
  } = strategy as never as Record<"authUrl" | "baseUrl" | "clientID" | "clientSecret" | "clock", never>;
  const client = retailPos({ authUrl, baseUrl, clientId, clientSecret, redirectUri, clock });
  const login = webLogin({
    client,
    clock,
    secret: "a secret of the tests, longer than 32 letters",
    onLogin: ({ login: { domainPrefix }, state }) =>
      Response.json({ user: { domainPrefix }, state }, { headers: { "set-cookie": `who=${domainPrefix}` } }),
    onFailure: ({ code, message, status, headers }) =>
      Response.json({ info: { code, message } }, { status, headers }),
  });
  const retailer = (cookies: string | null | undefined) => /(?:^|; )who=([\w-]+)/.exec(cookies ?? "")?.[1];
  const me: WebHandler = (request) => {
    const domainPrefix = retailer(request.headers.get("cookie"));
    return Response.json({ user: domainPrefix ? { domainPrefix } : null });
  };
  const handlers = new Map<string, WebHandler>([
    ["/login", startWith ? (request) => login.start(request, startWith) : login.start],
    ["/callback", login.callback],
    ["/finish", login.callback],
    ["/me", me],
  ]);
  return { client, handlers, retailer };
}
