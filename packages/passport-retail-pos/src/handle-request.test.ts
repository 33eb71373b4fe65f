import {
  ClientRefusedError,
  memoryStore,
  RateLimitedError,
  RetailPosError,
  retailPos,
  TokenEndpointError,
  TokenResponseError,
  type TokenStore,
} from "@retail-pos/core";
import { type Sandbox, startSandbox, virtualClock } from "@retail-pos/sandbox";
import type { RequestHandler } from "express";
import { Passport } from "passport";
import { describe, expect, onTestFinished, test } from "vitest";
import { browser } from "../../../test/support/browser.js";
import {
  APPLICATION,
  approval,
  loginSite,
  type SiteSettings,
  sessions,
} from "../../../test/support/login-site.js";
import { fakeService, json } from "../../core/testing/fake-service.js";
import { type RetailPosLogin, RetailPosStrategy } from "./index.js";

describe("the order of a login", () => {
  test("verify accepts, then the tokens are kept, then somebody is logged in", async () => {
    const happened: string[] = [];
    const kept = memoryStore();
    const tokenStore: TokenStore = {
      ...kept,
      save: async (...sets) => {
        await new Promise(setImmediate);
        happened.push("tokens kept");
        return kept.save(...sets);
      },
    };
    const verify = async ({ domainPrefix }: RetailPosLogin) => {
      await new Promise(setImmediate);
      happened.push(`verify, with ${(await kept.load(domainPrefix)) ? "tokens" : "nothing"} kept`);
      return { domainPrefix };
    };
    const passport = new Passport();
    passport.serializeUser((user, done) => {
      happened.push("logged in");
      done(null, user);
    });
    const { site } = await open({ tokenStore }, {}, verify, passport);
    const person = browser();
    expect((await person.open(approval((await person.open(site.loginUrl)).location, "shop"))).status).toBe(
      200,
    );
    expect(happened).toEqual(["verify, with nothing kept", "tokens kept", "logged in"]);
  });

  test("a refusal leaves what is stored as it is", async () => {
    const tokenStore = memoryStore();
    let isWelcome = true;
    const verify = (login: RetailPosLogin) => isWelcome && { domainPrefix: login.domainPrefix };
    const { site } = await open({ tokenStore }, {}, verify);
    const logIn = async () => {
      const person = browser();
      return (await person.open(approval((await person.open(site.loginUrl)).location, "shop"))).status;
    };
    expect(await logIn()).toBe(200);
    const before = await tokenStore.load("shop" as never);
    isWelcome = false;
    expect(await logIn()).toBe(401);
    expect(await tokenStore.load("shop" as never)).toEqual(before);
  });

  test.each<[string, TokenStore["save"]]>([
    ["rejects", () => Promise.reject(new Error("the disk is full"))],
    ["says it did not save", async () => false],
  ])("a token store that %s is an error, and nobody is logged in", async (_, save) => {
    const { site } = await open({ tokenStore: { ...memoryStore(), save } });
    const person = browser();
    expect((await person.open(approval((await person.open(site.loginUrl)).location, "shop"))).status).toBe(
      503,
    );
    expect(site.errors).toMatchObject([{ code: "store_failed" }]);
    const { user, session } = JSON.parse((await person.open(site.meUrl)).body);
    expect([user, session.passport]).toEqual([undefined, undefined]);
  });
});

test.each([["cafe"], ["shop.evil"], [["cafe"]], [{ shop: true }]])(
  "a token response that names another retailer (%o) is refused: verify is not asked, nothing is stored",
  async (domain_prefix) => {
    const tokenStore = memoryStore();
    const asked: unknown[] = [];
    const { service, site } = await open({ tokenStore }, {}, (login) => void asked.push(login));
    service.next(() => json({ access_token: "a", refresh_token: "r", token_type: "Bearer", domain_prefix }));
    const person = browser();
    const answer = await person.open(approval((await person.open(site.loginUrl)).location, "shop"));
    expect(answer.status).toBe(502);
    expect(site.errors[0]).toBeInstanceOf(TokenResponseError);
    expect(asked).toEqual([]);
    for (const retailer of ["shop", "cafe"]) {
      expect(await tokenStore.load(retailer as never)).toBeUndefined();
    }
  },
);

