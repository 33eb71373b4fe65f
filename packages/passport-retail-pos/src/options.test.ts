import { memoryStore, retailPos } from "@retail-pos/core";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../test/support/browser.js";
import { APPLICATION, approval, loginSite, type SiteSettings } from "../../../test/support/login-site.js";
import { fakeService } from "../../core/testing/fake-service.js";
import { RetailPosStrategy } from "./index.js";

const callbackURL = "https://app.example.net/callback";
const passportStyle = { ...APPLICATION, callbackURL };
const { clientID: clientId, ...others } = APPLICATION;
const client = retailPos({ ...others, clientId, redirectUri: callbackURL });

describe("a wrong option is a TypeError that names it, at construction", () => {
  const rows: [name: string, options: unknown, message: RegExp][] = [
    ["no options", undefined, /options/],
    ["null", null, /options/],
    ["no authUrl", { ...passportStyle, authUrl: undefined }, /authUrl/],
    ["authUrl over http", { ...passportStyle, authUrl: "http://login.example.com" }, /authUrl/],
    ["no baseUrl", { ...passportStyle, baseUrl: undefined }, /baseUrl/],
    ["baseUrl without its placeholder", { ...passportStyle, baseUrl: "https://example.com" }, /baseUrl/],
    ["no clientID", { ...passportStyle, clientID: undefined }, /clientID/],
    ["an empty clientID", { ...passportStyle, clientID: " " }, /clientID/],
    ["no clientSecret", { ...passportStyle, clientSecret: undefined }, /clientSecret/],
    ["an empty clientSecret", { ...passportStyle, clientSecret: "" }, /clientSecret/],
    ["no callbackURL", { ...passportStyle, callbackURL: undefined }, /callbackURL/],
    ["an empty callbackURL", { ...passportStyle, callbackURL: "" }, /callbackURL/],
    ["a callbackURL with a fragment", { ...passportStyle, callbackURL: `${callbackURL}#a` }, /callbackURL/],
    ["a callbackURL beside the client that is none", { client, callbackURL: "a b" }, /callbackURL/],
    ["timeoutMs as a text", { ...passportStyle, timeoutMs: "1000" }, /timeoutMs/],
    ["fetch that is none", { ...passportStyle, fetch: {} }, /fetch/],
    ["clock that is none", { client, clock: 12 }, /clock/],
    ["an empty sessionKey", { client, sessionKey: "" }, /sessionKey/],
    ["a client that is none", { client: {} }, /client/],
    ["a client that is a promise", { client: Promise.resolve(client) }, /client/],
    ["a client that is null", { client: null }, /client/],
    ["a client and what one is made of", { client, ...passportStyle }, /client/],
    ["a client and a tokenStore", { client, tokenStore: memoryStore() }, /tokenStore/],
    ["state: false", { ...passportStyle, state: false }, /state/],
    ["state: false beside a client", { client, state: false }, /state/],
    ["pkce: true", { ...passportStyle, pkce: true }, /pkce/],
    ["pkce: S256", { client, pkce: "S256" }, /pkce/],
    ["a token store as store", { ...passportStyle, store: memoryStore() }, /store.*tokenStore/],
    ["a token store as store beside a client", { client, store: memoryStore() }, /store/],
    ["half a state store", { client, store: { store: () => {} } }, /store/],
    [
      "a state store as tokenStore",
      { ...passportStyle, tokenStore: { store() {}, verify() {} } },
      /tokenStore/,
    ],
    ["a tokenStore that is none", { ...passportStyle, tokenStore: "redis" }, /tokenStore/],
  ];
  test.each(rows)("%s", (_, options, message) => {
    const make = () => new RetailPosStrategy(options as never, () => ({}) as Express.User);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/the-client-secret/);
  });

  test.each<[name: string, options: object, message: string]>([
    [
      "clientId",
      { ...passportStyle, clientID: undefined, clientId },
      "clientId is no option; it is called clientID here",
    ],
    ["clientId beside a client", { client, clientId }, "clientId is no option; it is called clientID here"],
    [
      "client: undefined",
      { client: undefined },
      "client must be what retailPos() returns; undefined was given",
    ],
    [
      "no clientID",
      { ...passportStyle, clientID: undefined },
      "clientID must be a non-empty text; none was given (settingsFromEnv() reads RETAIL_POS_CLIENT_ID)",
    ],
    [
      "no callbackURL",
      { ...passportStyle, callbackURL: undefined },
      "callbackURL must be a URL, exactly as registered; none was given (settingsFromEnv() reads RETAIL_POS_REDIRECT_URI)",
    ],
    [
      "no authUrl",
      { ...passportStyle, authUrl: undefined },
      "authUrl is needed for a login; none was given (settingsFromEnv() reads RETAIL_POS_AUTH_URL)",
    ],
    [
      "a host for a callbackURL",
      { ...passportStyle, callbackURL: "app.example.net/callback" },
      "callbackURL must begin with https://, or with / if it is relative; it has no fragment",
    ],
    [
      "a host and a port for a callbackURL",
      { ...passportStyle, callbackURL: "localhost:3000/callback" },
      "callbackURL must begin with https:// (on a loopback host, http:// is accepted too)",
    ],
    [
      "a secret with a line break",
      { ...passportStyle, clientSecret: "the-client-secret\n" },
      "clientSecret must not contain a line break; read from a file, it needs .trim()",
    ],
    [
      "redirectUri",
      { ...passportStyle, callbackURL: undefined, redirectUri: callbackURL },
      "redirectUri is no option; it is called callbackURL here",
    ],
    [
      "authorizationURL, passport-oauth2's",
      { ...passportStyle, authorizationURL: "https://login.example.com" },
      "authorizationURL is no option; it is called authUrl here",
    ],
    ["scopes", { client, scopes: ["a"] }, "scopes is no option; it is called scope here"],
    ["timeout", { ...passportStyle, timeout: 1 }, "timeout is no option; it is called timeoutMs here"],
  ])("a mistake of the first hour says what to do: %s", (_, options, message) => {
    const make = () => new RetailPosStrategy(options as never, () => ({}) as Express.User);
    expect(make).toThrow(new TypeError(message));
  });

  test("`state: false` says what it would allow", () => {
    const make = () => new RetailPosStrategy({ client, state: false } as never, () => ({}) as Express.User);
    expect(make).toThrow(/state .{20,}/);
  });
});

