import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseDomainPrefix } from "@retail-pos/core";
import {
  type Sandbox,
  startSandbox,
  type VirtualClock,
  type Visitor,
  virtualClock,
} from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp, type Parts } from "./app.js";
import { settingsFrom } from "./settings.js";
import { openStore } from "./store.js";

const store = "harbour-coffee";
const espresso = "House espresso, 250 g";
let clock: VirtualClock;
let sandbox: Sandbox;
let server: Server;
let app: RequestListener;
let origin: string;
let folder: string;
let file: string;
/** A person with a browser. */
let visitor: Visitor;

beforeEach(async () => {
  clock = virtualClock();
  folder = mkdtempSync(join(tmpdir(), "express-login-"));
  file = join(folder, "made", "when-missing.sqlite");
  server = createServer((req, res) => app(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  await startService();
  visitor = sandbox.visitor(store);
  await startApp();
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
  await sandbox.close();
});

test("a stranger sees the welcome page, and no products", async () => {
  expect((await open("/")).body).toContain("Log in with store");
  expect(await open("/products")).toMatchObject({ status: 302, location: "/" });
});

test("logs in, shows products, and goes on showing them after the token expired", async () => {
  await logIn();
  expect((await open("/products")).body).toContain(espresso);
  clock.advance(600_000);
  expect((await open("/products")).body).toContain(espresso);
  expect(sandbox.tokenRequests(store)).toHaveLength(2);
});

test("logging out keeps the store connected; disconnecting forgets it", async () => {
  await logIn();
  expect(await open("/logout", origin, { method: "POST" })).toMatchObject({ status: 302, location: "/" });
  expect((await open("/products")).status).toBe(302);
  await logIn();
  expect(await open("/disconnect", origin, { method: "POST" })).toMatchObject({ status: 302, location: "/" });
  expect((await open("/products")).status).toBe(302);
});

describe("a session that began before its store was disconnected", () => {
  const operator = () => openStore(settingsFrom(settingsOf(sandbox, { DATABASE_FILE: file })));
  test.each([
    ["by its own person", async () => void (await open("/disconnect", origin, { method: "POST" }))],
    ["by an operator", async () => (await operator()).tokens.store.remove(parseDomainPrefix(store))],
  ])("%s shows nothing of what somebody else connects later", async (_case, disconnect) => {
    await logIn();
    const old = new Map(visitor.cookies);
    await disconnect();
    visitor.cookies = new Map();
    await logIn();
    expect((await open("/products")).body).toContain(espresso);
    visitor.cookies = old;
    expect(await open("/products")).toMatchObject({ status: 302, location: "/" });
    expect((await open("/")).body).not.toContain(store);
    expect(await open("/disconnect", origin, { method: "POST" })).toMatchObject({ location: "/" });
    visitor.cookies = new Map();
    await logIn();
    expect((await open("/products")).body).toContain(espresso);
  });
});

test("two browsers of one store are both logged in, whoever of them logs out and in again", async () => {
  await logIn();
  const first = visitor.cookies;
  visitor.cookies = new Map();
  await logIn();
  await open("/logout", origin, { method: "POST" });
  await logIn();
  expect((await open("/products")).body).toContain(espresso);
  visitor.cookies = first;
  expect((await open("/products")).body).toContain(espresso);
});

describe("after a restart", () => {
  test("whoever was logged in sees the products, without consent or token request", async () => {
    await logIn();
    await startApp();
    expect(await open("/products")).toMatchObject({ status: 200, body: expect.stringContaining(espresso) });
    expect(sandbox.tokenRequests()).toHaveLength(1); // the login's
  });

  test("a token that has expired meanwhile is renewed, once", async () => {
    await logIn();
    await startApp();
    clock.advance(600_000);
    const pages = await Promise.all([open("/products"), open("/products")]);
    for (const { body } of pages) expect(body).toContain(espresso);
    expect((await open("/products")).body).toContain(espresso);
    expect(sandbox.tokenRequests().map(({ grantType }) => grantType)).toEqual([
      "authorization_code",
      "refresh_token",
    ]);
  });

  test("a login under way is finished", async () => {
    const { location } = await open("/auth/retail-pos");
    await startApp();
    expect((await open(sandbox.consent(location, store).href)).location).toBe("/products");
    expect((await open("/products")).body).toContain(espresso);
  });

  test("whoever logged out stays so", async () => {
    await logIn();
    const before = new Map(visitor.cookies);
    await open("/logout", origin, { method: "POST" });
    visitor.cookies = before;
    await startApp();
    expect(await open("/products")).toMatchObject({ status: 302, location: "/" });
  });

  test("a session ends with its cookie, after two weeks", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await logIn();
    vi.setSystemTime(Date.now() + 14 * 24 * 3_600_000 - 60_000);
    expect((await open("/products")).status).toBe(200);
    vi.setSystemTime(Date.now() + 120_000);
    expect(await open("/products")).toMatchObject({ status: 302, location: "/" });
  });

  test("a login that is only begun leaves no session", async () => {
    await open("/auth/retail-pos");
    expect([...visitor.cookies.keys()]).toEqual([expect.stringMatching(/^retail-pos\./)]);
  });

  test("of a service that knows the tokens no longer, the page asks for a login, which mends it", async () => {
    await logIn();
    await sandbox.close();
    await startService();
    visitor = Object.assign(sandbox.visitor(store), { cookies: visitor.cookies });
    await startApp();
    const answer = await open("/products");
    expect(answer.status).toBe(401);
    expect(answer.body).toContain("has to be connected again");
    expect(answer.body).toContain('href="/auth/retail-pos"');
    await logIn();
    expect((await open("/products")).body).toContain(espresso);
  });
});

test("nobody else on the machine can read the file", () => {
  expect(statSync(file).mode & 0o077).toBe(0);
});

describe("the program", { timeout: 60_000 }, () => {
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
  );

  test("saves a renewal that is under way when it is told to end, although its browser has left", async () => {
    const program = await startProgram();
    await logIn(program.origin);
    sandbox.expire(store);
    const late = sandbox.fault("late");
    const browser = new AbortController();
    const page = open("/products", program.origin, { signal: browser.signal });
    await late.struck;
    browser.abort();
    await expect(page).rejects.toThrow("aborted");
    const ended = program.end("SIGTERM");
    await expect.poll(() => program.answers(), { timeout: 20_000 }).toBe(false);
    late.release();
    expect(await ended).toEqual([0, null]);

    const again = await startProgram();
    expect((await open("/products", again.origin)).body).toContain(espresso);
    expect(sandbox.tokenRequests()).toHaveLength(2); // the spent refresh token was not sent again
  });
});

