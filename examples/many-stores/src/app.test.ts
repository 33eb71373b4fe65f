import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { parseDomainPrefix, type TokenSet } from "@retail-pos/core";
import { virtualClock } from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PASSWORD, runSql, type Site, startSite } from "../testing/site.js";
import { createApp } from "./app.js";
import { settingsFrom } from "./settings.js";

const store = "harbour-coffee";
const espresso = "House espresso, 250 g";
const clock = virtualClock();
let site: Site;

describe("the application", () => {
  beforeEach(async () => {
    site = await startSite({ clock, lifetimeMs: 600_000 }, { clock });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await site.close();
  });

  test("somebody signs up, connects two stores, and sees the products of each", async () => {
    const ada = site.visitor();
    expect(await ada.open("/stores")).toMatchObject({ status: 302, location: "/log-in" });
    const signedUp = await ada.post("/sign-up", { email: " Ada@Example.com ", password: PASSWORD });
    expect(signedUp).toMatchObject({ status: 303, location: "/stores" });
    expect((await ada.open("/stores")).body).toContain("Connect your first store");
    expect(await ada.connect(store)).toMatchObject({ status: 302, location: `/stores/${store}` });
    expect(await ada.connect("rosas-bikes")).toMatchObject({ status: 302 });

    const { body } = await ada.open("/stores");
    expect(body).toContain("2 stores");
    expect(body).toContain("Harbour Coffee Roasters"); // the service's name for it
    expect(body).toContain("ada@example.com"); // still logged in as who they are
    expect((await ada.open(`/stores/${store}`)).body).toContain(espresso);
    expect((await ada.open("/stores/rosas-bikes")).body).not.toContain(espresso);
    clock.advance(600_000);
    expect((await ada.open(`/stores/${store}`)).body).toContain(espresso);
    expect(site.sandbox.tokenRequests(store)).toHaveLength(2);
  });

  test("to a stranger a connected store does not exist: no page, no token request, no call", async () => {
    const owner = await site.person("ada@example.com", store);
    const stranger = await site.person("eve@example.com", "rosas-bikes");
    clock.advance(600_000); // whoever got through would cause a renewal
    const before = site.sandbox.requests.length;
    const missing = await stranger.open("/stores/no-such-store");
    for (const path of [store, store.toUpperCase(), `${store}/disconnect`, "evil.example", "%00", "a%2fb"]) {
      const answer = await stranger.open(`/stores/${path}`);
      expect(answer).toMatchObject({ status: 404, body: missing.body });
    }
    expect(await stranger.post(`/stores/${store}/disconnect`)).toMatchObject({ status: 404 });
    expect(site.sandbox.requests).toHaveLength(before);
    expect((await owner.open(`/stores/${store}`)).body).toContain(espresso);
  });

  test("a store of two people stays connected until the second of them disconnects it", async () => {
    const ada = await site.person("ada@example.com", store);
    const bob = await site.person("bob@example.com", store);
    expect((await ada.open(`/stores/${store}/disconnect`)).body).toContain("stays connected for them");
    expect(await ada.post(`/stores/${store}/disconnect`)).toMatchObject({
      status: 303,
      location: "/stores",
    });
    expect((await ada.open(`/stores/${store}`)).status).toBe(404);
    expect((await bob.open(`/stores/${store}`)).body).toContain(espresso);

    expect((await bob.open(`/stores/${store}/disconnect`)).body).toContain("Nobody else has it");
    await bob.post(`/stores/${store}/disconnect`);
    expect((await bob.open(`/stores/${store}`)).status).toBe(404);
    expect(await site.client.status(store)).toBeUndefined();
    expect(site.records.allStores()).toEqual([]);
  });

  test("a store that refuses its access says so on both pages, and one login mends it", async () => {
    const ada = await site.person("ada@example.com", store);
    const products = [{ name: "Counted at night", sku: "", price: "1.00", currency: "EUR", inStock: 3 }];
    site.records.savePull(store, products, clock());
    site.sandbox.refuse(store);
    clock.advance(600_000);
    const page = await ada.open(`/stores/${store}`);
    expect(page).toMatchObject({ status: 200, body: expect.stringContaining("Connect again") });
    expect(page.body).toContain("Counted at night");
    expect(page.body).not.toContain(espresso);
    expect((await ada.open("/stores")).body).toContain("Connect again");
    await ada.connect(store);
    expect((await ada.open(`/stores/${store}`)).body).toContain(espresso);
    expect((await ada.open("/stores")).body).not.toContain("Connect again");
  });

  test.each<[string, (set: TokenSet) => TokenSet]>([
    ["cannot be read", (set) => ({ ...set, refreshToken: "" })],
    ["are another application's", (set) => ({ ...set, version: set.version.replace(/~.*/, "~another") })],
  ])("tokens that %s are ours to mend, so no login is offered, and the log names them", async (_, change) => {
    const log = vi.spyOn(console, "warn").mockImplementation(() => {});
    const ada = await site.person("ada@example.com", store);
    await damage(change);
    expect((await ada.open("/stores")).body).not.toContain("Connect again");
    const page = await ada.open(`/stores/${store}`);
    expect(page).toMatchObject({ status: 500, body: expect.stringContaining("This is ours to fix") });
    expect(page.body).not.toContain('href="/auth/retail-pos"');
    expect(log).toHaveBeenCalledWith(expect.stringMatching(new RegExp(`store=${store}.*is unusable`)));
  });

  async function damage(change: (set: TokenSet) => TokenSet): Promise<void> {
    const { store: tokens } = site.tokens;
    const set = await tokens.load(parseDomainPrefix(store));
    expect(set && (await tokens.save(change(set), set))).toBe(true);
    clock.advance(600_000); // the copy in the process has ended
  }

  test("while a store cannot be reached its page shows what was last counted", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const ada = await site.person("ada@example.com", store);
    const products = [{ name: "Counted at night", sku: "", price: "1.00", currency: "EUR", inStock: 3 }];
    site.records.savePull(store, products, clock());
    site.sandbox.fault(500, { endpoint: "api", domainPrefix: store, times: 1 });
    const page = await ada.open(`/stores/${store}`);
    expect(page).toMatchObject({ status: 503, body: expect.stringContaining("Counted at night") });
    expect(page.body).toContain("We could not reach your store");
    const ofTheApplication = warn.mock.calls.filter(([line]) => !String(line).startsWith("retail-pos "));
    expect(ofTheApplication).toEqual([[expect.stringContaining("could not be read"), expect.any(Error)]]);
    clock.advance(600_000);
    site.sandbox.limit(store, 60_000);
    const limited = await ada.open(`/stores/${store}`);
    expect(limited.status).toBe(503);
    expect(limited.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(limited.body).toMatch(/One moment, please[\s\S]*You can go on[\s\S]*data-wait="\d+">Try again/);
    clock.advance(61_000);
    expect((await ada.open(`/stores/${store}`)).body).toContain(espresso);
  });

  test("of a store with thousands of products its page shows the first", async () => {
    const ada = await site.person("ada@example.com", store);
    const product = { name: "Bolt", sku: "", price: "1.00", currency: "EUR", inStock: 30 };
    site.records.savePull(store, Array(2000).fill(product), clock());
    expect((await ada.open("/stores")).body).toContain("<strong>2000</strong> products");
    site.sandbox.refuse(store);
    clock.advance(600_000);
    const { body } = await ada.open(`/stores/${store}`);
    expect(body).toContain("The first 100 products");
    expect(body.match(/<td>Bolt/g)).toHaveLength(100);
  });

  test("people log out and in again; what was theirs is nobody's with an old cookie", async () => {
    const ada = await site.person("ada@example.com", store);
    const before = new Map(ada.browser.cookies);
    expect(await ada.post("/log-out")).toMatchObject({ status: 303, location: "/" });
    ada.browser.cookies = before;
    expect(await ada.open(`/stores/${store}`)).toMatchObject({ status: 302, location: "/log-in" });
    const wrong = await ada.post("/log-in", { email: "ada@example.com", password: "not that one" });
    expect(wrong).toMatchObject({ status: 401, body: expect.stringContaining("do not belong together") });
    const unknown = await ada.post("/log-in", { email: "bob@example.com", password: PASSWORD });
    expect(unknown.body.replace("bob@", "ada@")).toBe(wrong.body);
    const right = await ada.post("/log-in", { email: "ADA@example.com", password: PASSWORD });
    expect(right).toMatchObject({ status: 303, location: "/stores" });
    expect((await ada.open(`/stores/${store}`)).body).toContain(espresso);
  });

  test("nobody stays logged in by a request that was under way while they logged out", async () => {
    const set = vi.spyOn(site.sessions, "set");
    const ada = await site.person("ada@example.com");
    const before = new Map(ada.browser.cookies);
    const [id, session] = set.mock.lastCall as Parameters<typeof site.sessions.set>;
    await ada.post("/log-out");
    // As a request does that read the session before, and writes it back now.
    await new Promise<void>((resolve) => site.sessions.set(id, session, () => resolve()));
    ada.browser.cookies = before;
    expect(await ada.open("/stores")).toMatchObject({ status: 302, location: "/log-in" });
  });

  test("a stranger is given no session, so nobody can fill the file with them", async () => {
    const stranger = site.visitor();
    for (const path of [
      "/",
      "/log-in",
      "/stores",
      "/auth/retail-pos",
      "/auth/retail-pos/callback?code=c&state=s",
    ])
      await stranger.open(path);
    await stranger.post("/log-in", { email: "ada@example.com", password: "guess" });
    await stranger.post("/log-out");
    expect(stranger.browser.cookies.size).toBe(0);
  });

  test("a session gets a new id at the login, so nobody can have set it before", async () => {
    const ada = await site.person("ada@example.com");
    const mine = ada.browser.cookies.get("many-stores");
    await ada.post("/log-out");
    const known = site.visitor();
    known.browser.cookies.set("many-stores", mine ?? "");
    await known.post("/log-in", { email: "ada@example.com", password: PASSWORD });
    expect(known.browser.cookies.get("many-stores")).not.toBe(mine);
    expect((await known.open("/stores")).status).toBe(200);
  });

  test("the eleventh wrong password for one account is not looked at", async () => {
    await site.person("ada@example.com");
    const guesser = site.visitor();
    const guess = () => guesser.post("/log-in", { email: "ada@example.com", password: "guess" });
    const answers = await Promise.all(Array.from({ length: 12 }, guess));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    const stopped = answers.find(({ status }) => status === 429);
    expect(stopped?.body).toContain("Too many tries");
    expect(Number(stopped?.headers.get("retry-after"))).toBeGreaterThan(800);
    const right = { email: "ada@example.com", password: PASSWORD };
    expect((await guesser.post("/log-in", right)).status).toBe(429); // the right one too
    await site.person("bob@example.com"); // another account is not affected
  });

  test("from one address only so many accounts can be tried, or made", async () => {
    const visitor = site.visitor();
    for (let count = 0; count < 50; count += 1) await visitor.post("/sign-up", { email: "none" });
    const form = { email: "ada@example.com", password: PASSWORD };
    expect((await visitor.post("/sign-up", form)).status).toBe(429);
    expect((await visitor.post("/log-in", form)).status).toBe(429);
  });

  test("two people who sign up with one address get one account", async () => {
    await site.person("ada@example.com");
    const second = await site.visitor().post("/sign-up", { email: "ada@example.com", password: PASSWORD });
    expect(second).toMatchObject({ status: 409, body: expect.stringContaining("already") });
  });

  test.each([
    ["/stores/%E0%A4%A", 404],
    ["/stores/%00", 404],
    ["/stores/harbour-coffee%2fdisconnect", 404],
    ["/auth/retail-pos/callback?error=refused&state=12345678&domain_prefix=a%00b", 403],
  ])(
    "an address that is damaged is its sender's mistake, and no line in the log: %s",
    async (path, status) => {
      const lines = vi.spyOn(console, "error").mockImplementation(() => {});
      vi.spyOn(console, "warn").mockImplementation(() => {}); // why a store was not connected
      const ada = await site.person("ada@example.com", store);
      expect((await ada.open(path)).status).toBe(status);
      expect(lines).not.toHaveBeenCalled();
    },
  );

  test("is ready while the database answers, and lives without it", async () => {
    const visitor = site.visitor();
    expect(await visitor.open("/ready")).toMatchObject({ status: 200, body: '{"status":"ready"}' });
    runSql(site, "ALTER TABLE retail_pos_tokens RENAME TO elsewhere");
    expect(await visitor.open("/ready")).toMatchObject({ status: 503, body: '{"status":"not ready"}' });
    expect(await visitor.open("/health")).toMatchObject({ status: 200 });
  });
});