describe("what works", () => {
  test.each<[string, object]>([
    ["state: true", { state: true }],
    ["an option of a subclass's own", { tokenURL: "https://login.example.com/token", tenants: 3 }],
    ["pkce: false", { pkce: false }],
    ["store: true, passport-oauth2's way to say the session", { store: true }],
    ["everything undefined", { store: undefined, scope: undefined, sessionKey: undefined, clock: undefined }],
  ])("%s", async (_, options) => {
    const { site } = await open(options);
    const person = browser();
    expect((await person.open(approval((await person.open(site.loginUrl)).location, "shop"))).status).toBe(
      200,
    );
  });

  test("strategy.client is the one given, or one that is made", () => {
    expect(new RetailPosStrategy({ client }, () => null).client).toBe(client);
    const { client: made } = new RetailPosStrategy(passportStyle, () => null);
    expect(made.retailer("shop").baseUrl).toBe("https://shop.example.com");
    expect(made.authorizationUrl("12345678").searchParams.get("client_id")).toBe(clientId);
  });

  test("a client without a redirectUri will do beside a callbackURL", async () => {
    const { clientID: clientId, ...rest } = APPLICATION;
    const service = fakeService();
    const client = retailPos({ ...rest, clientId, fetch: service.fetch });
    const make = (callbackURL: string) =>
      new RetailPosStrategy({ client, callbackURL }, ({ domainPrefix }) => ({ domainPrefix }));
    const site = await loginSite(new Passport(), make);
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(200);
    expect(service.seen[0]?.form.get("redirect_uri")).toBe(site.callbackUrl);
    expect(() => new RetailPosStrategy({ client }, () => null)).toThrow(/redirectUri/);
  });

  test("the options given are not changed", () => {
    const given = Object.freeze({ ...passportStyle, scope: Object.freeze(["a", "b"]) as string[] });
    new RetailPosStrategy(given, () => null);
    expect(given).toEqual({ ...passportStyle, scope: ["a", "b"] });
  });

  test("core's options reach the client: tokenStore, lock, observe, userAgent", async () => {
    const tokenStore = memoryStore();
    const events: string[] = [];
    const locked: string[] = [];
    const { service, site } = await open({
      tokenStore,
      userAgent: "the-application/1.0",
      observe: ({ type }: { type: string }) => void events.push(type),
      lock: (key: string, work: () => Promise<unknown>) => {
        locked.push(key);
        return work();
      },
    });
    const person = browser();
    await person.open(approval((await person.open(site.loginUrl)).location, "shop"));
    expect(await tokenStore.load("shop" as never)).toMatchObject({ refreshToken: "refresh-shop-1" });
    expect(events).toEqual(["token_request", "connected"]);
    expect(service.seen[0]?.headers.get("user-agent")).toBe("the-application/1.0");
    await site.strategy.client.tokens("shop").token({ rejected: "access-shop-1" });
    expect(locked).toEqual(["the-application/login/shop", "the-application/shop"]);
  });

  test.each<[string, object, object]>([
    ["two client ids", { clientID: "one" }, { clientID: "two" }],
    ["two services", {}, { authUrl: "https://staging.example.com" }],
    ["two APIs", {}, { baseUrl: "https://{domain_prefix}.staging.example.com" }],
    ["two keys of one client", {}, { sessionKey: "another" }],
  ])("cookies of logins of %s have different names", async (_, one, other) => {
    const names = new Set<string>();
    for (const options of [one, one, other]) {
      const { site } = await open(options);
      const person = browser();
      await person.open(site.loginUrl);
      names.add(person.cookies().slice(0, "retail-pos.12345678".length));
    }
    expect([...names]).toEqual(Array(2).fill(expect.stringMatching(/^retail-pos\.[\w-]{8}$/)));
  });

  test('with store: "session" logins under way lie in the session, under sessionKey', async () => {
    const { site } = await open({ sessionKey: "logins under way", store: "session" });
    const person = browser();
    await person.open(site.loginUrl);
    const { session } = JSON.parse((await person.open(site.meUrl)).body);
    expect(Object.keys(session).sort()).toEqual(["cookie", "logins under way"]);
  });
});

describe("scope is sent only if given", () => {
  test.each<[string, object, SiteSettings<RetailPosStrategy>, string | null]>([
    ["not given", {}, {}, null],
    ["a text", { scope: "products" }, {}, "products"],
    ["a list", { scope: ["products", "sales"] }, {}, "products sales"],
    ["a list and a separator", { scope: ["products", "sales"], scopeSeparator: "," }, {}, "products,sales"],
    ["none of one login", { scope: "products" }, { options: { scope: [] } }, null],
    ["of one login", { scope: "products" }, { options: { scope: ["sales"] } }, "sales"],
  ])("%s", async (_, options, settings, expected) => {
    const { site } = await open(options, settings);
    const { location } = await browser().open(site.loginUrl);
    expect(new URL(location).searchParams.get("scope")).toBe(expected);
  });
});

async function open(options: object, settings: SiteSettings<RetailPosStrategy> = {}) {
  const service = fakeService();
  const make = (callback: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL: callback, ...options },
      ({ domainPrefix }) => ({ domainPrefix }),
    );
  return { service, site: await loginSite(new Passport(), make, settings) };
}