describe("a failing token endpoint reaches next(err) as core's error, and Express answers it", () => {
  type Trouble = (sandbox: Sandbox) => unknown;
  const rows: [name: string, trouble: Trouble, type: unknown, status: number, properties: object][] = [
    ["429", (s) => s.limit("harbour-coffee", 90_000), RateLimitedError, 503, { code: "rate_limited" }],
    ["500", (s) => s.fault(500), TokenEndpointError, 502, { endpointStatus: 500 }],
    ["404", (s) => s.fault(404), TokenEndpointError, 502, { endpointStatus: 404 }],
    ["HTML", (s) => s.fault("html"), TokenResponseError, 502, { code: "bad_token_response" }],
    ["a redirect", (s) => s.fault("redirect"), TokenEndpointError, 502, { endpointStatus: 307 }],
    ["silence", (s) => s.fault("silence"), TokenEndpointError, 502, { code: "token_endpoint_failed" }],
    ["a reset", (s) => s.fault("reset"), TokenEndpointError, 502, { code: "token_endpoint_failed" }],
    ["half an answer", (s) => s.fault("half"), TokenEndpointError, 502, { code: "token_endpoint_failed" }],
  ];
  let clock = wholeSecond();

  test.each(rows)("%s", async (_, trouble, type, status, properties) => {
    clock = wholeSecond();
    const { sandbox, site } = await besideSandbox({ timeoutMs: 150 }, clock);
    const person = browser();
    const back = sandbox.consent((await person.open(site.loginUrl)).location, "harbour-coffee");
    trouble(sandbox);
    const answer = await person.open(back);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("retry-after")).toBe(status === 503 ? "90" : null);
    expect(site.errors).toHaveLength(1);
    expect(site.errors[0]).toBeInstanceOf(type);
    expect(site.errors[0]).toMatchObject({ status, domainPrefix: "harbour-coffee", ...properties });
    expect(sandbox.tokenRequests()).toHaveLength(1); // never retried
    expect(sandbox.requests.filter(({ endpoint }) => endpoint === "trap")).toEqual([]);
    expect(JSON.parse((await person.open(site.meUrl)).body).user).toBeUndefined();

    sandbox.clearFaults();
    clock.advance(120_000);
    const again = sandbox.consent((await person.open(site.loginUrl)).location, "harbour-coffee");
    expect((await person.open(again)).status).toBe(200);
  });

  test("invalid_client", async () => {
    const { sandbox, site } = await besideSandbox({ clientSecret: "of-another-application" });
    const person = browser();
    const back = sandbox.consent((await person.open(site.loginUrl)).location, "harbour-coffee");
    expect((await person.open(back)).status).toBe(500);
    expect(site.errors[0]).toBeInstanceOf(ClientRefusedError);
    expect(site.errors).toMatchObject([{ code: "client_refused", error: "invalid_client" }]);
  });

  test("after a 429 nothing goes out for that retailer, while others log in", async () => {
    const { sandbox, site } = await besideSandbox();
    sandbox.limit("harbour-coffee", 90_000);
    const statuses: number[] = [];
    for (const retailer of ["harbour-coffee", "harbour-coffee", sandbox.stores[1]?.domainPrefix ?? ""]) {
      const person = browser();
      const { location } = await person.open(site.loginUrl);
      statuses.push((await person.open(sandbox.consent(location, retailer))).status);
    }
    expect(statuses).toEqual([503, 503, 200]);
    expect(sandbox.tokenRequests("harbour-coffee")).toHaveLength(1);
  });
});

