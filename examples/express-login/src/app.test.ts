import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createApp } from "./app.js";
import { settingsFrom } from "./settings.js";

const store = "harbour-coffee";
let clock: VirtualClock;
let sandbox: Sandbox;
let server: Server;
let origin: string;
let cookies: Map<string, string>;

beforeEach(async () => {
  clock = virtualClock();
  cookies = new Map();
  let app: RequestListener = () => {};
  server = createServer((req, res) => app(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  sandbox = await startSandbox({
    clock,
    lifetimeMs: 600_000,
    redirectUri: `${origin}/auth/retail-pos/callback`,
  });
  const { authUrl, baseUrl, application } = sandbox;
  app = createApp({ ...application, authUrl, baseUrl, port: 0, sessionSecret: "for the test" }, { clock });
});
afterEach(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
  await sandbox.close();
});

test("a stranger sees the welcome page, and no products", async () => {
  expect((await open("/")).body).toContain("Log in with store");
  expect(await open("/products")).toMatchObject({ status: 302, location: "/" });
});

test("logs in, shows products, and goes on showing them after the token expired", async () => {
  await logIn();
  expect((await open("/products")).body).toContain("House espresso, 250 g");
  clock.advance(600_000);
  expect((await open("/products")).body).toContain("House espresso, 250 g");
  expect(sandbox.tokenRequests(store)).toHaveLength(2);
});

test("logging out keeps the store connected; disconnecting forgets it", async () => {
  await logIn();
  expect(await open("/logout", { method: "POST" })).toMatchObject({ status: 302, location: "/" });
  expect((await open("/products")).status).toBe(302);
  await logIn();
  expect(await open("/disconnect", { method: "POST" })).toMatchObject({ status: 302, location: "/" });
  expect((await open("/products")).status).toBe(302);
});

describe("a login that fails gets a page that says why", () => {
  test.each([
    ["declined", "error=access_denied", 403, "You declined the access"],
    ["no state", "code=c&domain_prefix=shop", 403, "This login did not start here"],
    ["unknown state", "code=c&domain_prefix=shop&state=somebody-elses", 403, "We could not match this login"],
    [
      "a hostile store",
      "code=c&domain_prefix=evil.example%2f&state=12345678",
      400,
      "not a store we can talk to",
    ],
    ["doubled parameters", "code=a&code=b&domain_prefix=shop&state=12345678", 400, "was damaged"],
  ])("%s", async (_case, query, status, words) => {
    const answer = await open(`/auth/retail-pos/callback?${query}`);
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(words);
    expect(sandbox.tokenRequests()).toHaveLength(0);
  });

  test("too late", async () => {
    const { location } = await open("/auth/retail-pos");
    clock.advance(16 * 60_000);
    const late = sandbox.consent(location, store);
    expect((await open(late.href)).body).toContain("This login took too long");
  });
});

test.each([
  ["the refresh token is refused", () => sandbox.refuse(store), 401, "has to be connected again"],
  ["the service is rate limited", () => sandbox.limit(store, 60_000), 503, "One moment, please"],
  ["the service fails", () => void sandbox.fault(500), 502, "That did not work"],
])("when %s and the token has expired, the page says so", async (_case, trouble, status, words) => {
  vi.spyOn(console, "error").mockImplementation(() => {}); // the log line of the application
  await logIn();
  clock.advance(600_000);
  trouble();
  const answer = await open("/products");
  expect(answer.status).toBe(status);
  expect(answer.body).toContain(words);
});

test("without an environment the settings are the sandbox's", async () => {
  const { clientId, clientSecret, redirectUri } = settingsFrom({});
  const standard = await startSandbox();
  expect({ clientId, clientSecret, redirectUri }).toEqual(standard.application);
  await standard.close();
});

async function logIn(): Promise<void> {
  const { location } = await open("/auth/retail-pos");
  const callback = await open(sandbox.consent(location, store).href);
  expect(callback.location).toBe("/products");
}

/** A browser of one person, in so many lines: cookies, and redirects to look at. */
async function open(path: string, init: RequestInit = {}) {
  const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
  const answer = await fetch(new URL(path, origin), { ...init, headers, redirect: "manual" });
  for (const cookie of answer.headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    cookies.set(name, value);
  }
  return { status: answer.status, location: answer.headers.get("location") ?? "", body: await answer.text() };
}
