import { memoryStore, retailPos } from "@retail-pos/core";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { Passport } from "passport";
import OAuth2Strategy from "passport-oauth2";
import { describe, expect, onTestFinished, test } from "vitest";
import { browser } from "../../../test/support/browser.js";
import { listen } from "../../../test/support/listen.js";
import { APPLICATION, approval, loginSite, type SiteSettings } from "../../../test/support/login-site.js";
import { fakeService, later } from "../../core/testing/fake-service.js";
import Default, * as names from "./index.js";
import { RetailPosStrategy } from "./index.js";

const verify = (login: names.RetailPosLogin) => ({ domainPrefix: login.domainPrefix });

describe("a login against the sandbox", () => {
  test("goes to the consent page and back, keeps the tokens, and leaves somebody logged in", async () => {
    const { sandbox, site } = await sandboxSite({ options: { state: "back to the cart" } });
    const person = browser();
    const sent = await person.open(site.loginUrl);
    expect(sent.status).toBe(302);
    const asked = new URL(sent.location);
    expect(`${asked.origin}${asked.pathname}`).toBe(`${sandbox.authUrl}/connect`);
    expect(Object.fromEntries(asked.searchParams)).toEqual({
      response_type: "code",
      client_id: sandbox.application.clientId,
      redirect_uri: site.callbackUrl,
      state: expect.any(String),
    });

    const back = await person.open(sandbox.consent(sent.location, "harbour-coffee"));
    expect(JSON.parse(back.body)).toEqual({
      user: { domainPrefix: "harbour-coffee" },
      authInfo: { state: "back to the cart" },
    });
    expect(JSON.parse((await person.open(site.meUrl)).body).user).toEqual({ domainPrefix: "harbour-coffee" });
    const { value } = await site.strategy.client.tokens("harbour-coffee").token();
    expect(sandbox.accepts("harbour-coffee", value)).toBe(true);
    const products = await site.strategy.client.retailer("harbour-coffee").fetch("/api/products");
    expect(products.status).toBe(200);
  });

  test("refuses a code that is used already, as a failure that says to start again", async () => {
    const { sandbox, site } = await sandboxSite({ options: { failureMessage: true } });
    const [one, two] = [browser(), browser()];
    const first = sandbox.consent((await one.open(site.loginUrl)).location, "harbour-coffee");
    expect((await one.open(first)).status).toBe(200);
    const second = sandbox.consent((await two.open(site.loginUrl)).location, "harbour-coffee");
    second.searchParams.set("code", first.searchParams.get("code") ?? "");
    expect((await two.open(second)).status).toBe(403);
    expect(site.errors).toEqual([]);
    const { session } = JSON.parse((await two.open(site.meUrl)).body);
    expect(session.messages).toEqual([expect.stringMatching(/start the login again/i)]);
  });

  test("that is declined answers 403 without a token request", async () => {
    const { sandbox, site } = await sandboxSite();
    const person = browser();
    await person.open(site.loginUrl);
    expect((await person.open(sandbox.decline())).status).toBe(403);
    expect(sandbox.tokenRequests()).toEqual([]);
  });
});

describe("the strategy", () => {
  test("has three names, is called retail-pos, and is passport-oauth2's", () => {
    const strategy = new Default({ ...APPLICATION, callbackURL: "https://app.example.net/cb" }, verify);
    expect([names.RetailPosStrategy, names.Strategy]).toEqual([Default, Default]);
    expect(strategy).toBeInstanceOf(OAuth2Strategy);
    expect(strategy.name).toBe("retail-pos");
  });

  test("takes a client, and connects its tokens", async () => {
    const service = fakeService();
    const store = memoryStore();
    const site = await loginSite(new Passport(), (callbackURL) => {
      const { authUrl, baseUrl, clientID: clientId, clientSecret } = APPLICATION;
      const { fetch } = service;
      const redirectUri = callbackURL;
      const client = retailPos({ authUrl, baseUrl, clientId, clientSecret, redirectUri, store, fetch });
      return new RetailPosStrategy({ client }, verify);
    });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(200);
    expect(service.seen[0]?.form.get("redirect_uri")).toBe(site.callbackUrl);
    const stored = await store.load("shop" as Parameters<typeof store.load>[0]);
    expect(stored).toMatchObject({ access: { value: "access-shop-1" }, refreshToken: "refresh-shop-1" });
  });
});

test("plain node:http will do: nothing of Express is needed", async () => {
  const service = fakeService();
  const callbackURL = "http://localhost/callback";
  type Done = (error: null, answer: unknown) => void;
  const store = {
    store: (_req: unknown, done: Done) => done(null, "a-state-of-the-store"),
    verify: (_req: unknown, state: string, done: Done) => done(null, state === "a-state-of-the-store"),
  };
  const passport = new Passport();
  passport.use(new RetailPosStrategy({ ...APPLICATION, fetch: service.fetch, callbackURL, store }, verify));
  const authenticate = passport.authenticate("retail-pos", { session: false });
  const { port, close } = await listen((req, res) =>
    authenticate(req, res, (error: unknown) => res.end(JSON.stringify({ error, user: Object(req).user }))),
  );
  onTestFinished(close);
  const person = browser();
  const { location } = await person.open(`http://127.0.0.1:${port}/login?next=/cart`);
  const { search } = approval(location, "shop");
  const repeated = `http://127.0.0.1:${port}/callback${search}&code=other`;
  expect((await person.open(repeated)).status).toBe(400);
  const answer = await person.open(`http://127.0.0.1:${port}/callback${search}`);
  expect(JSON.parse(answer.body)).toEqual({ user: { domainPrefix: "shop" } });
});

