import session from "express-session";
import { describe, expect, onTestFinished, test } from "vitest";
import { fakeService } from "../packages/core/testing/fake-service.js";
import { type Browser, browser } from "./support/browser.js";
import { listen } from "./support/listen.js";
import { APPLICATION, approval } from "./support/login-site.js";
import { type PassportSite, type PassportSiteSettings, passportSites } from "./support/passport-sites.js";

// A login needs no session. If the application's is broken, the person is nobody on the next page: the log says why.

const withCookies = passportSites.filter(({ inSession }) => !inSession);
const withStores = passportSites.filter(({ name }) => name.startsWith("Express"));
const https = { "x-forwarded-proto": "https", "x-forwarded-host": "app.example.net" };
const SECURE = expect.stringMatching(
  /^People who log in may be logged out.*is Secure and the request is not/,
);

describe.each(withCookies)("$name: a session's cookie that is Secure, and a request that is not,", (site) => {
  test("is told at a start, once", async () => {
    const { person, origin, lines } = await open(site, { cookie: { secure: true } });
    for (const url of [`${origin}/any/login`, `${origin}/any/login`]) await person.open(url);
    expect(lines).toEqual([SECURE]);
  });

  test("is told at a callback by a process that saw no start", async () => {
    const first = await open(site, {});
    const back = await begin(first.person, first.origin);
    const second = await open(site, { cookie: { secure: true } }, { callbackURL: first.callbackURL });
    await first.person.open(second.origin + back.pathname + back.search);
    expect(lines(second.lines)).toEqual([SECURE]);
  });

  test("is told behind a proxy that ends TLS and is not trusted; the login itself ends well or says why", async () => {
    const { person, origin, lines } = await open(site, { cookie: { secure: true } });
    const back = await begin(person, origin, https);
    const { status } = await person.open(back, { headers: https });
    expect(status).toBe(site.name.startsWith("Koa") ? 500 : 200); // Koa refuses to set the cookie
    expect(lines).toEqual([SECURE]);
    expect(JSON.parse((await person.open(`${origin}/me`)).body).user).toBe(null);
  });

  test("is not told if the proxy is trusted", async () => {
    const { person, origin, lines } = await open(site, { cookie: { secure: true }, trustProxy: true });
    const back = await begin(person, origin, https);
    expect((await person.open(back, { headers: https })).status).toBe(200);
    expect(lines).toEqual([]);
    const me = JSON.parse((await person.open(`${origin}/me`, { headers: https })).body);
    expect(me.user).toEqual({ domainPrefix: "shop" });
  });
});

describe.each(withCookies)("$name: a session's cookie", (site) => {
  test.each(["none", "strict"] as const)("that is SameSite %j and not Secure is told", async (sameSite) => {
    const { person, origin, lines } = await open(site, { cookie: { sameSite } });
    expect((await person.open(await begin(person, origin))).status).toBe(200);
    expect(lines).toEqual([expect.stringMatching(/SameSite=Strict, or None and not Secure/)]);
  });

  test.each<[string, NonNullable<PassportSiteSettings["cookie"]>]>([
    ["that is as it should be", {}],
    ["that is SameSite=Lax", { sameSite: "lax" }],
  ])("%s is not told of", async (_, cookie) => {
    const { person, origin, lines } = await open(site, { cookie });
    expect((await person.open(await begin(person, origin))).status).toBe(200);
    expect(lines).toEqual([]);
  });
});

describe.each(withStores)("$name: a store", (site) => {
  test.each<[string, Partial<session.Store>]>([
    ["that drops what it is given", { set: (_id, _data, done) => done?.() }],
    [
      "that finds nothing from the moment that somebody has logged in",
      { get: (_id, done) => void setImmediate(done, null, null) },
    ],
    ["that fails when it is asked", { get: (_id, done) => void setImmediate(done, new Error("away")) }],
  ])("%s is told after a login", async (_, how) => {
    const store = new session.MemoryStore();
    const { person, origin, lines } = await open(site, { store });
    const back = await begin(person, origin);
    expect(lines).toEqual([]);
    Object.assign(store, how);
    expect((await person.open(back)).status).toBe(200);
    await expect.poll(() => lines).toEqual([expect.stringMatching(/store does not have the session/)]);
  });
});

test("koa-session with a store that works is not told of", async () => {
  const site = passportSites.find(
    ({ name, inSession }) => name.startsWith("Koa") && !inSession,
  ) as PassportSite;
  const kept = new Map<string, object>();
  const store = {
    get: async (key: string) => kept.get(key),
    set: async (key: string, value: object) => void kept.set(key, { ...value }),
    destroy: async (key: string) => void kept.delete(key),
  };
  const { person, origin, lines } = await open(site, { koaStore: store });
  expect((await person.open(await begin(person, origin))).status).toBe(200);
  expect(JSON.parse((await person.open(`${origin}/me`)).body).user).toEqual({ domainPrefix: "shop" });
  expect(lines).toEqual([]);
});

test("`logFailures: false` tells nothing", async () => {
  const [site] = withCookies as [PassportSite];
  const { person, origin, lines } = await open(site, { cookie: { secure: true } }, { logFailures: false });
  expect((await person.open(await begin(person, origin))).status).toBe(200);
  expect(lines).toEqual([]);
});

const lines = (told: readonly string[]) => told.filter((line) => line.startsWith("People who log in"));

async function open(
  { site }: PassportSite,
  settings: Omit<PassportSiteSettings, "strategy">,
  options: object = {},
) {
  const told: string[] = [];
  const { port, close } = await listen((req, res) => app(req, res));
  onTestFinished(close);
  const origin = `http://127.0.0.1:${port}`;
  const callbackURL = `${origin}/any/callback`;
  const app = site({
    strategy: {
      ...APPLICATION,
      fetch: fakeService().fetch,
      callbackURL,
      logFailures: (line: string) => void told.push(line),
      ...options,
    },
    ...settings,
  });
  return { person: browser(), origin, callbackURL, lines: told };
}

async function begin(person: Browser, origin: string, headers: Record<string, string> = {}): Promise<URL> {
  return approval((await person.open(`${origin}/any/login`, { headers })).location, "shop");
}
