import express, { type RequestHandler } from "express";
import session from "express-session";
import { Passport } from "passport";
import { describe, expect, onTestFinished, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { listen } from "../../../../test/support/listen.js";
import {
  APPLICATION,
  approval,
  loginSite,
  type SiteSettings,
  sessions,
} from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";

describe("a cookie for each login", () => {
  test("needs no session, and is gone once the login is over", async () => {
    const { site, person, begin } = await open({}, { session: false, options: { session: false } });
    const [one, two] = [await begin("shop"), await begin("cafe")];
    expect(person.cookies()).toMatch(
      /^retail-pos\.[\w-]{8}\.[\w-]{16}=[\w-]+; retail-pos\.[\w-]{8}\.[\w-]{16}=[\w-]+$/,
    );
    expect((await person.open(two)).status).toBe(200);
    expect((await person.open(one)).status).toBe(200);
    expect([person.cookies(), site.errors]).toEqual(["", []]);
  });

  test("leaves no session behind with `session: false`", async () => {
    const { person, begin } = await open({}, { options: { session: false } });
    expect((await person.open(await begin("shop"))).status).toBe(200);
    expect(person.cookies()).toBe("");
  });

  test("is `__Host-` and Secure if the browser comes back over https", async () => {
    const { service } = await open({});
    const callbackURL = "https://app.example.net/callback";
    const strategy = new RetailPosStrategy({ ...APPLICATION, callbackURL, fetch: service.fetch }, () => null);
    const passport = new Passport().use(strategy);
    const app = express().get("/login", passport.authenticate("retail-pos", { session: false }));
    const { port, close } = await listen(app);
    onTestFinished(close);
    const { headers } = await browser().open(`http://127.0.0.1:${port}/login`);
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-retail-pos\..*; Path=\/; Max-Age=1800; HttpOnly; SameSite=Lax; Secure$/),
    ]);
  });

  test("are ten at most; the oldest go first, and another strategy's are left alone", async () => {
    const time = { now: 1_900_000_000_000 };
    const { person, begin } = await open({ clock: () => time.now });
    person.setCookie("retail-pos.otherapp.0123456789abcdef", "sealed-by-another");
    const backs: string[] = [];
    for (let login = 0; login < 14; login += 1, time.now += 1000) backs.push(await begin("shop"));
    expect(person.cookies().match(/retail-pos\./g)).toHaveLength(11);
    expect(person.cookie("retail-pos.otherapp.0123456789abcdef")).toBe("sealed-by-another");
    expect((await person.open(backs[0] ?? "")).status).toBe(403);
    expect((await person.open(backs[13] ?? "")).status).toBe(200);
  });

  test.each<[string, unknown, RegExp]>([
    ["is too large", "x".repeat(1499), /state must be at most 1500 bytes of JSON; these are 1501/],
    ["is no JSON", { at: 1n }, /state must be a value that JSON can hold/],
  ])("an application's state that %s is a TypeError at the start", async (_, state, message) => {
    const { site, person } = await open({}, { options: { state } });
    expect((await person.open(site.loginUrl)).status).toBe(500);
    expect(site.errors).toEqual([
      expect.objectContaining({ name: "TypeError", message: expect.stringMatching(message) }),
    ]);
  });

  test.each<[string, object, object, number]>([
    ["the same client secret", {}, {}, 200],
    ["another client secret", {}, { clientSecret: "another-client-secret" }, 403],
    ["a new secret beside the old one", { secret: OLD() }, { secret: [NEW(), OLD()] }, 200],
    ["a new secret alone", { secret: OLD() }, { secret: NEW() }, 403],
  ])("is opened by another process that has %s", async (_, one, other, status) => {
    const { person, begin } = await open(one);
    const back = new URL(await begin("shop"));
    const second = await open({ ...other, callbackURL: `${back.origin}${back.pathname}` });
    expect((await person.open(second.site.callbackUrl + back.search)).status).toBe(status);
  });
});

describe("whatever else a session goes through", () => {
  test.each<[string, RequestHandler]>([
    ["it is emptied", (req, _res, next) => req.session.regenerate(next)],
    ["it is destroyed", (req, _res, next) => req.session.destroy(next)],
  ])("the login that is under way is finished: %s", async (_, act) => {
    const passing: RequestHandler = (req, res, next) =>
      req.path === "/other" ? act(req, res, () => res.end()) : next();
    const { site, person, begin } = await open({}, { configure: (app) => app.use(sessions(), passing) });
    const back = await begin("shop");
    expect((await person.open(`${site.origin}/other`)).status).toBe(200);
    expect((await person.open(back)).status).toBe(200);
  });
});

test("a session that a stranger planted holds no login of theirs", async () => {
  const { site, person, begin } = await open({});
  const stranger = browser();
  await stranger.open(`${site.callbackUrl}?error=access_denied`);
  const back = approval((await stranger.open(site.loginUrl)).location, "evil");
  person.setCookie("connect.sid", stranger.cookie("connect.sid"));
  expect((await person.open(back)).status).toBe(403);
  expect((await person.open(await begin("shop"))).status).toBe(200);
  expect((await person.open(back)).status).toBe(403);
  expect((await stranger.open(back)).status).toBe(200);
});

