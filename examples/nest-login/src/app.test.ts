import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "./app.js";
import { openDatabase } from "./database.js";
import { settingsFrom } from "./settings.js";

const store = "harbour-coffee";
const espresso = "House espresso, 250 g";
let clock: VirtualClock;
let sandbox: Sandbox;
let server: Server;
let app: RequestListener;
let origin: string;
let folder: string;
let file: string;
let closeApp: () => Promise<void>;
let cookies: Map<string, string>;
/** What the application logs. */
const log = vi.fn();

beforeEach(async () => {
  clock = virtualClock();
  cookies = new Map();
  folder = mkdtempSync(join(tmpdir(), "nest-login-"));
  file = join(folder, "made", "when-missing.sqlite");
  server = createServer((req, res) => app(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const redirectUri = `${origin}/auth/retail-pos/callback`;
  sandbox = await startSandbox({ clock, lifetimeMs: 600_000, redirectUri });
  await startApp();
});
afterEach(async () => {
  log.mockClear();
  server.closeAllConnections();
  server.close();
  await closeApp();
  rmSync(folder, { recursive: true });
  await sandbox.close();
});

test("a stranger sees the welcome page, and no products", async () => {
  expect((await open("/")).body).toContain("Log in with store");
  const answer = await open("/products");
  expect(answer).toMatchObject({ status: 401, body: expect.stringContaining('href="/auth/retail-pos"') });
  expect(sandbox.requests).toHaveLength(0);
  expect((await open("/style.css")).status).toBe(200);
});

test("logs in, shows products, and goes on showing them after the token expired", async () => {
  await logIn();
  expect((await open("/products")).body).toContain(espresso);
  clock.advance(600_000);
  expect((await open("/products")).body).toContain(espresso);
  expect(sandbox.tokenRequests(store)).toHaveLength(2);
});

test.each([
  ["the first", ["second-chapter", store]],
  ["the second", [store, "second-chapter"]],
])(
  "two tabs that start at the same moment both finish, %s of them first",
  async (_, [one = "", two = ""]) => {
    const starts = await Promise.all([open("/auth/retail-pos"), open("/auth/retail-pos")]);
    const callbacks = starts.map(({ location }, tab) =>
      sandbox.consent(location, [store, "second-chapter"][tab] ?? ""),
    );
    for (const domainPrefix of [one, two]) {
      const callback = callbacks.find((url) => url.searchParams.get("domain_prefix") === domainPrefix);
      expect((await open(String(callback))).location).toBe("/products");
      expect((await open("/products")).body).toContain(`<span class="store">${domainPrefix}</span>`);
    }
  },
);

test("a callback that is loaded again logs nobody in: who is logged in goes on, nobody else does", async () => {
  const { location } = await open("/auth/retail-pos");
  const callback = sandbox.consent(location, store).href;
  const before = new Map(cookies);
  expect((await open(callback)).location).toBe("/products");
  expect(await open(callback)).toMatchObject({ status: 302, location: "/products" });
  expect((await open("/products")).body).toContain(espresso);

  cookies = before; // what somebody copied of this browser
  expect(await open(callback)).toMatchObject({
    status: 403,
    body: expect.stringContaining("could not match"),
  });
  expect(sandbox.tokenRequests(store)).toHaveLength(1);
});

test("logging out keeps the store connected; disconnecting forgets it", async () => {
  await logIn();
  const loggedIn = new Map(cookies);
  expect(await open("/logout", origin, { method: "POST" })).toMatchObject({ status: 302, location: "/" });
  cookies = loggedIn; // what somebody copied of this browser
  await restartApp();
  expect((await open("/products")).status).toBe(401);

  await logIn();
  expect(await open("/disconnect", origin, { method: "POST" })).toMatchObject({ status: 302, location: "/" });
  expect((await open("/products")).status).toBe(401);
});

describe("who is logged in", () => {
  test("stays so over a restart, without consent or token request", async () => {
    await logIn();
    await restartApp();
    expect((await open("/products")).body).toContain(espresso);
    expect(sandbox.tokenRequests()).toHaveLength(1); // the login's
  });

  test("is asked to log in again after two weeks, by the server's clock", async () => {
    await logIn();
    clock.advance(14 * 24 * 3_600_000);
    expect((await open("/products")).status).toBe(401);
  });

  test("a login under way is finished after a restart", async () => {
    const { location } = await open("/auth/retail-pos");
    await restartApp();
    expect((await open(sandbox.consent(location, store).href)).location).toBe("/products");
    expect((await open("/products")).body).toContain(espresso);
  });
});

test("nobody else on the machine can read the file", () => {
  expect(statSync(file).mode & 0o077).toBe(0);
});

describe("the program", () => {
  test.each(["SIGTERM", "SIGINT"] as const)(
    "ends by itself on %s, and starts again where it was",
    async (signal) => {
      const program = await startProgram();
      await logIn(program.origin);
      expect(await program.end(signal)).toEqual([0, null]);

      const again = await startProgram();
      expect((await open("/products", again.origin)).body).toContain(espresso);
      expect(sandbox.tokenRequests()).toHaveLength(1);
    },
    60_000, // it starts twice, and stops without haste
  );
});

describe("a browser", () => {
  test("is told what the pages may do, and keeps none with a store's data", async () => {
    await logIn();
    const { headers } = await open("/products");
    expect(headers.get("content-security-policy")).toContain("default-src 'self'");
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("that sends a form of another site's page changes nothing", async () => {
    await logIn();
    for (const from of ["https://evil.example", "null"])
      for (const path of ["/logout", "/disconnect"]) {
        const answer = await open(path, origin, { method: "POST", headers: { origin: from } });
        expect(answer.status).toBe(403);
      }
    expect((await open("/products")).body).toContain(espresso);
    const ours = await open("/logout", origin, { method: "POST", headers: { origin } });
    expect(ours).toMatchObject({ status: 302, location: "/" });
  });
});

describe("an address that does not exist", () => {
  test("has a page", async () => {
    const answer = await open("/no/such/page");
    expect(answer.status).toBe(404);
    expect(answer.body).toContain("There is no such page");
    expect(answer.body).not.toContain("Log out");
  });

  test("leaves whoever is logged in their store and the way out", async () => {
    await logIn();
    const { body } = await open("/no/such/page");
    expect(body).toContain(store);
    expect(body).toContain("Log out");
  });
});

describe("somebody who is logged in", () => {
  test("goes on to their store when they press Back and approve again", async () => {
    await logIn();
    const query = `code=c&domain_prefix=${store}&state=used-before`;
    expect((await open(`/auth/retail-pos/callback?${query}`)).location).toBe("/products");
    expect((await open(`/auth/retail-pos/callback?code=c&domain_prefix=${store}`)).location).toBe(
      "/products",
    );
  });

  test.each([
    ["with another store", "code=c&domain_prefix=second-chapter&state=used-before"],
    ["and declines", "error=access_denied"],
  ])("who tries it %s is told that nothing changed, and finds back", async (_case, query) => {
    await logIn();
    const answer = await open(`/auth/retail-pos/callback?${query}`);
    expect(answer.status).toBe(403);
    expect(answer.body).toContain(`You are still logged in with ${store}`);
    expect(answer.body).toContain('<a class="button" href="/products"');
  });

  test("is asked before their store is disconnected; asking changes nothing", async () => {
    expect((await open("/disconnect")).location).toBe("/");
    await logIn();
    const page = (await open("/disconnect")).body;
    expect(page).toContain(`Disconnect ${store}?`);
    expect(page).toContain('method="post" action="/disconnect"');
    expect((await open("/products")).body).toContain(espresso);
  });
});

describe("the page of a store", () => {
  test("has the store's name, and says what runs low and when it was read", async () => {
    await logIn();
    const { body } = await open("/products");
    expect(body).toContain("<h1>Harbour Coffee Roasters</h1>");
    expect(body).toMatch(/8 products, <strong>1 running low/);
    expect(body).toMatch(/<time datetime="20[^"]+Z">\d+ \w+ \d{4} at \d\d:\d\d UTC</);
  });

  test("does without a name if the API tells none", async () => {
    await logIn();
    sandbox.fault(404, { endpoint: "api" });
    expect(await open("/products")).toMatchObject({ body: expect.stringContaining(`<h1>${store}</h1>`) });
  });
});

describe("a login that fails gets a page that says why", () => {
  test.each([
    ["access_denied", "error=access_denied", 403, "You declined the access"],
    ["state_missing", "code=c&domain_prefix=shop", 403, "This login did not start here"],
    ["state_unknown", "code=c&domain_prefix=shop&state=somebody-elses", 403, "We could not match this login"],
    [
      "invalid_domain_prefix",
      "code=c&domain_prefix=evil.example%2f&state=12345678",
      400,
      "not a store we can talk to",
    ],
    ["invalid_callback", "code=a&code=b&domain_prefix=shop&state=12345678", 400, "was damaged"],
  ])("%s: the code and the developer's words are in the log alone", async (code, query, status, words) => {
    const answer = await open(`/auth/retail-pos/callback?${query}`);
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(words);
    expect(answer.body).toContain('href="/auth/retail-pos"');
    expect(answer.body.replace(/<[^>]+>/g, "")).not.toMatch(new RegExp(`${code}|developer|callback`));
    expect(log.mock.calls).toEqual([[expect.stringContaining(`${code}: `), "ProblemPages"]]);
    expect(sandbox.tokenRequests()).toHaveLength(0);
  });

  test("the service answers with another error than a decline", async () => {
    const { location } = await open("/auth/retail-pos");
    const state = new URL(location).searchParams.get("state");
    const answer = await open(`/auth/retail-pos/callback?error=server_error&state=${state}`);
    expect(answer).toMatchObject({ status: 502, body: expect.stringContaining("could not log you in") });
    expect(answer.body).toContain('<a class="button" href="/auth/retail-pos"');
    expect(answer.body.replace(/<[^>]+>/g, "")).not.toContain("server_error");
    expect(log.mock.calls).toEqual([[expect.stringContaining("authorization_failed: "), "ProblemPages"]]);
  });

  test("too late", async () => {
    const { location } = await open("/auth/retail-pos");
    const callback = sandbox.consent(location, store);
    clock.advance(11 * 60_000);
    expect(await open(callback.href)).toMatchObject({
      status: 403,
      body: expect.stringContaining("The service did not take this login"),
    });
  });

  test("the service is rate limited: when to come back", async () => {
    const { location } = await open("/auth/retail-pos");
    sandbox.limit(store, 60_000);
    const answer = await open(sandbox.consent(location, store).href);
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining("One moment, please") });
    expect(answer.body).toMatch(/<a class="button" href="\/auth\/retail-pos" data-wait="6\d">/);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(log).toHaveBeenCalledWith(
      expect.objectContaining({ code: "rate_limited" }),
      undefined,
      "ProblemPages",
    );
  });
});

test.each([
  ["the refresh token is refused", () => sandbox.refuse(store), 401, "has to be connected again"],
  ["the service is rate limited", () => sandbox.limit(store, 60_000), 503, "One moment, please"],
  ["the service fails", () => void sandbox.fault(500), 502, "We could not reach your store"],
])("when %s and the token has expired, the page says so", async (_case, trouble, status, words) => {
  await logIn();
  clock.advance(600_000);
  trouble();
  const answer = await open("/products");
  expect(answer.status).toBe(status);
  expect(answer.body).toContain(words);
  expect(answer.headers.has("retry-after")).toBe(words === "One moment, please");
});

describe("a program that asks gets Nest's own answer, with the error's own status", () => {
  const headers = { accept: "application/json" };

  test("when nobody is logged in", async () => {
    const answer = await open("/products", origin, { headers });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      401,
      { statusCode: 401, message: expect.stringContaining("No retailer") },
    ]);
  });

  test("when to come back, if the service is rate limited", async () => {
    await logIn();
    clock.advance(600_000);
    sandbox.limit(store, 60_000);
    const answer = await open("/products", origin, { headers });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(JSON.parse(answer.body)).toEqual({ statusCode: 503, message: "Service Unavailable" });
  });

  test("why a login failed", async () => {
    const answer = await open("/auth/retail-pos/callback?error=access_denied", origin, { headers });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.body)).toMatchObject({ statusCode: 403, code: "access_denied" });
  });
});

