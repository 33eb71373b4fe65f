import type { RequestListener } from "node:http";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Browser, browser } from "./support/browser.js";
import { type Listening, listen } from "./support/listen.js";
import { combinations, type SiteSettings } from "./support/sites.js";

// The same story on every combination of framework and Passport that we say works.

const store = "harbour-coffee";

describe.each(combinations)("$name", ({ name, site, losesATab }) => {
  let clock: VirtualClock;
  let sandbox: Sandbox;
  let server: Listening;
  let person: Browser;

  beforeEach(() => open());
  afterEach(close);

  test("log in, call, expire, call", async () => {
    const callback = await person.open(await approve(store));
    expect(callback.status).toBe(200);
    expect(JSON.parse(callback.body)).toEqual({ user: { domainPrefix: store } });
    expect((await person.open(`${server.origin}/products`)).body).toContain("House espresso");
    clock.advance(600_000);
    expect((await person.open(`${server.origin}/products`)).body).toContain("House espresso");
    expect(sandbox.tokenRequests(store)).toHaveLength(2);
  });

  test("a start and a callback are kept from caches and Referers, if the response is in reach", async () => {
    const inReach = name.includes("@fastify/passport") ? [null, null] : ["no-store", "strict-origin"];
    const started = await person.open(`${server.origin}/login`);
    const finished = await person.open(sandbox.consent(started.location, store));
    for (const { headers } of [started, finished])
      expect([headers.get("cache-control"), headers.get("referrer-policy")]).toEqual(inReach);
  });

  test("without a login the API sees no call", async () => {
    expect((await person.open(`${server.origin}/products`)).status).toBe(401);
    expect(sandbox.requests).toHaveLength(0);
  });

  test.each([
    ["the first", [0, 1]],
    ["the second", [1, 0]],
  ])("one session, two tabs: both finish, %s of them before the other", async (_, order) => {
    const tabs = [await start(), await start()];
    const stores = ["second-chapter", store];
    for (const [turn, tab] of order.entries()) {
      const answer = await person.open(sandbox.consent(tabs[tab] ?? "", stores[turn] ?? ""));
      expect(answer.status).toBe(200);
    }
    expect(JSON.parse((await person.open(`${server.origin}/me`)).body)).toEqual({
      user: { domainPrefix: store },
    });
  });

  const bothOrOne = losesATab ? "one finishes, and the other is told why" : "both finish";
  test(`two tabs that start at the same moment: ${bothOrOne}`, async () => {
    const tabs = await Promise.all([start(), start()]);
    const answers = [];
    for (const tab of tabs) answers.push(await person.open(sandbox.consent(tab, store)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, losesATab ? 403 : 200]);
    const lost = answers.filter(({ status }) => status === 403).map(({ body }) => JSON.parse(body).info.code);
    expect(lost).toEqual(losesATab ? ["state_unknown"] : []);
  });

  test("a callback loaded twice logs in once, and says that it was used", async () => {
    const callback = await approve(store);
    expect((await person.open(callback)).status).toBe(200);
    const again = await person.open(callback);
    expect(again.status).toBe(403);
    expect(JSON.parse(again.body).info).toMatchObject({
      code: "state_unknown",
      message: expect.stringContaining("already used"),
    });
    expect(sandbox.tokenRequests(store)).toHaveLength(1);
  });

  test.each([
    ["access_denied", "error=access_denied"],
    ["state_missing", "code=c&domain_prefix=shop"],
    ["state_unknown", "code=c&domain_prefix=shop&state=forged-by-somebody"],
    ["invalid_domain_prefix", "code=c&domain_prefix=evil.example&state=forged-by-somebody"],
    ["invalid_callback", "code=a&code=b&domain_prefix=shop&state=forged-by-somebody"],
  ])("a failure has a reason: %s", async (code, query) => {
    const callback = await approve(store);
    const answer = await person.open(`${server.origin}/callback?${query}`);
    expect(JSON.parse(answer.body).info).toMatchObject({ code, message: expect.any(String) });
    expect(sandbox.tokenRequests()).toHaveLength(0);
    expect((await person.open(callback)).status).toBe(200); // the pending login is untouched
  });

  test.each<[string, Record<string, string>, boolean]>([
    ["a prefetch", { "sec-purpose": "prefetch" }, true],
    ["a page rendered ahead", { "sec-purpose": "prefetch;prerender" }, true],
    ["a start that another site forces", { "sec-fetch-site": "cross-site" }, false],
    ["a start by a WebSocket", { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" }, false],
  ])("%s is 503 and changes no login", async (_, headers, isCallbackToo) => {
    const callback = await approve(store);
    const before = person.cookies("localhost");
    const visits = Array(25).fill(`${server.origin}/login`);
    for (const url of isCallbackToo ? [...visits, callback] : visits) {
      const answer = await person.open(url, { headers });
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([503, "no-store"]);
    }
    expect(person.cookies("localhost")).toBe(before);
    expect((await person.open(callback)).status).toBe(200);
    expect(sandbox.tokenRequests(store)).toHaveLength(1);
  });

  test("a refused code is a failure with its reason, and the login can start again", async () => {
    const callback = await approve(store);
    clock.advance(11 * 60_000); // the code lives ten minutes, the login fifteen
    const answer = await person.open(callback);
    expect([answer.status, JSON.parse(answer.body).info?.code]).toEqual([403, "code_refused"]);
    clock.advance(60_000); // core spaces the exchanges after a refused code
    expect((await person.open(await approve(store))).status).toBe(200);
  });

  test("a service that is limited is 503 with Retry-After, for a login and for a call", async () => {
    const callback = await approve(store);
    sandbox.limit(store, 90_000);
    const login = await person.open(callback);
    expect([login.status, login.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    clock.advance(91_000);
    expect((await person.open(await approve(store))).status).toBe(200);
    clock.advance(600_000); // the token has ended
    sandbox.limit(store, 90_000);
    const call = await person.open(`${server.origin}/products`);
    expect([call.status, call.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  });

  test("the application's own state comes back, whatever its shape", async () => {
    await close();
    await open({ login: { state: { cart: [1, 2] } }, path: "/finish" });
    const callback = await person.open(await approve(store));
    expect(JSON.parse(callback.body)).toEqual({ user: { domainPrefix: store }, state: { cart: [1, 2] } });
  });

  test("behind a proxy that ends TLS, a relative callbackURL is the address the browser knows", async () => {
    await close();
    await open({
      trustProxy: true,
      callbackURL: "/callback",
      redirectUri: "https://shop.example.net/callback",
    });
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "shop.example.net" };
    const { location } = await person.open(`${server.origin}/login`, { headers });
    expect(new URL(location).searchParams.get("redirect_uri")).toBe("https://shop.example.net/callback");
    const callback = sandbox.consent(location, store); // the service compares it letter by letter
    const answer = await person.open(`${server.origin}${callback.pathname}${callback.search}`, { headers });
    expect(answer.status).toBe(200);
  });

  async function start(): Promise<string> {
    return (await person.open(`${server.origin}/login`)).location;
  }

  async function approve(domainPrefix: string): Promise<URL> {
    return sandbox.consent(await start(), domainPrefix);
  }

  async function open({
    path = "/callback",
    callbackURL,
    redirectUri,
    ...settings
  }: Partial<Omit<SiteSettings, "strategy">> & {
    path?: string;
    callbackURL?: string;
    redirectUri?: string;
  } = {}) {
    person = browser();
    clock = virtualClock();
    let handler: RequestListener = () => {};
    server = await listen((req, res) => handler(req, res));
    const registered = redirectUri ?? `${server.origin}${path}`;
    sandbox = await startSandbox({ clock, lifetimeMs: 600_000, redirectUri: registered });
    const { authUrl, baseUrl, application } = sandbox;
    const { clientId: clientID, clientSecret } = application;
    const strategy = {
      authUrl,
      baseUrl,
      clientID,
      clientSecret,
      callbackURL: callbackURL ?? registered,
      clock,
    };
    handler = site({ strategy, redirectUri: registered, ...settings });
  }

  async function close() {
    await server.close();
    await sandbox.close();
  }
});
