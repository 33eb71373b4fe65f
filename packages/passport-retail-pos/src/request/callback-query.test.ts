import { get } from "node:http";
import express from "express";
import express4 from "express4";
import { Passport } from "passport";
import OAuth2Strategy from "passport-oauth2";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Browser, browser } from "../../../../test/support/browser.js";
import { foreignStates } from "../../../../test/support/hostile-callbacks.js";
import { listen } from "../../../../test/support/listen.js";
import { APPLICATION, approval, loginSite, type SiteSettings } from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";
import { callbackQueryOf } from "./request-query.js";

// Which query is read as what is a table of login's, beside `readCallback`: here is what becomes of it.

test.each<[name: string, change: Record<string, string>, code: string]>([
  ["damaged", { code: "" }, "invalid_callback"],
  ["of a domain prefix that is none", { domain_prefix: "evil.example/" }, "invalid_domain_prefix"],
])("a callback that is %s is a 400: nothing is sent, nothing is spent", async (_, change, code) => {
  const { service, site, answers } = await open();
  const person = browser();
  const real = approval((await person.open(site.loginUrl)).location, "shop");
  const forged = new URL(real);
  for (const [name, value] of Object.entries(change)) forged.searchParams.set(name, value);
  expect((await person.open(forged)).status).toBe(400);
  expect(answers).toEqual([{ code, message: expect.any(String), status: 400 }]);
  expect(service.seen).toEqual([]);
  expect((await person.open(real)).status).toBe(200);
});

describe("state", () => {
  test.each(foreignStates)("%s: 403, nothing sent, nothing spent", async (_, state, code) => {
    const { service, site, answers } = await open();
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    const forged = new URL(real);
    if (state === undefined) forged.searchParams.delete("state");
    else forged.searchParams.set("state", state);
    expect((await person.open(forged)).status).toBe(403);
    expect(answers).toMatchObject([{ code, status: 403 }]);
    expect(service.seen).toEqual([]);
    expect((await person.open(real)).status).toBe(200);
  });

  test("that is the right one but for its last character is refused", async () => {
    const { service, site } = await open();
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    const state = real.searchParams.get("state") ?? "";
    for (const other of [state.slice(0, -1), `${state}A`, `${state} `, state.toUpperCase()]) {
      const forged = new URL(real);
      forged.searchParams.set("state", other);
      expect((await person.open(forged)).status).toBe(403);
    }
    expect(service.seen).toEqual([]);
  });
});

describe("an error instead of a code", () => {
  test("access_denied is a failure, state or not, and leaves pending logins alone", async () => {
    const { service, site, answers } = await open();
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(`${site.callbackUrl}?error=access_denied`)).status).toBe(403);
    const withState = `${site.callbackUrl}?error=access_denied&state=${real.searchParams.get("state")}`;
    expect((await person.open(withState)).status).toBe(403);
    expect((await browser().open(`${real.href}&error=access_denied`)).status).toBe(403);
    expect(answers.map(({ code }) => code)).toEqual(["access_denied", "access_denied", "access_denied"]);
    expect(service.seen).toEqual([]);
    expect((await person.open(real)).status).toBe(200);
  });

  test.each([
    ["server_error", 502],
    ["temporarily_unavailable", 503],
    ["unauthorized_client", 500],
    ["Access_Denied", 500],
  ])("%s reaches next(err) as passport-oauth2's AuthorizationError", async (error, status) => {
    const { service, site } = await open();
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    const answer = await person.open(
      `${real.href}&error=${error}&error_description=because%0Athey+said&error_uri=https://evil.example`,
    );
    expect(answer.status).toBe(status);
    expect(site.errors).toHaveLength(1);
    expect(site.errors[0]).toBeInstanceOf(OAuth2Strategy.AuthorizationError);
    expect(site.errors[0]).toMatchObject({ code: error, message: expect.stringContaining(error) });
    expect(site.errors[0]).toHaveProperty("uri", undefined);
    expect(String(site.errors[0])).not.toMatch(/because/); // not our words
    expect(service.seen).toEqual([]);
    expect((await person.open(real)).status).toBe(200);
  });
});