describe("a form", () => {
  beforeEach(async () => {
    site = await startSite();
  });
  afterEach(() => site.close());

  test.each([
    ["no address", { email: "ada", password: PASSWORD }, 400],
    ["a short password", { email: "ada@example.com", password: "too short" }, 400],
    ["a password of a megabyte", { email: "ada@example.com", password: "x".repeat(1_000_000) }, 413],
    ["nothing", {}, 400],
  ])("with %s makes no account", async (_case, fields, status) => {
    expect((await site.visitor().post("/sign-up", fields)).status).toBe(status);
    expect(site.records.personByEmail("ada@example.com")).toBeUndefined();
  });

  test.each(["/log-in", "/sign-up"])("with fields that come twice is none of ours: %s", async (path) => {
    const { origin } = site;
    const body = new URLSearchParams([
      ["email", "ada@example.com"],
      ["email", "eve@example.com"],
      ["password", PASSWORD],
    ]);
    const answer = await fetch(`${origin}${path}`, { method: "POST", body, headers: { origin } });
    expect(answer.status).toBe(400);
  });

  test.each([
    ["another site", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
    ["a page without an origin", { origin: "null" }],
    ["a subdomain beside ours", { "sec-fetch-site": "same-site" }],
  ])("of %s changes nothing", async (_case, headers) => {
    const ada = await site.person("ada@example.com", store);
    expect((await ada.post(`/stores/${store}/disconnect`, {}, headers)).status).toBe(403);
    expect((await ada.post("/log-out", {}, headers)).status).toBe(403);
    expect((await ada.open(`/stores/${store}`)).status).toBe(200);
  });

  test("an e-mail address that is markup is shown as text", async () => {
    const email = '"><script>alert(1)</script>@example.com';
    const { body } = await site.visitor().post("/log-in", { email, password: "wrong" });
    expect(body).not.toContain("<script>alert");
    expect(body).toContain("&lt;script&gt;alert");
  });
});

describe("connecting a store", () => {
  beforeEach(async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    site = await startSite();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await site.close();
  });

  test.each([
    ["declined", "error=access_denied", 403, "You declined the access"],
    ["no state", "code=c&domain_prefix=shop", 403, "This login did not start here"],
    ["unknown state", "code=c&domain_prefix=shop&state=somebody-elses", 403, "could not match"],
    [
      "a hostile store",
      "code=c&domain_prefix=evil.example%2f&state=12345678",
      400,
      "not a store we can talk to",
    ],
    ["doubled parameters", "code=a&code=b&domain_prefix=shop&state=12345678", 400, "was damaged"],
  ])("that fails gets a page that says why: %s", async (_case, query, status, words) => {
    const ada = await site.person("ada@example.com");
    const answer = await ada.open(`/auth/retail-pos/callback?${query}`);
    expect(answer).toMatchObject({ status, body: expect.stringContaining(words) });
    expect(answer.body).toContain('href="/auth/retail-pos"');
    expect(site.sandbox.tokenRequests()).toHaveLength(0);
  });

  test("that the service ends with another error than a decline gets a page of its own", async () => {
    const ada = await site.person("ada@example.com");
    const { location } = await ada.open("/auth/retail-pos");
    const state = new URL(location).searchParams.get("state");
    const answer = await ada.open(`/auth/retail-pos/callback?error=server_error&state=${state}`);
    expect(answer).toMatchObject({
      status: 502,
      body: expect.stringContaining("could not connect your store"),
    });
    expect(answer.body).not.toContain("server_error");
    expect(console.warn).toHaveBeenCalledWith(expect.stringContaining("authorization_failed: "));
  });

  test("needs somebody who is logged in, before and after", async () => {
    expect(await site.visitor().open("/auth/retail-pos")).toMatchObject({ status: 302, location: "/log-in" });
    const ada = await site.person("ada@example.com");
    const { location } = await ada.open("/auth/retail-pos");
    const { pathname, search } = site.sandbox.consent(location, store);
    await ada.post("/log-out");
    expect(await ada.open(pathname + search)).toMatchObject({
      status: 403,
      body: expect.stringContaining("You are not logged in as you were"),
    });
    // Somebody else logs in to the same browser: the store does not become theirs.
    await ada.post("/sign-up", { email: "bob@example.com", password: PASSWORD });
    expect((await ada.open(pathname + search)).status).toBe(403);
    await ada.open("/auth/retail-pos"); // neither once they connect a store of their own
    expect((await ada.open(pathname + search)).status).toBe(403);
    expect(site.records.allStores()).toEqual([]);
    expect(site.sandbox.tokenRequests()).toHaveLength(0);
  });

  test("a person who is logged in has to log out before another account logs in here", async () => {
    const ada = await site.person("ada@example.com");
    await site.person("bob@example.com");
    const answer = await ada.post("/log-in", { email: "bob@example.com", password: PASSWORD });
    expect(answer).toMatchObject({ status: 302, location: "/stores" });
    expect((await ada.open("/stores")).body).toContain("ada@example.com");
  });

  test("somebody who goes back and approves again is sent on to the store", async () => {
    const ada = await site.person("ada@example.com");
    const { location } = await ada.open("/auth/retail-pos");
    const { pathname, search } = site.sandbox.consent(location, store);
    await ada.open(pathname + search);
    expect(await ada.open(pathname + search)).toMatchObject({ status: 302, location: `/stores/${store}` });
    expect((await ada.open((pathname + search).replace("/callback", ""))).location).toBe(`/stores/${store}`);
    // Of a store that is not theirs they learn nothing.
    await site.person("bob@example.com", "rosas-bikes");
    const foreign = (pathname + search).replace(store, "rosas-bikes");
    expect((await ada.open(foreign)).status).toBe(403);
  });

  test("a rate limit leads back to the beginning of it, for loading the page again does not help", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {}); // the log line of the application
    const ada = await site.person("ada@example.com");
    site.sandbox.limit(store, 60_000);
    const answer = await ada.connect(store);
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining("One moment, please") });
    expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(answer.body).toContain('href="/auth/retail-pos"');
  });

  test("a rate limit says until when, and holds its button back so long", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {}); // the log line of the application
    const ada = await site.person("ada@example.com");
    site.sandbox.limit(store, 600_000);
    const { headers, body } = await ada.connect(store);
    expect(body).toContain(`data-wait="${headers.get("retry-after")}"`);
    expect(body).toContain("You can go on from <time");
  });
});