describe('store: "session"', () => {
  test("finishes two tabs, and the session holds a bounded number", async () => {
    const store = new session.MemoryStore();
    const { person, begin } = await open({ store: "session" }, { session: sessions(store) });
    const backs: string[] = [];
    for (let login = 0; login < 40; login += 1) backs.push(await begin("shop"));
    expect(person.cookies()).toMatch(/^connect\.sid=[^;]+$/);
    const [stored = ""] = Object.values((store as unknown as { sessions: Record<string, string> }).sessions);
    expect(stored.length).toBeLessThan(2_300);
    expect((await person.open(backs[0] ?? "")).status).toBe(403);
    for (const back of backs.slice(-3)) expect((await person.open(back)).status).toBe(200);
  });

  test("has room again once its logins are finished", async () => {
    const { site, person, begin } = await open(
      { store: "session" },
      { options: { assignProperty: "account" } },
    );
    for (let login = 0; login < 20; login += 1)
      expect((await person.open(await begin("shop"))).status).toBe(200);
    const unclicked = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    expect(await person.navigate(site.loginUrl, unclicked)).toBe(302);
  });

  test("what other requests write into it while a code is traded stays: a login begun, a log-out", async () => {
    const service = fakeService();
    let meanwhile = async (): Promise<unknown> => undefined;
    const fetch: typeof globalThis.fetch = async (...call) => {
      await meanwhile();
      return service.fetch(...call);
    };
    const configure: SiteSettings<RetailPosStrategy>["configure"] = (app) => {
      const kept = { resave: false, saveUninitialized: false, cookie: { maxAge: 60_000 } };
      app.use(session({ secret: "for the tests", ...kept }));
      app.get("/log-out", (req, res) => req.session.destroy(() => res.end()));
    };
    const { person, site, begin } = await open(
      { store: "session", fetch },
      { configure, session: (_req, _res, next) => next(), options: { assignProperty: "account" } },
    );
    const first = await begin("shop");
    let second = "";
    meanwhile = async () => {
      second ||= await begin("shop");
    };
    expect((await person.open(first)).status).toBe(200);
    meanwhile = () => person.open(`${site.origin}/log-out`);
    expect((await person.open(second)).status).toBe(200);
    expect(JSON.parse((await person.open(site.meUrl)).body).session).toEqual({ cookie: expect.anything() });
  });
});

test.each([
  ["needs a session, and says what makes cookies possible", false, 500],
  ["needs no session with `req.res = res`", true, 302],
])("a login on a bare server %s", async (_, setsRes, status) => {
  const strategy = new RetailPosStrategy(
    { ...APPLICATION, callbackURL: "http://localhost/callback" },
    () => null,
  );
  const authenticate = new Passport().use(strategy).authenticate("retail-pos", { session: false });
  const { port, close } = await listen((req, res) => {
    if (setsRes) Object.assign(req, { res });
    authenticate(req, res, (error?: Error) => {
      res.statusCode = 500;
      res.end(error?.message);
    });
  });
  onTestFinished(close);
  const answer = await browser().open(`http://127.0.0.1:${port}/login`);
  expect(answer.status).toBe(status);
  expect(setsRes ? String(answer.headers.getSetCookie()) : answer.body).toMatch(
    /^retail-pos\.|req\.res = res/,
  );
});

test("a session full of logins that were given up has room again for another site's start", async () => {
  const time = { now: 1_900_000_000_000 };
  const { site, person, begin } = await open({ store: "session", clock: () => time.now });
  for (let login = 0; login < 40; login += 1) await begin("shop");
  const unclicked = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  };
  expect(await person.navigate(site.loginUrl, unclicked)).toBe(503);
  time.now += 3_600_000;
  expect(await person.navigate(site.loginUrl, unclicked)).toBe(302);
});

describe("the state of a login under way makes a callback of a request", () => {
  test.each(["/elsewhere", "/CALLBACK/", "/login"])("%s", async (path) => {
    const mount: SiteSettings<RetailPosStrategy>["configure"] = (app) => {
      app.use((req, _res, next) => {
        if (req.path === "/elsewhere") req.url = req.url.replace("/elsewhere", "/login");
        next();
      });
    };
    const { site, person, begin } = await open({}, { configure: mount });
    const back = new URL(await begin("shop"));
    const state = back.searchParams.get("state");
    expect((await person.open(`${site.origin}${path}?state=${state}&message=x`)).status).toBe(400);
    expect((await person.open(back)).status).toBe(200);
  });
});

test("parameters that middleware adds do not make a callback of a start", async () => {
  const service = fakeService();
  const { port, close } = await listen((req, res) => app(req, res));
  onTestFinished(close);
  const callbackURL = `http://127.0.0.1:${port}/auth`;
  const passport = new Passport().use(
    new RetailPosStrategy({ ...APPLICATION, callbackURL, fetch: service.fetch }, () => ({
      domainPrefix: "x",
    })),
  );
  const app = express();
  app.use((req, _res, next) => {
    Object.defineProperty(req, "query", { value: { lng: "en" } });
    next();
  });
  app.get("/auth", passport.authenticate("retail-pos", { session: false }), (_req, res) => res.end("in"));
  const person = browser();
  const { location } = await person.open(callbackURL);
  expect((await person.open(approval(location, "shop"))).body).toBe("in");
});

function OLD() {
  return "an old secret of the tests, longer than 32 letters";
}
function NEW() {
  return "a new secret of the tests, longer than 32 letters";
}

async function open(options: object, settings: SiteSettings<RetailPosStrategy> = {}) {
  const [service, person] = [fakeService(), browser()];
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL, ...options },
      ({ domainPrefix }) => ({ domainPrefix }),
    );
  const site = await loginSite(new Passport(), make, settings);
  const begin = async (retailer: string) =>
    approval((await person.open(site.loginUrl)).location, retailer).href;
  return { service, site, person, begin };
}