describe("an error of a stranger's", () => {
  const words = "error_description=call+0800+EVIL&error_uri=https://evil.example";

  test.each([
    ["no state", "", "state_missing"],
    ["a state of nobody's", `state=${"x".repeat(43)}`, "state_unknown"],
  ])("with %s: its state is looked at first, and its words are in no message", async (_, state, code) => {
    const { site, answers } = await open();
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(`${site.callbackUrl}?error=server_error&${words}&${state}`)).status).toBe(403);
    expect(answers).toMatchObject([{ code, status: 403 }]);
    expect(site.errors).toEqual([]);
    expect(JSON.stringify(answers)).not.toMatch(/evil/i);
    expect((await person.open(real)).status).toBe(200);
  });

  test("with the person's own state hands on neither an address nor anything but a name", async () => {
    const { site } = await open();
    const person = browser();
    const state = new URL((await person.open(site.loginUrl)).location).searchParams.get("state");
    await person.open(`${site.callbackUrl}?error=call+0800+EVIL&${words}&state=${state}`);
    const [error] = site.errors;
    expect(error).toBeInstanceOf(OAuth2Strategy.AuthorizationError);
    expect(JSON.stringify({ ...(error as object), text: String(error) })).not.toMatch(/evil/i);
  });

  test("with the state of another browser's login is not that browser's error", async () => {
    const { site, answers } = await open();
    const [victim, stranger] = [browser(), browser()];
    const real = approval((await stranger.open(site.loginUrl)).location, "shop");
    await victim.open(site.loginUrl);
    const state = real.searchParams.get("state");
    await victim.open(`${site.callbackUrl}?error=server_error&${words}&state=${state}`);
    expect(answers).toMatchObject([{ code: "state_unknown" }]);
  });

  test.each([
    ["without a state", () => ""],
    ["with a state of nobody's", () => `&state=${"x".repeat(43)}`],
    ["with the state of a login that is over", (over: string) => `&state=${over}`],
  ])("that says declined, %s: its words are not repeated", async (_, stateOf) => {
    const { site, answers } = await open();
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(200);
    const state = stateOf(back.searchParams.get("state") ?? "");
    expect((await person.open(`${site.callbackUrl}?error=access_denied&${words}${state}`)).status).toBe(403);
    expect(answers).toMatchObject([{ code: "access_denied", message: expect.stringMatching(/scopes/) }]);
    expect(JSON.stringify(answers)).not.toMatch(/evil/i);
  });
});

describe("a decline with a state of ours", () => {
  type Done = (error: null, answer: unknown) => void;
  const store = {
    store: (_req: unknown, done: Done) => done(null, "a-state-of-the-store"),
    verify: (_req: unknown, state: string, done: Done) => done(null, state === "a-state-of-the-store"),
  };

  // A state store of the application's own cannot say, before it spends it, whether a state is of this browser.
  test.each<[string, object, RegExp]>([
    ["in a cookie brings the service's own words, clean and short", {}, /declined.*only admins may connect/],
    ["in the session, too", { store: "session" }, /declined.*only admins may connect/],
    ["in a state store of the application's own brings none", { store }, /declined.*nothing was changed$/],
  ])("%s, and spends nothing", async (_, options, words) => {
    const { site, answers } = await open({}, options);
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    const declined = new URL(`${site.callbackUrl}?error=access_denied`);
    declined.searchParams.set("state", real.searchParams.get("state") ?? "");
    declined.searchParams.set("error_description", `only\nadmins may ${"connect ".repeat(100)}`);
    expect((await person.open(declined)).status).toBe(403);
    expect(answers[0]?.message).toMatch(words);
    expect(answers[0]?.message?.length).toBeLessThan(500);
    expect((await person.open(real)).status).toBe(200);
  });

  test.each([
    ["of ours", "a-state-of-the-store", "temporarily_unavailable", 503],
    ["of nobody's", "a-state-of-nobody's", "state_unknown", 403],
  ])(
    "any other error with a state %s, and a store of the application's own",
    async (_, state, code, status) => {
      const { site, answers } = await open({}, { store });
      const person = browser();
      await person.open(site.loginUrl);
      const query = new URLSearchParams({ error: "temporarily_unavailable", state });
      expect((await person.open(`${site.callbackUrl}?${query}`)).status).toBe(status);
      expect([...answers, ...site.errors]).toMatchObject([{ code }]);
    },
  );
});

describe("the method", () => {
  test("HEAD does not spend the code", async () => {
    const { service, site } = await open();
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    await person.open(real, { method: "HEAD" });
    expect(service.seen).toEqual([]);
    expect((await person.open(real)).status).toBe(200);
  });

  test("a code in a POST body is not taken, nor is one in a POST's query", async () => {
    const { service, site } = await open({ configure: (app) => app.use(express.urlencoded()) });
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, "shop");
    const body = real.searchParams;
    expect((await person.open(site.callbackUrl, { method: "POST", body })).status).not.toBe(200);
    expect((await person.open(real, { method: "POST" })).status).toBe(400);
    const halfAndHalf = new URL(real);
    halfAndHalf.searchParams.delete("code");
    expect((await person.open(halfAndHalf, { method: "POST", body })).status).toBe(400);
    expect(service.seen).toEqual([]);
    expect((await person.open(real)).status).toBe(200);
  });
});