describe("every answer", () => {
  beforeEach(async () => {
    site = await startSite();
  });
  afterEach(() => site.close());

  test("with somebody's data is kept by no browser, and no page runs what is not ours", async () => {
    const ada = await site.person("ada@example.com", store);
    for (const path of ["/", "/stores", `/stores/${store}`, `/stores/${store}/disconnect`, "/no/such/page"]) {
      const { headers, body } = await ada.open(path);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("content-security-policy")).toContain("default-src 'self'");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(body).not.toMatch(/<script(?! type="module" src="\/)|\son\w+=|style="/);
    }
  });

  test("shows no token and no secret", async () => {
    const ada = await site.person("ada@example.com", store);
    const { value } = await site.client.tokens(store).token();
    for (const path of ["/stores", `/stores/${store}`, `/stores/${store}/disconnect`]) {
      const { body, headers } = await ada.open(path);
      expect(body + JSON.stringify([...headers])).not.toContain(value);
      expect(body).not.toContain(site.sandbox.application.clientSecret);
    }
  });
});

test("behind a proxy that ends TLS the session's cookie is for https alone, and who comes is told apart", async () => {
  site = await startSite();
  const service = { ...settingsFrom(site.env).service, redirectUri: "https://shelfview.example/callback" };
  const app = createApp({ service, SESSION_SECRET: "for the test", TRUST_PROXY: 1 }, site);
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const signUp = (address: string, email = "none") =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/sign-up`, {
      method: "POST",
      body: new URLSearchParams({ email, password: PASSWORD }),
      headers: {
        origin: "https://shelfview.example",
        "x-forwarded-proto": "https",
        "x-forwarded-for": `10.9.9.9, ${address}`, // the first one is what the sender says
      },
      redirect: "manual",
    });
  const cookie = (await signUp("192.0.2.1", "ada@example.com")).headers.get("set-cookie");
  expect(cookie).toMatch(/^__Host-many-stores=.*; HttpOnly; Secure; SameSite=Lax$/);
  for (let count = 0; count < 50; count += 1) await signUp("2001:db8::1");
  expect((await signUp("2001:db8::2")).status).toBe(429); // of the same network
  expect((await signUp("2001:db9::1")).status).toBe(400);
  for (let count = 0; count < 50; count += 1) await signUp(`192.0.2.7:${40_000 + count}`); // each with its port
  for (const address of ["192.0.2.7", "192.0.2.7:50000"]) expect((await signUp(address)).status).toBe(429);
  expect((await signUp("[2001:db8::3]:443")).status).toBe(429);
  server.closeAllConnections();
  server.close();
  await site.close();
});

test("nobody else on the machine can read the file", async () => {
  site = await startSite();
  const folder = dirname(site.env["DATABASE_FILE"] ?? "");
  const files = readdirSync(folder).map((file) => join(folder, file));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect(statSync(file).mode & 0o077).toBe(0);
  await site.close();
});