describe("the settings", () => {
  const deployed = {
    RETAIL_POS_AUTH_URL: "https://auth.example",
    RETAIL_POS_BASE_URL: "https://{domain_prefix}.retail.example",
    RETAIL_POS_CLIENT_ID: "ours",
    RETAIL_POS_CLIENT_SECRET: "a client secret of 32 characters",
    RETAIL_POS_REDIRECT_URI: "https://shelfview.example/auth/retail-pos/callback",
    SESSION_SECRET: "a session secret of 32 characters",
  };

  test("are the sandbox's without an environment", async () => {
    const { clientId, clientSecret, redirectUri } = settingsFrom({});
    const standard = await startSandbox();
    expect({ clientId, clientSecret, redirectUri }).toEqual(standard.application);
    await standard.close();
  });

  test("are the application's own once people come from elsewhere, and the cookies are for https alone", async () => {
    await closeApp();
    const deployedApp = await createApp(settingsFrom(deployed));
    await deployedApp.init();
    app = deployedApp.getHttpAdapter().getInstance();
    closeApp = () => deployedApp.close();
    const answer = await open("/auth/retail-pos", origin, { headers: { "x-forwarded-proto": "https" } });
    expect(answer.headers.get("set-cookie")).toMatch(/__Host-nest-login=.*; Secure/);
    expect(answer.location).toContain("https://auth.example/connect?");
  });

  test.each([
    ["no session secret", { SESSION_SECRET: undefined }, "SESSION_SECRET"],
    ["a short session secret", { SESSION_SECRET: "too short" }, "SESSION_SECRET"],
    ["the client secret again", { SESSION_SECRET: deployed.RETAIL_POS_CLIENT_SECRET }, "SESSION_SECRET"],
    ["the sandbox's id", { RETAIL_POS_CLIENT_ID: "sandbox-application" }, "RETAIL_POS_CLIENT_ID"],
    ["the sandbox's secret", { RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret" }, "_CLIENT_SECRET"],
    ["no id", { RETAIL_POS_CLIENT_ID: undefined }, "RETAIL_POS_CLIENT_ID is missing"],
    ["no service", { RETAIL_POS_AUTH_URL: undefined }, "RETAIL_POS_AUTH_URL is missing"],
  ])("are refused there: %s", (_case, wrong, named) => {
    expect(() => settingsFrom({ ...deployed, ...wrong })).toThrow(named);
  });

  test("that are refused end the program before it listens", async () => {
    const { RETAIL_POS_REDIRECT_URI } = deployed;
    await expect(startProgram({ RETAIL_POS_REDIRECT_URI })).rejects.toThrow("SESSION_SECRET is missing");
  });
});

async function startApp(): Promise<void> {
  const { authUrl, baseUrl, application } = sandbox;
  const { close, ...kept } = openDatabase(file, clock);
  const settings = { ...settingsFrom({}), ...application, authUrl, baseUrl };
  const made = await createApp(settings, { ...kept, clock, logger: { log() {}, warn: log, error: log } });
  await made.init();
  app = made.getHttpAdapter().getInstance();
  closeApp = async () => {
    await made.close();
    close();
  };
}

async function restartApp(): Promise<void> {
  await closeApp();
  await startApp();
}

/** `npm start` without the compiler, on a port and a file of its own. Rejects with what it says if it ends at once. */
async function startProgram(more: NodeJS.ProcessEnv = {}) {
  const { authUrl, baseUrl, application } = sandbox;
  const child = spawn(process.execPath, [fileURLToPath(new URL("../dist/server.js", import.meta.url))], {
    env: {
      PORT: "0",
      DATABASE_FILE: join(folder, "program.sqlite"),
      RETAIL_POS_AUTH_URL: authUrl,
      RETAIL_POS_BASE_URL: baseUrl,
      RETAIL_POS_CLIENT_ID: application.clientId,
      RETAIL_POS_CLIENT_SECRET: application.clientSecret,
      RETAIL_POS_REDIRECT_URI: application.redirectUri,
      ...more,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const ended = new Promise<unknown[]>((resolve) => child.once("close", (...how) => resolve(how)));
  const said = await Promise.race([
    new Promise((resolve) => child.stdout.once("data", (line) => resolve(String(line)))),
    ended.then(() => Promise.reject(new Error(errors))),
  ]);
  return {
    origin: /http:\S+/.exec(String(said))?.[0] ?? "",
    end(signal: NodeJS.Signals) {
      child.kill(signal);
      return ended;
    },
  };
}

async function logIn(at = origin): Promise<void> {
  const { location } = await open("/auth/retail-pos", at);
  const { pathname, search } = sandbox.consent(location, store);
  expect((await open(pathname + search, at)).location).toBe("/products");
}

/** A browser of one person, in so many lines: cookies, and redirects to look at. */
async function open(path: string, at = origin, init: RequestInit = {}) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = { accept: "text/html", ...init.headers, cookie };
  const answer = await fetch(new URL(path, at), { ...init, headers, redirect: "manual" });
  for (const cookie of answer.headers.getSetCookie()) {
    const [, name = "", value = "", attributes = ""] = /^([^=]+)=([^;]*)(.*)/.exec(cookie) ?? [];
    if (/max-age=0\b/i.test(attributes)) cookies.delete(name);
    else cookies.set(name, value);
  }
  const body = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    location: answer.headers.get("location") ?? "",
    body,
  };
}
