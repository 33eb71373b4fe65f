import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { isRetailPosError, retailPos } from "@retail-pos/core";
import { nodeHandler, type WebHandler, webLogin } from "@retail-pos/login";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import type { Combination, SiteSettings } from "./sites.js";

/** How a framework serves the same five handlers. */
type Serve = (handlers: ReadonlyMap<string, WebHandler>) => RequestListener;

export const webSites: readonly Combination[] = [
  web("node:http with webLogin", (handlers) => {
    const notFound = () => new Response(null, { status: 404 });
    return (req, res) => {
      const { pathname } = new URL(req.url ?? "/", "http://localhost");
      void nodeHandler(handlers.get(pathname) ?? notFound, {
        onError: (_, failed) => failed.writeHead(500).end(),
      })(req, res);
    };
  }),
  web("Express 5 with webLogin", (handlers) => {
    const app = express();
    for (const [path, handler] of handlers) app.get(path, nodeHandler(handler));
    return app;
  }),
  web("Koa 3 with webLogin", (handlers) => {
    const app = new Koa();
    app.use((ctx, next) => {
      const handler = handlers.get(ctx.path);
      return handler ? nodeHandler(handler)(ctx.req, ctx.res) : next();
    });
    return app.callback();
  }),
  web("Fastify 5 with webLogin", (handlers) => {
    const app = Fastify();
    for (const [path, handler] of handlers) {
      const answer = nodeHandler(handler);
      app.get(path, (request, reply) => answer(request.raw, reply.raw));
    }
    return (req, res) => void app.ready().then(() => app.routing(req, res));
  }),
  web("Hono 4 on Node with webLogin", (handlers) => {
    const app = new Hono();
    for (const [path, handler] of handlers) app.get(path, (c) => handler(c.req.raw));
    return getRequestListener(app.fetch);
  }),
  web("handlers called as Next.js calls route handlers, with webLogin", (handlers) => {
    type RouteHandler = (
      request: Request,
      context: { params: Promise<object> },
    ) => Response | Promise<Response>;
    const routes = new Map<string, { GET?: RouteHandler }>(
      [...handlers].map(([path, GET]) => [path, { GET }]),
    );
    return nodeHandler((request) => {
      const { GET } = routes.get(new URL(request.url).pathname) ?? {};
      return GET ? GET(request, { params: Promise.resolve({}) }) : new Response(null, { status: 404 });
    });
  }),
];

function web(name: string, serve: Serve): Combination {
  return { name, site: (settings) => serve(handlersOf(settings)) };
}

/** What the application writes: the login, and who is logged in, in a cookie of its own. */
function handlersOf({
  strategy,
  login: startWith,
  redirectUri,
}: SiteSettings): ReadonlyMap<string, WebHandler> {
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
  const whoIs = (request: Request) => /(?:^|; )who=([\w-]+)/.exec(request.headers.get("cookie") ?? "")?.[1];

  return new Map<string, WebHandler>([
    ["/login", startWith ? (request) => login.start(request, startWith) : login.start],
    ["/callback", login.callback],
    ["/finish", login.callback],
    [
      "/me",
      (request) => {
        const domainPrefix = whoIs(request);
        return Response.json({ user: domainPrefix ? { domainPrefix } : null });
      },
    ],
    [
      "/products",
      async (request) => {
        const retailer = whoIs(request);
        if (!retailer) return new Response(null, { status: 401 });
        try {
          return await client.retailer(retailer).fetch("api/products");
        } catch (error) {
          if (!isRetailPosError(error)) throw error;
          return new Response(error.message, { status: error.status, headers: { ...error.headers } });
        }
      },
    ],
  ]);
}