describe("what a stranger can cause is one line in the log:", { timeout: 60_000 }, () => {
  test.each([
    ["a forged code", { code: "forged" }, "exchange_failed"],
    ["a store that nobody knows", { domain_prefix: "nobody-knows" }, "exchange_failed"],
    ["a forged state", { state: "forged-by-a-stranger" }, "state_unknown"],
    ["a prefix that is none", { domain_prefix: "evil.example" }, "invalid_domain_prefix"],
    ["an error in place of a code", { code: "", error: "server_error" }, "authorization_failed"],
  ])("%s", async (_case, forged, words) => {
    expect(await linesOf(forged)).toEqual([expect.stringContaining(words)]);
  });

  test.each([500, "reset"] as const)("a callback while the service answers with %s", async (kind) => {
    sandbox.fault(kind);
    expect(await linesOf({})).toEqual([expect.stringContaining("exchange_failed")]);
  });

  /** A login that a stranger began, with these parameters at its end. */
  async function linesOf(forged: Record<string, string>): Promise<string[]> {
    const program = await startProgram();
    const { location } = await open("/auth/retail-pos", program.origin);
    const { pathname, searchParams } = sandbox.consent(location, store);
    for (const [name, value] of Object.entries(forged)) searchParams.set(name, value);
    await open(`${pathname}?${searchParams}`, program.origin);
    await program.end("SIGTERM");
    return program.lines();
  }
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
  beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));

  test("goes on to their store when they press Back and approve again", async () => {
    await logIn();
    for (const named of [store, store.toUpperCase()]) {
      const query = `code=c&domain_prefix=${named}&state=used-before`;
      expect((await open(`/auth/retail-pos/callback?${query}`)).location).toBe("/products");
    }
    expect((await open(`/auth/retail-pos/callback?code=c&domain_prefix=${store}`)).location).toBe(
      "/products",
    );
  });

  test("is told why the login failed if their store has to be connected again: else they would go round", async () => {
    await logIn();
    sandbox.refuse(store);
    clock.advance(600_000);
    expect((await open("/products")).status).toBe(401);
    const answer = await open(`/auth/retail-pos/callback?code=c&domain_prefix=${store}&state=used-before`);
    expect(answer).toMatchObject({
      status: 403,
      body: expect.stringContaining("We could not match this login"),
    });
  });

  test.each([
    ["with another store", "code=c&domain_prefix=second-chapter&state=used-before"],
    ["and declines", "error=access_denied"],
  ])("who tries it %s is told that nothing changed, and finds back", async (_case, query) => {
    await logIn();
    const answer = await open(`/auth/retail-pos/callback?${query}`);
    expect(answer.status).toBe(403);
    expect(answer.body).toContain(`You are still logged in with ${store}`);
    expect(answer.body).toContain('<a class="button" href="/">Back to your products');
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
  test("says what runs low", async () => {
    await logIn();
    const { body } = await open("/products");
    expect(body).toContain("8 products, 1 running low");
    expect(body).toMatch(/Hand grinder[\s\S]*<mark>5 <small>low/);
  });

  test("does not wait for ever for an API that does not answer", { timeout: 30_000 }, async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    await logIn();
    sandbox.fault("silence", { endpoint: "api" });
    expect(await open("/products")).toMatchObject({
      status: 500,
      body: expect.stringContaining("That did not work"),
    });
  });
});

