import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryLock, memoryStore } from "@retail-pos/core";
import {
  type Sandbox,
  startSandbox,
  type VirtualClock,
  type Visitor,
  virtualClock,
} from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createApp, type Parts } from "./app.js";
import { settingsFrom } from "./settings.js";

const store = "harbour-coffee";
let clock: VirtualClock;
let sandbox: Sandbox;
let shared: Parts;
let login: Running;
/** A person with a browser. */
let visitor: Visitor;

beforeEach(async () => {
  clock = virtualClock();
  shared = { store: memoryStore(), lock: memoryLock(), clock };
  login = await serve();
  sandbox = await startSandbox({
    clock,
    lifetimeMs: 600_000,
    redirectUri: `${login.origin}/auth/retail-pos/callback`,
  });
  visitor = sandbox.visitor(store);
  login.run("login");
});
afterEach(async () => {
  login.close();
  await sandbox.close();
});

test("logs in, joins products and sales, and goes on doing so after the token expired", async () => {
  await logIn();
  await sell(2);
  await sell(3);
  const first = await open(login, "/stock");
  expect(first.body).toMatchObject({ store, stock: expect.any(Array) });
  expect(first.body.stock[0]).toMatchObject({ name: "House espresso, 250 g", sold: 5 });
  clock.advance(600_000);
  expect((await open(login, "/stock")).body.stock[0]).toMatchObject({ sold: 5 });
  expect(sandbox.tokenRequests(store)).toHaveLength(2); // one for both calls
});

test("answers 401 to strangers and after logout, and the API sees no call", async () => {
  expect(await open(login, "/stock")).toMatchObject({ status: 401, body: { error: "not_connected" } });
  await logIn();
  const { length } = sandbox.requests;
  expect((await open(login, "/logout", { method: "POST" })).status).toBe(204);
  expect((await open(login, "/stock")).status).toBe(401);
  expect(sandbox.requests).toHaveLength(length);
});

test.each([
  ["access_denied", "error=access_denied", 403],
  ["state_unknown", "code=c&domain_prefix=shop&state=of-somebody-else", 403],
  ["invalid_callback", "code=a&code=b&domain_prefix=shop&state=12345678", 400],
])("says why a login failed: %s", async (code, query, status) => {
  const answer = await open(login, `/auth/retail-pos/callback?${query}`);
  expect(answer).toMatchObject({ status, body: { error: code, message: expect.any(String) } });
});

test("whoever is logged in, presses Back and approves again comes back to their stock", async () => {
  await logIn();
  const again = (domainPrefix: string) =>
    open(login, `/auth/retail-pos/callback?code=c&domain_prefix=${domainPrefix}&state=used-before`);
  for (const named of [store, store.toUpperCase()])
    expect((await again(named)).headers.get("location")).toBe("/stock");
  expect(await again("second-chapter")).toMatchObject({ status: 403, body: { error: "state_unknown" } });
});

test("behind a gateway it takes the store from X-Store, and never shows a login page", async () => {
  await logIn(); // the login service, which shares its store of tokens
  const gateway = await serve();
  gateway.run("gateway");
  expect((await open(gateway, "/stock", { headers: { "x-store": store } })).body).toMatchObject({ store });
  expect((await open(gateway, "/stock")).status).toBe(401);
  expect((await open(gateway, "/stock", { headers: { "x-store": "evil.example/" } })).status).toBe(400);
  expect((await open(gateway, "/stock", { headers: { "x-store": "plant-room" } })).status).toBe(401);
  expect((await open(gateway, "/auth/retail-pos")).status).toBe(404);
  gateway.close();
});

