import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import { type RetailPos, retailPos } from "@retail-pos/core";
import { bearer as expressBearer } from "@retail-pos/express-bearer";
import { bearer as fastifyBearer } from "@retail-pos/fastify-bearer";
import { bearer as koaBearer } from "@retail-pos/koa-bearer";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import express from "express";
import Fastify from "fastify";
import httpProxy from "http-proxy";
import Koa from "koa";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listen } from "./support/listen.js";
import { combinations } from "./support/sites.js";
import { endTls, type TlsProxy } from "./support/tls-proxy.js";

const store = "harbour-coffee";

describe("a forwarding proxy behind the bearer (header: true)", () => {
  let clock: VirtualClock;
  let sandbox: Sandbox;
  let pos: RetailPos;
  const proxy = httpProxy.createProxyServer({ changeOrigin: true });

  beforeEach(async () => {
    clock = virtualClock();
    sandbox = await startSandbox({ clock, lifetimeMs: 600_000 });
    const { authUrl, baseUrl, application } = sandbox;
    pos = retailPos({ ...application, authUrl, baseUrl, clock });
    const code = sandbox.approve(store).searchParams.get("code") ?? "";
    await pos.connect(await pos.exchange(store, code));
  });
  afterEach(() => sandbox.close());

  const forward = (req: IncomingMessage, res: ServerResponse) =>
    proxy.web(req, res, { target: sandbox.baseUrl.replace("{domain_prefix}", store) });
  const retailer = () => store;

  test.each<[string, () => RequestListener]>([
    ["Express", () => express().use(expressBearer({ client: pos, retailer, header: true }), forward)],
    [
      "Koa",
      () => {
        const app = new Koa();
        app.use(koaBearer({ client: pos, retailer, header: true }));
        app.use((ctx) => {
          ctx.respond = false;
          forward(ctx.req, ctx.res);
        });
        return app.callback();
      },
    ],
    [
      "Fastify",
      () => {
        const app = Fastify();
        const preHandler = fastifyBearer({ client: pos, retailer, header: true });
        app.all("/*", { preHandler }, (request, reply) => {
          reply.hijack();
          forward(request.raw, reply.raw);
        });
        return async (req, res) => {
          await app.ready();
          app.routing(req, res);
        };
      },
    ],
  ])(
    "%s: the API sees the retailer's bearer, whatever the caller sent, also after expiry",
    async (_name, app) => {
      const { origin, close } = await listen(app());
      for (const authorization of ["Bearer of-the-caller", undefined]) {
        const answer = await fetch(`${origin}/api/products`, {
          headers: { ...(authorization && { authorization }) },
        });
        expect(answer.status).toBe(200);
        expect(await answer.text()).toContain("House espresso");
        clock.advance(600_000);
      }
      expect(sandbox.tokenRequests(store)).toHaveLength(2);
      await close();
    },
  );
});

describe("a proxy that ends TLS, and a relative callbackURL", () => {
  test.each(combinations)("$name: the login goes through, as the browser sees it", async ({ site }) => {
    let handler: RequestListener = () => {};
    const app = await listen((req, res) => handler(req, res));
    const tls = await endTls(app.origin);
    const [origin, open] = [`https://localhost:${tls.port}`, browserBehind(tls)];
    const sandbox = await startSandbox({ redirectUri: `${origin}/callback` });
    const { authUrl, baseUrl, application } = sandbox;
    const { clientId: clientID, clientSecret } = application;
    const strategy = { authUrl, baseUrl, clientID, clientSecret, callbackURL: "/callback" };
    handler = site({ strategy, redirectUri: `${origin}/callback`, trustProxy: true });

    const start = await open("/login");
    const callback = sandbox.consent(start.location, store); // compares the redirect_uri letter by letter
    expect(callback.protocol).toBe("https:");
    const finish = await open(`${callback.pathname}${callback.search}`);
    expect(finish.status).toBe(200);
    expect(JSON.parse(finish.body)).toEqual({ user: { domainPrefix: store } });

    tls.close();
    await app.close();
    await sandbox.close();
  });
});

/** A browser that comes by way of the proxy, trusts its certificate and keeps cookies. */
function browserBehind({ port, certificate }: TlsProxy) {
  const cookies = new Map<string, string>();
  return (path: string) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return new Promise<{ status: number; location: string; body: string }>((resolve, reject) => {
      const options = { ca: certificate, agent: false, headers: { cookie } } as const;
      httpsRequest(`https://localhost:${port}${path}`, options, async (answer) => {
        for (const line of answer.headers["set-cookie"] ?? []) {
          const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
          cookies.set(name, value);
        }
        let body = "";
        for await (const chunk of answer) body += chunk;
        resolve({ status: answer.statusCode ?? 0, location: answer.headers.location ?? "", body });
      })
        .on("error", reject)
        .end();
    });
  };
}
