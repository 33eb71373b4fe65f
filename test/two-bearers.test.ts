import { ReconnectRequiredError, type RetailPos, retailPos } from "@retail-pos/core";
import { bearer as expressBearer } from "@retail-pos/express-bearer";
import { bearer as fastifyBearer } from "@retail-pos/fastify-bearer";
import { bearer as honoBearer } from "@retail-pos/hono-bearer";
import { bearer as koaBearer } from "@retail-pos/koa-bearer";
import express, { type NextFunction, type Request, type Response } from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { expect, test } from "vitest";
import { listen } from "./support/listen.js";

// Two bearers on one request, and the second fails: the error handler must not see the first's retailer.

const first = {
  personalToken: { baseUrl: "https://{domain_prefix}.example", domainPrefix: "shop", token: "t" },
  header: true,
} as const;
const failing: RetailPos = {
  ...retailPos({ baseUrl: "https://{domain_prefix}.example", clientId: "id", clientSecret: "secret" }),
  retailer: () => ({ token: () => Promise.reject(new ReconnectRequiredError("refused")) }) as never,
};
const second = { client: failing, retailer: () => "other-shop", header: true };
const seen = { code: "reconnect_required", retailer: null, authorization: null };

test("Express", async () => {
  const app = express();
  app.use(expressBearer(first), expressBearer(second));
  app.use((error: { code: string }, req: Request, res: Response, _next: NextFunction) => {
    const { authorization = null } = req.headers;
    res.json({ code: error.code, retailer: req.retailPos?.domainPrefix ?? null, authorization });
  });
  const { origin, close } = await listen(app);
  expect(await (await fetch(origin)).json()).toEqual(seen);
  await close();
});

test("Koa", async () => {
  const app = new Koa();
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const { authorization = null } = ctx.req.headers;
      const { code } = error as { code: string };
      ctx.body = { code, retailer: ctx.state.retailPos?.domainPrefix ?? null, authorization };
    }
  });
  app.use(koaBearer(first)).use(koaBearer(second));
  const { origin, close } = await listen(app.callback());
  expect(await (await fetch(origin)).json()).toEqual(seen);
  await close();
});

test("Fastify", async () => {
  const app = Fastify();
  app.setErrorHandler((error: { code: string }, request) => {
    const { authorization = null } = request.headers;
    return { code: error.code, retailer: request.retailPos?.domainPrefix ?? null, authorization };
  });
  app.get("/", { preHandler: [fastifyBearer(first), fastifyBearer(second)] }, () => "passed");
  expect((await app.inject("/")).json()).toEqual(seen);
});

test("Hono", async () => {
  const app = new Hono();
  app.use(honoBearer(first), honoBearer(second));
  app.onError((error, c) => {
    const { code } = error as Error & { code?: string };
    const authorization = c.req.raw.headers.get("authorization");
    return c.json({ code, retailer: c.var.retailPos?.domainPrefix ?? null, authorization });
  });
  expect(await (await app.request("/")).json()).toEqual(seen);
});