describe("a login that fails for a reason of its own is told so, and reaches no next(err):", () => {
  class NotAccepted extends RetailPosError {
    constructor() {
      super("retailer_not_accepted" as never, 403, "the application's own words");
    }
  }
  const rows: [name: string, exchange: () => Promise<never>, code: string][] = [
    [
      "the code was refused",
      async () => {
        const error = "invalid_grant";
        throw new TokenEndpointError("refused", { status: 403, endpointStatus: 400, error });
      },
      "code_refused",
    ],
    [
      "the application accepts no such retailer",
      () => Promise.reject(new NotAccepted()),
      "retailer_not_accepted",
    ],
  ];

  test.each(rows)("%s", async (_, exchange, code) => {
    const { clientID: clientId, ...rest } = APPLICATION;
    const redirectUri = "https://app.example.net/callback";
    const client = { ...retailPos({ ...rest, clientId, redirectUri }), exchange };
    const told: unknown[] = [];
    const authenticate: typeof logInByItself = (_strategy, passport) => (req, res, next) =>
      passport.authenticate(
        "retail-pos",
        {},
        (error: unknown, user: unknown, info: unknown, status: number) => {
          if (user !== undefined) told.push(error, user, info, status);
          res.status(status ?? 500).end();
        },
      )(req, res, next);
    const site = await loginSite(new Passport(), () => new RetailPosStrategy({ client }, () => null), {
      authenticate,
    });
    const person = browser();
    const { search } = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(site.callbackUrl + search)).status).toBe(403);
    expect(told).toEqual([null, false, { code, message: expect.stringMatching(/.{30,}/) }, 403]);
  });
});

describe("the session", () => {
  test('is missing: a login needs none, but with store: "session" it says so', async () => {
    const { site } = await open({}, { session: false, options: { session: false, state: { cart: 7 } } });
    const person = browser();
    const answer = await person.open(approval((await person.open(site.loginUrl)).location, "shop"));
    expect(JSON.parse(answer.body)).toEqual({
      user: { domainPrefix: "shop" },
      authInfo: { state: { cart: 7 } },
    });

    const { service, site: other } = await open({ store: "session" }, { session: false });
    expect((await person.open(other.loginUrl)).status).toBe(500);
    const callback = `${other.callbackUrl}?code=a-code&domain_prefix=shop&state=${"x".repeat(43)}`;
    expect((await person.open(callback)).status).toBe(500);
    expect(other.errors.map(String)).toEqual(Array(2).fill(expect.stringMatching(/session middleware/)));
    expect(service.seen).toEqual([]);
  });

  test.each<[string, SiteSettings<RetailPosStrategy>]>([
    ["by Passport", {}],
    ["in a custom callback", { authenticate: logInByItself }],
  ])("cannot be regenerated: the error says what to do, %s", async (_, settings) => {
    const { site } = await open({}, { session: sometimesCookieSession(() => true), ...settings });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(500);
    expect(String(site.errors[0])).toMatch(/regenerate .*cookie-session.*express-session/s);
    expect((site.errors[0] as Error).cause).toBeInstanceOf(TypeError);
  });

  test.each<[string, SiteSettings<RetailPosStrategy>]>([
    ["that cannot be regenerated", { session: sometimesCookieSession(() => true) }],
    ["that is a plain object", { session: plainSession({}) }],
  ])("%s will do for a custom callback that does not log in", async (_, settings) => {
    const authenticate: typeof logInByItself = (_strategy, passport) => (req, res, next) =>
      passport.authenticate("retail-pos", {}, (error: unknown, user: unknown, info: unknown) =>
        error ? next(error) : res.json({ user, info }),
      )(req, res, next);
    const { site } = await open({}, { ...settings, authenticate });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect(JSON.parse((await person.open(back)).body)).toEqual({ user: { domainPrefix: "shop" }, info: {} });
  });

  test("is not needed with a state store of the application's own, until Passport asks for one", async () => {
    const store = {
      store: (_req: unknown, done: (error: null, state: string) => void) =>
        done(null, "a-state-of-the-store"),
      verify: (_req: unknown, _state: string, done: (error: null, ok: boolean) => void) => done(null, true),
    };
    const { service, site } = await open({ store }, { session: false });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(500);
    expect(String(site.errors[0])).toMatch(/session support.*express-session/);
    expect(service.seen).toHaveLength(1);
  });

  test.each<[string, SiteSettings<RetailPosStrategy>]>([
    ["session: false", { options: { session: false } }],
    [
      "passport.authorize",
      { authenticate: (_, passport) => passport.authorize("retail-pos", { state: "own" }) },
    ],
  ])("cannot be regenerated, and need not be, with %s", async (_, settings) => {
    const { site } = await open({}, { session: sometimesCookieSession(() => true), ...settings });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(200);
    expect((await person.open(back)).status).toBe(403);
  });

  test("has a save() that takes no callback, as older koa-session's: it is not waited for", async () => {
    const session = plainSession({ save() {} });
    const { site } = await open({}, { session, options: { session: false } });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(200);
  });

  test("holds nobody after a login with `session: false`", async () => {
    const { site } = await open({}, { options: { session: false, state: "own" } });
    const person = browser();
    const answer = await person.open(approval((await person.open(site.loginUrl)).location, "shop"));
    expect(JSON.parse(answer.body)).toEqual({ user: { domainPrefix: "shop" }, authInfo: { state: "own" } });
    expect(JSON.parse((await person.open(site.meUrl)).body).user).toBeUndefined();
  });

  test("stays as it is with passport.authorize, which connects an account", async () => {
    const tokenStore = memoryStore();
    const { site } = await open(
      { tokenStore },
      { authenticate: (_, passport) => passport.authorize("retail-pos", { state: "own" }) },
    );
    const person = browser();
    const { location } = await person.open(site.loginUrl);
    const answer = await person.open(approval(location, "shop"));
    expect(JSON.parse(answer.body)).toEqual({
      account: { domainPrefix: "shop" },
      authInfo: { state: "own" },
    });
    expect(person.cookies()).toBe(""); // no session was begun, and the login's cookie is gone
    expect(await tokenStore.load("shop" as never)).toBeDefined();
  });
});