describe("a login that fails gets a page that says why", () => {
  const log = vi.fn();
  beforeEach(() => {
    log.mockReset();
    vi.spyOn(console, "warn").mockImplementation(log);
  });

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
    expect(log.mock.calls).toEqual([[expect.stringContaining(`${code}: `)]]);
    expect(sandbox.tokenRequests()).toHaveLength(0);
  });

  test("the service answers with another error than a decline", async () => {
    const { location } = await open("/auth/retail-pos");
    const state = new URL(location).searchParams.get("state");
    const answer = await open(`/auth/retail-pos/callback?error=server_error&state=${state}`);
    expect(answer).toMatchObject({
      status: 502,
      body: expect.stringContaining("could not connect your store"),
    });
    expect(answer.body).toContain('<a class="button" href="/auth/retail-pos"');
    expect(answer.body.replace(/<[^>]+>/g, "")).not.toContain("server_error");
    expect(log.mock.calls).toEqual([[expect.stringContaining("authorization_failed: The service answered")]]);
  });

  test("too late", async () => {
    const { location } = await open("/auth/retail-pos");
    clock.advance(16 * 60_000);
    const late = sandbox.consent(location, store);
    expect((await open(late.href)).body).toContain("This login took too long");
  });

  test("the service is rate limited: the button that logs in, and for how long it is of no use", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { location } = await open("/auth/retail-pos");
    sandbox.limit(store, 60_000);
    const answer = await open(sandbox.consent(location, store).href);
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining("One moment, please") });
    expect(answer.body).toMatch(/<a class="button" href="\/auth\/retail-pos" data-wait="6\d">/);
  });

  test("the store is not accepted", async () => {
    const { location } = await open("/auth/retail-pos");
    await startApp({ acceptRetailer: () => false });
    const answer = await open(sandbox.consent(location, store).href);
    expect(answer).toMatchObject({ status: 403, body: expect.stringContaining("cannot be connected here") });
  });
});

test.each([
  ["the refresh token is refused", () => sandbox.refuse(store), 401, "has to be connected again"],
  ["the service is rate limited", () => sandbox.limit(store, 60_000), 503, "One moment, please"],
  ["the service fails", () => void sandbox.fault(500), 502, "We could not reach your store"],
])("when %s and the token has expired, the page says so", async (_case, trouble, status, words) => {
  vi.spyOn(console, "error").mockImplementation(() => {}); // the log line of the application
  await logIn();
  clock.advance(600_000);
  trouble();
  const answer = await open("/products");
  expect(answer.status).toBe(status);
  expect(answer.body).toContain(words);
});

/** The service, with the address of the application registered; it remembers nothing of an earlier one. */
async function startService(): Promise<void> {
  const redirectUri = `${origin}/auth/retail-pos/callback`;
  sandbox = await startSandbox({ clock, lifetimeMs: 600_000, redirectUri });
}

/** Also once more, on the same file, as after a restart. */
async function startApp(more: Parts = {}): Promise<void> {
  const settings = settingsFrom(settingsOf(sandbox, { DATABASE_FILE: file }));
  const { tokens, sessions } = await openStore(settings);
  app = createApp(settings, { ...tokens, sessions, clock, ...more });
}

function settingsOf({ authUrl, baseUrl, application }: Sandbox, more: NodeJS.ProcessEnv = {}) {
  return {
    RETAIL_POS_AUTH_URL: authUrl,
    RETAIL_POS_BASE_URL: baseUrl,
    RETAIL_POS_CLIENT_ID: application.clientId,
    RETAIL_POS_CLIENT_SECRET: application.clientSecret,
    RETAIL_POS_REDIRECT_URI: application.redirectUri,
    SESSION_SECRET: "for the tests, and for nothing else",
    ...more,
  };
}

/** `npm start` without the compiler, on a port and a file of its own. Rejects with what it says if it ends at once. */
async function startProgram(more: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("../dist/server.js", import.meta.url))], {
    env: settingsOf(sandbox, { PORT: "0", DATABASE_FILE: join(folder, "program.sqlite"), ...more }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  let errors = "";
  let log = "";
  child.stdout.on("data", (chunk) => {
    log += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors += chunk;
    log += chunk;
  });
  const ended = new Promise<unknown[]>((resolve) => child.once("close", (...how) => resolve(how)));
  const said = await Promise.race([
    new Promise((resolve) => child.stdout.once("data", (line) => resolve(String(line)))),
    ended.then(() => Promise.reject(new Error(errors))),
  ]);
  const origin = /http:\S+/.exec(String(said))?.[0] ?? "";
  return {
    origin,
    /** What it has said since it listens, line by line. Complete once it has ended. */
    lines: () => log.split("\n").slice(1, -1),
    /** Whether it takes new connections. */
    answers: () =>
      fetch(origin, { headers: { connection: "close" } }).then(
        () => true,
        () => false,
      ),
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

/** An answer to the person's browser, which follows no redirect here. */
async function open(path: string, at = origin, init: RequestInit = {}) {
  const answer = await visitor.fetch(new URL(path, at), { ...init, redirect: "manual" });
  const { status, headers } = answer;
  return { status, headers, location: headers.get("location") ?? "", body: await answer.text() };
}