test("says when to come back while the token endpoint is rate limited, and shows nothing else", async () => {
  await logIn();
  clock.advance(600_000);
  sandbox.limit(store, 30_000);
  const answer = await open(login, "/stock");
  expect(answer).toMatchObject({ status: 503, body: { error: "rate_limited" } });
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("nobody is logged out by another site's page, and no browser keeps what it shows", async () => {
  await logIn();
  for (const origin of ["https://evil.example", "null"])
    expect(await open(login, "/logout", { method: "POST", headers: { origin } })).toMatchObject({
      status: 403,
      body: { error: "from_elsewhere" },
    });
  const stock = await open(login, "/stock");
  expect(stock.status).toBe(200);
  expect(stock.headers.get("cache-control")).toBe("no-store");
  expect(stock.headers.get("content-security-policy")).toContain("default-src 'self'");
  const { origin } = login;
  expect((await open(login, "/logout", { method: "POST", headers: { origin } })).status).toBe(204);
});

test("tells that it is healthy", async () => {
  expect(await open(login, "/health")).toMatchObject({ status: 200, body: { status: "ok" } });
});

test("is ready, until the store is away or the process is told to end", async () => {
  expect(await open(login, "/ready")).toMatchObject({ status: 200, body: { status: "ready" } });
  const notReady = { status: 503, body: { status: "not ready" } };
  shared = { ...shared, store: { ...memoryStore(), load: () => Promise.reject(new Error("away")) } };
  login.run("login");
  expect(await open(login, "/ready")).toMatchObject(notReady);
  shared = { clock, stopping: AbortSignal.abort() };
  login.run("login");
  expect(await open(login, "/ready")).toMatchObject(notReady);
  expect(await open(login, "/health")).toMatchObject({ status: 200 });
});

describe("the settings", () => {
  const deployed = {
    RETAIL_POS_AUTH_URL: "https://auth.example",
    RETAIL_POS_BASE_URL: "https://{domain_prefix}.retail.example",
    RETAIL_POS_CLIENT_ID: "ours",
    RETAIL_POS_CLIENT_SECRET: "a client secret of 32 characters",
    RETAIL_POS_REDIRECT_URI: "https://stock.example/auth/retail-pos/callback",
    SESSION_SECRET: "a session secret of 32 characters and more",
  };

  test("are the sandbox's without an environment", async () => {
    const standard = await startSandbox();
    for (const env of [{}, { RETAIL_POS_AUTH_URL: "", SESSION_SECRET: " " }])
      expect(settingsFrom(env)).toMatchObject({ service: standard.application, HOST: "127.0.0.1" });
    await standard.close();
    expect(settingsFrom({ RETAIL_POS_SCOPE: "products:read" }).service.scope).toBe("products:read");
  });

  test("are the application's own once people come from elsewhere, and the cookies are for https", async () => {
    const settings = settingsFrom(deployed);
    expect(settings).toMatchObject({
      service: { clientId: "ours" },
      SESSION_SECRET: deployed.SESSION_SECRET,
      HOST: "127.0.0.1",
      TRUST_PROXY: 1,
    });
    const tokens = { access_token: "a", refresh_token: "r", expires_in: 600, domain_prefix: store };
    const app = createApp(settings, { fetch: async () => Response.json(tokens) });
    const server = createServer(app.callback()).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const open = (path: string, cookie = "") => {
      const headers = { "x-forwarded-proto": "https", cookie };
      return fetch(`http://127.0.0.1:${port}/auth/retail-pos${path}`, { headers, redirect: "manual" });
    };
    const started = await open("");
    const state = new URL(started.headers.get("location") ?? "").searchParams.get("state");
    const [cookie = ""] = started.headers.getSetCookie();
    const query = `?code=c&domain_prefix=${store}&state=${state}`;
    const finished = await open(`/callback${query}`, cookie.split(";")[0]);
    expect(cookie).toMatch(/^__Host-retail-pos\..*; Secure/);
    expect(finished.headers.getSetCookie().join()).toMatch(/__Host-koa-service=[^,]*; secure/i);
  });

  test.each([
    ["no session secret", { SESSION_SECRET: undefined }, "SESSION_SECRET"],
    ["a short session secret", { SESSION_SECRET: "too short" }, "SESSION_SECRET"],
    ["the client secret again", { SESSION_SECRET: deployed.RETAIL_POS_CLIENT_SECRET }, "SESSION_SECRET"],
    ["the sandbox's id", { RETAIL_POS_CLIENT_ID: "sandbox-application" }, "RETAIL_POS_CLIENT_ID"],
    ["the sandbox's secret", { RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret" }, "_CLIENT_SECRET"],
    ["no id", { RETAIL_POS_CLIENT_ID: undefined }, "RETAIL_POS_CLIENT_ID is missing"],
    ["no service", { RETAIL_POS_AUTH_URL: undefined }, "RETAIL_POS_AUTH_URL is missing"],
    ["another path", { RETAIL_POS_REDIRECT_URI: "https://stock.example/oauth" }, "must have the path"],
    ["no address", { HOST: "here" }, "HOST must be an IP address"],
    ["no port", { PORT: "eighty" }, "PORT must be a whole number from 0 to 65535"],
    ["a proxy that is not believed", { TRUST_PROXY: "0" }, "TRUST_PROXY must be a whole number from 1 to 10"],
    ["a retailer from nowhere", { RETAILER_FROM: "none" }, "RETAILER_FROM"],
  ])("are refused there: %s", (_case, wrong, named) => {
    expect(() => settingsFrom({ ...deployed, ...wrong })).toThrow(named);
  });

  test.each(["localhost:3000", "127.1.2.3:80", "[::1]:3000", "shop.localhost"])(
    "need no session secret on this machine: %s",
    (host) => {
      const RETAIL_POS_REDIRECT_URI = `http://${host}/auth/retail-pos/callback`;
      expect(() =>
        settingsFrom({ ...deployed, RETAIL_POS_REDIRECT_URI, SESSION_SECRET: undefined }),
      ).not.toThrow();
    },
  );

  test("without a session secret make another one at each start, and refuse a short one here too", () => {
    const secrets = [1, 2].map(() => settingsFrom({ HOST: "0.0.0.0" }).SESSION_SECRET);
    expect(new Set(secrets).size).toBe(2);
    for (const secret of secrets) expect(secret).toMatch(/^[\da-f]{64}$/);
    expect(() => settingsFrom({ SESSION_SECRET: "x" })).toThrow("must be 32 characters or more");
  });

  test.each(["localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost", "10.0.0.1", "[::2]"])(
    "need one for people from elsewhere: %s",
    (host) => {
      const RETAIL_POS_REDIRECT_URI = `https://${host}/auth/retail-pos/callback`;
      expect(() => settingsFrom({ ...deployed, RETAIL_POS_REDIRECT_URI, SESSION_SECRET: undefined })).toThrow(
        "SESSION_SECRET is missing",
      );
    },
  );

  test("in production have no default, also if none is given", () => {
    const forgotten = () => settingsFrom({ NODE_ENV: "production" });
    for (const name of Object.keys(deployed)) expect(forgotten).toThrow(`- ${name} is missing`);
  });

  test("behind a gateway need no session secret: nobody logs in here", () => {
    const gateway = { ...deployed, RETAILER_FROM: "gateway", SESSION_SECRET: undefined, HOST: "0.0.0.0" };
    expect(settingsFrom(gateway)).toMatchObject({ RETAILER_FROM: "gateway", HOST: "127.0.0.1" });
  });
});

test.each(["SIGTERM", "SIGINT"] as const)("ends by itself on %s, with nothing left open", async (signal) => {
  const server = fileURLToPath(new URL("../dist/server.js", import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), "koa-service-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const child = spawn(process.execPath, [server], {
    env: { ...process.env, PORT: "0", DATABASE_FILE: join(folder, "made", "tokens.sqlite") },
  });
  const started: string = await new Promise((resolve) =>
    child.stdout.once("data", (line) => resolve(`${line}`)),
  );
  const port = /port (\d+)/.exec(started)?.[1];
  const answer = await fetch(`http://127.0.0.1:${port}/health`); // its connection stays open
  expect(await answer.json()).toEqual({ status: "ok" });
  const ended = new Promise((resolve) => child.once("exit", (...how) => resolve(how)));
  child.kill(signal);
  expect(await ended).toEqual([0, null]);
});

interface Running {
  readonly origin: string;
  run(retailerFrom: "login" | "gateway"): void;
  close(): void;
}

async function serve(): Promise<Running> {
  let app: RequestListener = () => {};
  const server: Server = createServer((req, res) => app(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    run(retailerFrom) {
      const { authUrl, baseUrl, application } = sandbox;
      const env = {
        RETAIL_POS_AUTH_URL: authUrl,
        RETAIL_POS_BASE_URL: baseUrl,
        RETAIL_POS_CLIENT_ID: application.clientId,
        RETAIL_POS_CLIENT_SECRET: application.clientSecret,
        RETAIL_POS_REDIRECT_URI: application.redirectUri,
        RETAILER_FROM: retailerFrom,
      };
      const koa = createApp(settingsFrom(env), shared);
      koa.silent = true;
      app = koa.callback();
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function logIn(): Promise<void> {
  expect((await visitor.fetch("/auth/retail-pos")).url).toBe(`${login.origin}/stock`);
}

/** Somebody buys a product at the till. */
async function sell(quantity: number): Promise<void> {
  const answer = await fetch(`${sandbox.baseUrl.replace("{domain_prefix}", store)}/api/sales`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${sandbox.createPersonalToken(store)}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ product_id: `${store}-1`, quantity }),
  });
  expect(answer.ok).toBe(true);
}

async function open({ origin }: Running, path: string, init: RequestInit = {}) {
  const answer = await visitor.fetch(new URL(path, origin), { ...init, redirect: "manual" });
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.includes("json");
  return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
}
