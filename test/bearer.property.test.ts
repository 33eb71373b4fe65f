import { retailPos } from "@retail-pos/core";
import { bearer as expressBearer } from "@retail-pos/express-bearer";
import { bearer as fastifyBearer } from "@retail-pos/fastify-bearer";
import { bearer as honoBearer } from "@retail-pos/hono-bearer";
import { bearer as koaBearer } from "@retail-pos/koa-bearer";
import fc from "fast-check";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { answered, holds, spoilt, unlessRefused } from "./support/fuzz.js";

const BASE_URL = "https://{domain_prefix}.example.com";
const client = retailPos({
  authUrl: "https://login.example.com",
  baseUrl: BASE_URL,
  clientId: "the-application",
  clientSecret: "the-client-secret",
  redirectUri: "https://app.example.net/callback",
});
const personal = { baseUrl: BASE_URL, domainPrefix: "shop", token: "personal" };
const names = [
  "client",
  "retailer",
  "personalToken",
  "baseUrl",
  "domainPrefix",
  "token",
  "fetch",
  "optional",
  "header",
];

/** What makes each middleware of its options, and how a request goes through it: resolves, or rejects. */
const middlewares: [string, (options: never) => () => Promise<unknown>][] = [
  [
    "express-bearer",
    (options) => {
      const middleware = expressBearer(options);
      return () =>
        new Promise<void>((resolve, reject) => {
          const next = (error?: unknown) => (error ? reject(error) : resolve());
          middleware({ headers: {} } as never, {} as never, next);
        });
    },
  ],
  [
    "koa-bearer",
    (options) => {
      const middleware = koaBearer(options);
      const context = () => ({ req: { headers: {} }, state: {} }) as never;
      return async () => middleware(context(), async () => {});
    },
  ],
  [
    "fastify-bearer",
    (options) => {
      const hook = fastifyBearer(options);
      const headers = {};
      return () => hook({ raw: { headers }, headers } as never);
    },
  ],
  [
    "hono-bearer",
    (options) => {
      const middleware = honoBearer(options);
      return async () => {
        const app = new Hono();
        let thrown: unknown;
        app.use(middleware).get("/", (c) => c.text("ok"));
        app.onError((error, c) => {
          thrown = error;
          return c.text("failed", 500);
        });
        await app.request("/");
        if (thrown !== undefined) throw thrown;
      };
    },
  ],
];

test.each(middlewares)(
  "%s: options either work or are refused by a TypeError that names one of them",
  async (_name, make) => {
    const values = fc.constantFrom<unknown>(
      client,
      {},
      personal,
      () => "shop",
      () => undefined,
      async () => "a.b",
      undefined,
    );
    const modes = [
      { client, retailer: () => "shop", optional: true, header: true, personalToken: undefined },
      { client: undefined, retailer: undefined, optional: true, header: true, personalToken: personal },
    ];
    await holds(
      fc.asyncProperty(
        fc.oneof(...modes.map((good) => spoilt(good, Object.keys(good), values))),
        async (given) => {
          const ask = unlessRefused(() => make(given as never), names);
          if (!ask) return;
          const outcome = await answered(
            ask().then(
              () => "ok",
              (error: unknown) => Object(error).code,
            ),
          );
          expect(["not_connected", "invalid_domain_prefix", "ok"]).toContain(outcome);
        },
      ),
      1_000,
    );
  },
);