describe("two logins at once never meet", () => {
  const ways: [string, SiteSettings<RetailPosStrategy>][] = [
    ["by name", {}],
    ["by instance", { authenticate: (strategy, passport) => passport.authenticate(strategy) }],
  ];

  test.each(ways)(
    "%s: each endpoint saw only its own code, though the state store is slow",
    async (_, way) => {
      const slow = slowStates();
      const { service, site } = await fakeSite({ store: slow.store }, way);
      const [one, two] = [browser(), browser()];
      const toShop = approval((await one.open(site.loginUrl)).location, "shop");
      const toCafe = approval((await two.open(site.loginUrl)).location, "cafe");

      const atShop = one.open(toShop);
      await slow.asked(1);
      const atCafe = two.open(toCafe);
      await slow.asked(2);
      slow.answer(0); // the first one goes on after the second one has been here
      slow.answer(1);
      expect(JSON.parse((await atShop).body).user).toEqual({ domainPrefix: "shop" });
      expect(JSON.parse((await atCafe).body).user).toEqual({ domainPrefix: "cafe" });
      const sent = service.seen.map(({ url, form }) => [url, form.get("code")]);
      expect(sent.sort()).toEqual([
        ["https://cafe.example.com/api/1.0/token", "code-cafe"],
        ["https://shop.example.com/api/1.0/token", "code-shop"],
      ]);
    },
  );

  test.each(ways)("%s: each is answered, whichever token endpoint is the slower one", async (_, way) => {
    const { service, site } = await fakeSite({}, way);
    const [gate, arrived] = [later(), later()];
    service.always(async ({ retailer }, regular) => {
      if (retailer !== "shop") return regular();
      arrived.resolve();
      await gate.promise;
      return regular();
    });
    const [one, two] = [browser(), browser()];
    const toShop = approval((await one.open(site.loginUrl)).location, "shop");
    const toCafe = approval((await two.open(site.loginUrl)).location, "cafe");
    const atShop = one.open(toShop);
    await arrived.promise;
    expect(JSON.parse((await two.open(toCafe)).body).user).toEqual({ domainPrefix: "cafe" });
    expect((await browser().open(site.loginUrl)).status).toBe(302);
    gate.resolve();
    expect(JSON.parse((await atShop).body).user).toEqual({ domainPrefix: "shop" });
    expect(JSON.parse((await one.open(site.meUrl)).body).user).toEqual({ domainPrefix: "shop" });
    expect(JSON.parse((await two.open(site.meUrl)).body).user).toEqual({ domainPrefix: "cafe" });
  });

  test("and leave the shared _oauth2 as it was configured", async () => {
    const { site } = await fakeSite();
    const before = JSON.stringify(site.strategy["_oauth2"]);
    const person = browser();
    await person.open(approval((await person.open(site.loginUrl)).location, "shop"));
    expect(JSON.stringify(site.strategy["_oauth2"])).toBe(before);
  });
});

/** The site beside the sandbox, its callback registered there. */
async function sandboxSite(settings: SiteSettings<RetailPosStrategy> = {}) {
  let sandbox!: Sandbox;
  const start = async (callbackURL: string) => {
    sandbox = await startSandbox({ redirectUri: callbackURL });
    onTestFinished(sandbox.close);
    const { authUrl, baseUrl, application } = sandbox;
    const { clientId: clientID, clientSecret } = application;
    return new RetailPosStrategy({ authUrl, baseUrl, clientID, clientSecret, callbackURL }, verify);
  };
  const site = await loginSite(new Passport(), start, settings);
  return { sandbox, site };
}

async function fakeSite(options: object = {}, settings: SiteSettings<RetailPosStrategy> = {}) {
  const service = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy({ ...APPLICATION, fetch: service.fetch, callbackURL, ...options }, verify);
  return { service, site: await loginSite(new Passport(), make, settings) };
}

/** A state store whose every verify waits until the test lets it answer. */
function slowStates() {
  const waiting: (() => void)[] = [];
  const arrivals = [later(), later()];
  let made = 0;
  type Done = (error: unknown, answer: unknown, state?: unknown) => void;
  const store = {
    store: (_req: unknown, done: Done) => setImmediate(done, null, `state-of-login-${++made}`),
    verify: (_req: unknown, _state: string, done: Done) => {
      arrivals[waiting.push(() => done(null, true)) - 1]?.resolve();
    },
  };
  return {
    store,
    asked: (count: number) => arrivals[count - 1]?.promise,
    answer: (index: number) => waiting[index]?.(),
  };
}