test("a login that starts with a POST is answered by 303, which nobody repeats with its body; a GET by 302", async () => {
  const { service, site } = await open();
  const posted = await browser().open(site.callbackUrl, {
    method: "POST",
    body: new URLSearchParams("pin=1234"),
  });
  expect(posted.status).toBe(303);
  expect(posted.location).toMatch(/^https:\/\/login\.example\.com\/connect\?/);
  expect((await browser().open(site.loginUrl)).status).toBe(302);
  expect(service.seen).toEqual([]);
});

test.each<[of: string, from: string, status: number]>([
  ["another site", "cross-site", 503],
  ["a neighbouring host", "same-site", 303],
  ["the application", "same-origin", 303],
])("a form of %s: %s, whether or not it was clicked, is %i", async (_, from, status) => {
  const { site } = await open();
  const person = browser();
  for (const user of [{}, { "sec-fetch-user": "?1" }]) {
    const headers = {
      "sec-fetch-site": from,
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
      "user-agent": "Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 Version/26.0 Mobile Safari/604.1",
    };
    expect(await person.navigate(site.callbackUrl, { ...headers, ...user }, "POST")).toBe(status);
  }
  expect(person.cookies().match(/retail-pos/g) ?? []).toHaveLength(status === 303 ? 2 : 0);
});

test("a form of another site stays a POST, whatever method-override makes of it", async () => {
  const { site } = await open({
    configure: (app) =>
      app.use((req, _res, next) => {
        Object.assign(req, { originalMethod: req.method, method: "GET" });
        next();
      }),
  });
  const foreign = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  expect(await browser().navigate(site.loginUrl, foreign, "POST")).toBe(503);
});

test("a login may start with a query of its own", async () => {
  const { site } = await open();
  for (const query of ["?next=/cart", "?state=abc", "?domain_prefix=shop", "?scope=all"]) {
    const sent = await browser().open(`${site.loginUrl}${query}`);
    expect(sent.location).toMatch(/^https:\/\/login\.example\.com\/connect\?/);
  }
});

test.each(["error_code=500", "error_code", "reason=denied&lang=en", "scope=all", "state=", "=", "Code=c"])(
  "a callback with only %s is refused, and starts no new login that would come back the same",
  async (query) => {
    const { service, site, answers } = await open();
    const answer = await browser().open(`${site.callbackUrl}?${query}`);
    expect([answer.status, answer.location]).toEqual([400, ""]);
    expect(answers).toMatchObject([{ code: "invalid_callback" }]);
    expect(service.seen).toEqual([]);
  },
);

test.each([
  ["12345", "code-of-letters"],
  ["007", "0012"],
  ["1e5", "1e21"],
  ["true", "null"],
])(
  "a query parser that makes values of texts is no hindrance: store %s with the code %s",
  async (shop, code) => {
    const values = (text: string) =>
      Object.fromEntries([...new URLSearchParams(text)].map(([name, value]) => [name, read(value)]));
    const read = (text: string) => {
      try {
        return JSON.parse(text.replace(/^0+(?=\d)/, ""));
      } catch {
        return text;
      }
    };
    const { service, site } = await open({ configure: (app) => app.set("query parser", values) });
    const person = browser();
    const real = approval((await person.open(site.loginUrl)).location, shop, code);
    expect((await person.open(real)).status).toBe(200);
    expect(service.seen.map(({ retailer, form }) => [retailer, form.get("code")])).toEqual([[shop, code]]);
  },
);

test("one route may serve both, the start and the callback", async () => {
  const { site } = await open();
  const person: Browser = browser();
  const sent = await person.open(site.callbackUrl);
  expect(sent.status).toBe(302);
  expect((await person.open(approval(sent.location, "shop"))).status).toBe(200);
});

test("a stranger who finds a spelling that counts as a start elsewhere stops nobody who comes from the application", async () => {
  const passport = new Passport();
  const callbackURL = "http://localhost/auth/store";
  passport.use(new RetailPosStrategy({ ...APPLICATION, callbackURL, logFailures: false }, () => false));
  const handler = passport.authenticate("retail-pos", { session: false });
  const { port, close } = await listen(express().get("/auth/:provider", handler)); // Express reads `\\` as `/`
  onTestFinished(close);
  const statusOf = (path: string, site?: string) =>
    new Promise((resolve, reject) => {
      const headers = site === undefined ? {} : { "sec-fetch-site": site };
      get({ port, path, headers, agent: false }, (answer) => resolve(answer.resume().statusCode)).on(
        "error",
        reject,
      );
    });
  expect(await statusOf("/auth/store")).toBe(302);
  await statusOf("/auth/elsewhere");
  expect(await statusOf("/auth/store", "same-origin")).toBe(302); // by a link or a form of a page of ours
  expect(await statusOf("/auth/store", "none")).toBe(302); // typed, or a bookmark
  for (const site of ["cross-site", "same-site", undefined]) // as from the consent page, its query lost
    expect(await statusOf("/auth/store", site)).toBe(400);
});

