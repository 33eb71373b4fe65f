import "reflect-metadata";
import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Controller, Get, type INestApplication, type MiddlewareConsumer, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import {
  InvalidDomainPrefixError,
  NotConnectedError,
  RateLimitedError,
  type RetailPos,
  type RetailPosError,
  TokenEndpointError,
} from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import express5 from "express";
import express4 from "express4";
import Fastify from "fastify";
import { Hono } from "hono";
import Koa3 from "koa";
import Koa2 from "koa2";
import { afterEach, describe, expect, test } from "vitest";
import { listen } from "./support/listen.js";

// Every framework's own error handler answers our errors with our status and our headers, without a line of code.

const closing: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const errors: Array<{ name: string; error: () => RetailPosError; status: number; retryAfter?: string }> = [
  { name: "a login is missing", error: () => new NotConnectedError({ domainPrefix: "shop" }), status: 401 },
  { name: "a stranger's domain prefix", error: () => new InvalidDomainPrefixError(), status: 400 },
  { name: "the service is away", error: () => new TokenEndpointError("down"), status: 502 },
  { name: "a rate limit", error: () => new RateLimitedError(30_000, 0), status: 503, retryAfter: "30" },
];

/** Applications whose every request fails with the error, by way of what the framework does with a thrown one. */
const thrown: Record<string, (error: RetailPosError) => RequestListener | Promise<RequestListener>> = {
  "Express 5": (error) => onExpress(express5, error),
  "Express 4": (error) => onExpress(express4, error),
  "Koa 3": (error) => onKoa(new Koa3(), error),
  "Koa 2": (error) => onKoa(new Koa2() as unknown as Koa3, error),
  async "Fastify 5"(error) {
    const app = Fastify();
    app.get("/", async () => {
      throw error;
    });
    await app.ready();
    closing.push(() => app.close());
    return app.routing;
  },
  "Hono 4"(error) {
    const app = new Hono();
    app.get("/", () => {
      throw error;
    });
    return getRequestListener(app.fetch);
  },
};

for (const [framework, appOf] of Object.entries(thrown)) {
  describe(framework, () => {
    for (const { name, error, status, retryAfter } of errors) {
      test(`answers an error that a handler throws: ${name}`, async () => {
        const answer = await answerOf(await appOf(error()));
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([status, retryAfter ?? null]);
      });
    }
  });
}

describe("Nest 11", () => {
  for (const { name, error, status, retryAfter } of errors) {
    for (const applied of ["to the application", "by a module"] as const) {
      test(`answers what express-bearer passes on, applied ${applied}: ${name}`, async () => {
        const client = { retailer: () => ({ token: () => Promise.reject(error()) }) } as unknown as RetailPos;
        const answer = await answerOf(await nest(bearer({ client, retailer: () => "shop" }), applied));
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([status, retryAfter ?? null]);
        expect(await answer.json()).toMatchObject({ statusCode: status });
      });
    }
  }
});

async function nest(
  middleware: ReturnType<typeof bearer>,
  applied: "to the application" | "by a module",
): Promise<RequestListener> {
  // Decorators as the functions that they are: tests are not compiled by Nest's compiler.
  class Products {
    list() {
      return [];
    }
  }
  Controller()(Products);
  Get()(Products.prototype, "list", Object.getOwnPropertyDescriptor(Products.prototype, "list") as never);
  class App {
    configure(consumer: MiddlewareConsumer) {
      if (applied === "by a module") consumer.apply(middleware).forRoutes(Products);
    }
  }
  Module({ controllers: [Products] })(App);
  const app: INestApplication = await NestFactory.create(App, { logger: false });
  if (applied === "to the application") app.use(middleware);
  await app.init();
  closing.push(() => app.close());
  return app.getHttpAdapter().getInstance();
}

function onExpress(express: typeof express5, error: RetailPosError): RequestListener {
  const app = express();
  app.set("env", "test"); // Express's own error handler, without its log line
  app.get("/", () => {
    throw error;
  });
  return app;
}

function onKoa(app: Koa3, error: RetailPosError): RequestListener {
  app.silent = true;
  app.use(() => {
    throw error;
  });
  return app.callback();
}

async function answerOf(app: RequestListener): Promise<Response> {
  const { origin, close } = await listen(app);
  closing.push(close);
  return fetch(origin);
}