/** The sandbox rounds the reset of its rate limit up to a second. */
const wholeSecond = () => virtualClock(1_900_000_000_000);

function logInByItself(
  _strategy: RetailPosStrategy,
  passport: { authenticate(name: string, options: object, callback: unknown): RequestHandler },
): RequestHandler {
  return (req, res, next) =>
    passport.authenticate("retail-pos", {}, (error: unknown, user: Express.User) =>
      error ? next(error) : req.logIn(user, next),
    )(req, res, next);
}

/** One object for everybody, as a test that drives a strategy has it. */
function plainSession(session: object): RequestHandler {
  return (req, _res, next) => next(void Object.assign(req, { session }));
}

/** A session that Passport cannot regenerate, as cookie-session's. */
function sometimesCookieSession(isCookieSession: () => boolean): RequestHandler {
  const real = sessions();
  return (req, res, next) =>
    real(req, res, (error) => {
      if (!error && isCookieSession()) {
        Object.defineProperty(req.session, "regenerate", { value: undefined, configurable: true });
      }
      next(error);
    });
}

async function open(
  options: object = {},
  settings: SiteSettings<RetailPosStrategy> = {},
  verify: (login: RetailPosLogin) => unknown = ({ domainPrefix }) => ({ domainPrefix }),
  passport = new Passport(),
) {
  const service = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL, ...options },
      verify as () => Express.User,
    );
  return { service, site: await loginSite(passport, make, settings) };
}

async function besideSandbox(options: object = {}, clock = virtualClock()) {
  let sandbox!: Sandbox;
  const start = async (callbackURL: string) => {
    sandbox = await startSandbox({ redirectUri: callbackURL, clock });
    onTestFinished(sandbox.close);
    const { authUrl, baseUrl, application } = sandbox;
    const { clientId: clientID, clientSecret } = application;
    const settings = { authUrl, baseUrl, clientID, clientSecret, callbackURL, clock, ...options };
    return new RetailPosStrategy(settings, ({ domainPrefix }) => ({ domainPrefix }));
  };
  const site = await loginSite(new Passport(), start);
  return { sandbox, site };
}