describe("no stranger's spelling of a route that serves both stops its logins", () => {
  const frameworks = { "Express 5": express, "Express 4": express4 as unknown as typeof express };
  const ways: Record<
    string,
    (framework: typeof express, handler: express.RequestHandler) => express.Express
  > = {
    "app.get": (framework, handler) => framework().get("/auth/store", handler),
    "app.use": (framework, handler) => framework().use("/auth/store", handler),
    "a router's get": (framework, handler) =>
      framework().use("/auth", framework.Router().get("/store", handler)),
    "a router at the path": (framework, handler) =>
      framework().use("/auth/store", framework.Router().get("/", handler)),
  };
  const spellings = [
    ...["http://user@/auth/store", "http://x:99999/auth/store", "http:///auth/store", "//auth/store"],
    ...[
      "/auth/store/..?",
      "/auth/store/%2e%2e?a=1",
      "/auth/store/..#",
      "/auth/store/..\\x",
      "/auth/store\\..\\x",
    ],
    ...[
      "/AUTH/STORE/",
      "/auth/store/x",
      "/auth/store/%",
      "/auth/store;x",
      "/auth/./store",
      "/auth/x/../store",
    ],
  ];
  const cases = Object.entries(frameworks).flatMap(([name, framework]) =>
    Object.entries(ways).map(([way, app]) => [name, way, framework, app] as const),
  );

  /** A route that is a pattern takes more addresses, each of which may be meant; none of them is spelled so. */
  const patterns: (string | RegExp)[] = ["/auth/:provider", /^\/auth\/\w+\/?$/];
  const patternCases = Object.entries(frameworks).flatMap(([name, framework]) =>
    patterns.map((pattern) => [name, pattern, framework] as const),
  );
  test.each(patternCases)("%s, %s", async (_name, pattern, framework) => {
    await expectHarmless(["/auth\\store#", "/auth/store\\#", "/auth\\store?a=1"], (handler) =>
      framework().get(pattern, handler),
    );
  });

  test.each(cases)("%s, %s", (_name, _way, framework, app) =>
    expectHarmless(spellings, (handler) => app(framework, handler)),
  );

  async function expectHarmless(
    addresses: string[],
    appOf: (handler: express.RequestHandler) => express.Express,
  ): Promise<void> {
    const passport = new Passport();
    const callbackURL = "http://localhost/auth/store";
    passport.use(new RetailPosStrategy({ ...APPLICATION, callbackURL, logFailures: false }, () => false));
    const handler = passport.authenticate("retail-pos", { session: false });
    const { port, close } = await listen(appOf(handler));
    onTestFinished(close);
    const statusOf = (path: string) =>
      new Promise((resolve, reject) => {
        get({ port, path, agent: false }, (answer) => resolve(answer.resume().statusCode)).on(
          "error",
          reject,
        );
      });
    for (const address of addresses) {
      await statusOf(address);
      expect([address, await statusOf("/auth/store")]).toEqual([address, 302]);
    }
  }
});

/** A site whose failures are recorded with their status, then answered as Passport answers them. */
async function open(settings: SiteSettings<RetailPosStrategy> = {}, options: object = {}) {
  const service = fakeService();
  const answers: { code?: string; message?: string; status?: number }[] = [];
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL, ...options },
      ({ domainPrefix }) => ({ domainPrefix }),
    );
  const site = await loginSite(new Passport(), make, {
    authenticate: (_strategy, passport) => (req, res, next) =>
      passport.authenticate(
        "retail-pos",
        {},
        (error: unknown, user: Express.User | false, info: object, status: number) => {
          if (error) return next(error);
          if (user) return req.logIn(user, next);
          answers.push({ ...info, status });
          res.status(status).end();
        },
      )(req, res, next),
    ...settings,
  });
  return { service, site, answers };
}

test("a request that names no method is taken as the GET it is, as the base class takes it", () => {
  const query = { code: "c", domain_prefix: "shop", state: "12345678" };
  expect(callbackQueryOf({ query } as never)).toEqual(query);
  expect(() => callbackQueryOf({ query, method: "HEAD" } as never)).toThrow(/not HEAD/);
});
