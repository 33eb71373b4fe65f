import nock from "nock";
import { afterEach, describe, expect, test } from "vitest";
import { personalToken } from "../client/personal-token.js";
import { retailPos } from "../retail-pos.js";
import { memoryStore } from "../store/memory-store.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import type { RetailPosOptions } from "./options.js";

nock.restore(); // importing nock switches it on

afterEach(() => {
  nock.cleanAll();
  nock.restore();
});

describe("an option that is wrong is a TypeError naming it:", () => {
  const rows: Array<{ name: string; option: keyof RetailPosOptions; value: unknown }> = [
    { name: "no text", option: "authUrl", value: 5 },
    { name: "http", option: "authUrl", value: "http://auth.example" },
    { name: "a URL object with http", option: "authUrl", value: new URL("http://auth.example") },
    { name: "a URL object with a query", option: "authUrl", value: new URL("https://auth.example/?a=b") },
    { name: "a password", option: "authUrl", value: "https://user:password@auth.example" },
    { name: "absent", option: "baseUrl", value: undefined },
    { name: "no placeholder", option: "baseUrl", value: "https://shop.retail.example" },
    { name: "http", option: "baseUrl", value: "http://{domain_prefix}.retail.example" },
    { name: "absent", option: "clientId", value: undefined },
    { name: "absent", option: "clientSecret", value: undefined },
    { name: "/connect at its end", option: "authUrl", value: "https://auth.example/connect" },
    { name: "http", option: "redirectUri", value: "http://app.example/callback" },
    { name: "a desktop application's", option: "redirectUri", value: "com.example.app:/callback" },
    { name: "JavaScript", option: "redirectUri", value: "javascript:alert(1)" },
    ...(["clientId", "clientSecret", "redirectUri", "scope"] as const).flatMap((option) => [
      { name: "null", option, value: null },
      { name: "empty", option, value: "" },
      { name: "blank", option, value: " \n" },
      { name: "a number", option, value: 5 },
      { name: "an array", option, value: ["https://app.example"] },
    ]),
    { name: "relative", option: "redirectUri", value: "/callback" },
    { name: "a fragment", option: "redirectUri", value: "https://app.example/callback#a" },
    { name: "a space in front", option: "redirectUri", value: " https://app.example/callback" },
    { name: "a newline behind", option: "redirectUri", value: "https://app.example/callback\n" },
    {
      name: "a URL object, which may spell it otherwise",
      option: "redirectUri",
      value: new URL("https://app.example"),
    },
    { name: "null", option: "store", value: null },
    { name: "an empty object", option: "store", value: {} },
    { name: "no remove", option: "store", value: { load: async () => undefined, save: async () => true } },
    { name: "a Map", option: "store", value: new Map() },
    { name: "a function that makes one", option: "store", value: memoryStore },
    ...(["lock", "fetch", "clock", "observe", "acceptRetailer"] as const).flatMap((option) => [
      { name: "null", option, value: null },
      { name: "an object", option, value: {} },
      { name: "a text", option, value: "now" },
      { name: "a number", option, value: 5 },
    ]),
    ...(["renewEarlyMs", "cacheMs", "timeoutMs"] as const).flatMap((option) => [
      { name: "negative", option, value: -1 },
      { name: "not a number", option, value: Number.NaN },
      { name: "endless", option, value: Number.POSITIVE_INFINITY },
      { name: "a text", option, value: "1000" },
      { name: "null", option, value: null },
      { name: "a bigint", option, value: 1000n },
    ]),
    { name: "zero", option: "timeoutMs", value: 0 },
    { name: "longer than a timer can wait", option: "timeoutMs", value: 2 ** 31 },
    { name: "empty", option: "userAgent", value: "" },
    { name: "a second header", option: "userAgent", value: "app\r\nX-Evil: 1" },
    { name: "no Latin letters", option: "userAgent", value: "магазин" },
    { name: "a number", option: "userAgent", value: 5 },
  ];

  for (const { name, option, value } of rows) {
    test(`${option}: ${name}`, () => {
      const make = () => retailPos({ ...options(), [option]: value } as RetailPosOptions);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(new RegExp(`\\b${option}\\b`));
    });
  }

  for (const value of [undefined, null, "https://auth.example"]) {
    test(`all of them: ${value}`, () => {
      expect(() => retailPos(value as unknown as RetailPosOptions)).toThrow(TypeError);
    });
  }
});

describe("an option that has to be given and is not", () => {
  for (const [option, variable] of [
    ["baseUrl", "RETAIL_POS_BASE_URL"],
    ["clientId", "RETAIL_POS_CLIENT_ID"],
    ["clientSecret", "RETAIL_POS_CLIENT_SECRET"],
  ] as const) {
    test(`is a TypeError that says so, and where settingsFromEnv() would take it from: ${option}`, () => {
      const { [option]: _, ...others } = options();
      const expected = new RegExp(
        `^${option} must .*; none was given \\(settingsFromEnv\\(\\) reads ${variable}\\)$`,
      );
      expect(() => retailPos(others as RetailPosOptions)).toThrow(expected);
      expect(() => retailPos({ ...options(), [option]: undefined as never })).toThrow(expected);
      expect(() => retailPos({ ...options(), [option]: 5 as never })).not.toThrow(/none was given/);
    });
  }
});

describe("an option by a wrong name is a TypeError that says the right one:", () => {
  const names: Record<string, string> = {
    tokenStore: "store",
    token_store: "store",
    clientID: "clientId",
    client_id: "clientId",
    client_secret: "clientSecret",
    CLIENT_SECRET: "clientSecret",
    redirect_uri: "redirectUri",
    redirectURI: "redirectUri",
    redirectUrl: "redirectUri",
    callbackURL: "redirectUri",
    callbackUrl: "redirectUri",
    authURL: "authUrl",
    authorizationURL: "authUrl",
    baseURL: "baseUrl",
    base_url: "baseUrl",
    scopes: "scope",
    timeout: "timeoutMs",
    timeoutMS: "timeoutMs",
    renewEarly: "renewEarlyMs",
    renewEarlyMS: "renewEarlyMs",
    cache: "cacheMs",
    useragent: "userAgent",
    "user-agent": "userAgent",
    observer: "observe",
    cleintId: "clientId",
    clientSecrt: "clientSecret",
    stor: "store",
    sotre: "store",
    acceptRetailers: "acceptRetailer",
    fetcher: "fetch",
  };
  for (const [wrong, right] of Object.entries(names)) {
    test(`${wrong}, for ${right}`, () => {
      const given = { ...options(), [wrong]: "canary" };
      expect(() => retailPos(given)).toThrow(TypeError);
      expect(() => retailPos(given)).toThrow(
        new RegExp(`^${wrong} is no option; it is called ${right} here$`),
      );
    });
  }
});

describe("a mistake of the first hour is a TypeError that says what to do:", () => {
  const noScheme = "must begin with https:// (on a loopback host, http:// is accepted too)";
  const lineBreak = "must not contain a line break; read from a file, it needs .trim()";
  const rows: Array<[wrong: Record<string, unknown>, message: string]> = [
    [{ authUrl: "auth.example" }, `authUrl ${noScheme}`],
    [{ authUrl: "localhost:4010" }, `authUrl ${noScheme}`],
    [{ baseUrl: "{domain_prefix}.retail.example" }, `baseUrl ${noScheme}`],
    [{ redirectUri: "localhost:3000/callback" }, `redirectUri ${noScheme}`],
    [{ redirectUri: "/callback" }, `redirectUri ${noScheme}`],
    [{ authUrl: "https://auth.example/connect/" }, "authUrl must be without /connect, which is appended"],
    [
      { baseUrl: "https://retail.example" },
      "baseUrl must be a text that contains {domain_prefix} exactly once",
    ],
    [{ clientId: "the-application\n" }, `clientId ${lineBreak}`],
    [{ clientSecret: "secret\n" }, `clientSecret ${lineBreak}`],
    [{ clientSecret: "sec\r\nret" }, `clientSecret ${lineBreak}`],
    [{ redirectUri: "https://app.example/callback\n" }, `redirectUri ${lineBreak}`],
    [{ authUrl: "https://auth.example\n" }, `authUrl ${lineBreak}`],
    [{ tokenStore: memoryStore() }, "tokenStore is no option; it is called store here"],
    [
      { scope: ["products:read", "sales:read"] },
      'scope must be one text with a space between scopes, as in "products:read sales:read"',
    ],
    [{ lock: Promise.resolve() }, "lock must be a function, not a promise"],
    [{ fetch: [] }, "fetch must be a function, not a list"],
  ];
  test.each(rows)("%j", (wrong, message) => {
    const make = () => retailPos({ ...options(), ...wrong });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(new RegExp(`^${message.replace(/[()./{}]/g, "\\$&")}$`));
  });
});

describe("a program in which nobody logs in", () => {
  const { authUrl: _, redirectUri: __, ...others } = options();
  const refused = { ...others, fetch: () => Promise.reject(new Error("sent")) };

  test("has no authorizationUrl, and no exchange: a TypeError that names what they need; nothing is sent", async () => {
    const pos = retailPos(refused);
    expect(() => pos.authorizationUrl("12345678")).toThrow(TypeError);
    expect(() => pos.authorizationUrl("12345678")).toThrow(
      /^authUrl and redirectUri are needed for a login; none was given \(settingsFromEnv\(\) reads RETAIL_POS_AUTH_URL and RETAIL_POS_REDIRECT_URI\)$/,
    );
    const exchange = pos.exchange("shop", "code");
    await expect(exchange).rejects.toThrow(TypeError);
    await expect(exchange).rejects.toThrow(
      /^authUrl and redirectUri are needed for a login; none was given \(settingsFromEnv\(\) reads RETAIL_POS_AUTH_URL and RETAIL_POS_REDIRECT_URI\)$/,
    );
  });

  test("names the one that is missing", async () => {
    const pos = retailPos({ ...refused, authUrl: "https://auth.example" });
    expect(() => pos.authorizationUrl("12345678")).toThrow(/^redirectUri is needed/);
    await expect(pos.exchange("shop", "code")).rejects.toThrow(/^redirectUri is needed/);
    const other = retailPos({ ...refused, redirectUri: "https://app.example/callback" });
    expect(() => other.authorizationUrl("12345678")).toThrow(/^authUrl is needed/);
  });

  test("may bring the redirect_uri with each login instead", () => {
    const pos = retailPos({ ...refused, authUrl: "https://auth.example" });
    const redirectUri = "https://app.example/callback";
    expect(pos.authorizationUrl("12345678", { redirectUri }).searchParams.get("redirect_uri")).toBe(
      redirectUri,
    );
  });

  test("calls the API with tokens of another program's logins", async () => {
    const pos = retailPos({ ...others, fetch: async () => new Response("tea") });
    const access = { value: "a" };
    await pos.connect({
      domainPrefix: "shop" as DomainPrefix,
      access,
      refreshToken: "r",
      issuedAt: 0,
      version: "1",
    });
    expect(await (await pos.retailer("shop").fetch("api/products")).text()).toBe("tea");
  });
});

test("a wrong option's value is not repeated", () => {
  const canary = "canary-5f1e";
  const wrong: Array<Partial<RetailPosOptions>> = [
    { authUrl: `https://user:${canary}@auth.example` },
    { authUrl: `https://auth.example/?key=${canary}` },
    { baseUrl: `https://user:${canary}@retail.example/{domain_prefix}` },
    { redirectUri: `/callback?key=${canary}` },
    { userAgent: `app\n${canary}` },
    { clientId: `${canary}\n` },
    { clientSecret: `${canary}\r\n` },
    { authUrl: `${canary}.example` },
    { baseUrl: `{domain_prefix}.${canary}.example` },
    { redirectUri: `${canary}:3000/callback` },
    { scope: [canary] as unknown as string },
    { clientSecret: [canary] as unknown as string },
  ];
  for (const one of wrong) {
    expect(() => retailPos({ ...options(), ...one })).toThrow(TypeError);
    expect(() => retailPos({ ...options(), ...one })).not.toThrow(new RegExp(canary));
  }
});

describe("options are accepted:", () => {
  const rows: Array<{ name: string; accepted: Partial<RetailPosOptions> }> = [
    { name: "the five that are required", accepted: {} },
    { name: "a URL object as authUrl", accepted: { authUrl: new URL("https://auth.example/oauth") } },
    {
      name: "http on this machine",
      accepted: { authUrl: "http://localhost:1", baseUrl: "http://127.0.0.1:2/{domain_prefix}" },
    },
    { name: "zero where zero means something", accepted: { renewEarlyMs: 0, cacheMs: 0 } },
    {
      name: "a redirect_uri on this machine",
      accepted: { redirectUri: "http://localhost:3000/callback" },
    },
    { name: "a scope", accepted: { scope: "products:read sales:read" } },
    { name: "what a store's factory brings along", accepted: { migrate: async () => {} } as never },
    { name: "what resembles none of ours", accepted: { name: "x", url: "y", pool: 1, keys: [] } as never },
    {
      name: "another name without a value",
      accepted: { tokenStore: undefined, client_id: undefined } as never,
    },
    { name: "a redirect_uri with a query", accepted: { redirectUri: "https://app.example/callback?a=b" } },
    { name: "undefined, which is the default", accepted: allUndefined() },
  ];
  for (const { name, accepted } of rows) {
    test(name, () => {
      expect(() => retailPos({ ...options(), ...accepted })).not.toThrow();
    });
  }
});

describe("authorizationUrl (4.1)", () => {
  test("names the four parameters and nothing else", () => {
    const url = retailPos(options()).authorizationUrl("state-of-8+");
    expect(url).toBeInstanceOf(URL);
    expect(url.origin + url.pathname).toBe("https://auth.example/connect");
    expect([...url.searchParams].sort()).toEqual([
      ["client_id", "client id & more"],
      ["redirect_uri", "https://app.example/callback"],
      ["response_type", "code"],
      ["state", "state-of-8+"],
    ]);
  });

  for (const redirectUri of [
    "https://APP.example:443/callback",
    "https://app.example",
    "https://app.example/callback?a=b&c=%20d",
    "https://app.example/a/../callback",
    "http://localhost:3000/callback",
  ]) {
    test(`sends redirectUri exactly as given: ${redirectUri}`, () => {
      const url = retailPos({ ...options(), redirectUri }).authorizationUrl("12345678");
      expect(url.searchParams.get("redirect_uri")).toBe(redirectUri);
    });
  }

  test("sends a login's own redirect_uri and scope in place of the configured ones", () => {
    const pos = retailPos({ ...options(), scope: "configured" });
    const own = { redirectUri: "https://other.example/callback", scope: "own" };
    const sent = (url: URL) => [url.searchParams.get("redirect_uri"), url.searchParams.get("scope")];
    expect(sent(pos.authorizationUrl("12345678"))).toEqual(["https://app.example/callback", "configured"]);
    expect(sent(pos.authorizationUrl("12345678", own))).toEqual([own.redirectUri, own.scope]);
    expect(sent(pos.authorizationUrl("12345678", { redirectUri: undefined, scope: undefined }))).toEqual([
      "https://app.example/callback",
      "configured",
    ]);
  });

  for (const [option, value] of [
    ["redirectUri", "http://app.example/callback"],
    ["redirectUri", "javascript:alert(1)"],
    ["redirectUri", ""],
    ["redirectUri", 5],
    ["scope", ""],
    ["scope", ["a"]],
  ] as const) {
    test(`throws a TypeError for a login's own ${option} that is ${JSON.stringify(value)}`, async () => {
      const pos = retailPos({ ...options(), fetch: () => Promise.reject(new Error("sent")) });
      const login = () => pos.authorizationUrl("12345678", { [option]: value });
      expect(login).toThrow(TypeError);
      expect(login).toThrow(new RegExp(`^${option} must`));
      if (option === "scope") return;
      const exchange = pos.exchange("shop", "code", { redirectUri: value as string });
      await expect(exchange).rejects.toThrow(TypeError);
      await expect(exchange).rejects.toThrow(/^redirectUri must/);
    });
  }

  test("keeps a state that needs encoding", () => {
    const state = "a b&c=d#é+%2f";
    expect(retailPos(options()).authorizationUrl(state).searchParams.get("state")).toBe(state);
  });

  test("is a new URL every time, so that nobody changes the next one", () => {
    const pos = retailPos(options());
    pos.authorizationUrl("12345678").searchParams.set("client_id", "other");
    expect(pos.authorizationUrl("12345678").searchParams.get("client_id")).toBe("client id & more");
  });

  for (const { name, state } of [
    { name: "empty", state: "" },
    { name: "7 characters", state: "1234567" },
    { name: "undefined", state: undefined },
    { name: "null", state: null },
    { name: "a number of 8 digits", state: 12345678 },
    { name: "an array of 8", state: ["1", "2", "3", "4", "5", "6", "7", "8"] },
    { name: "an object", state: { length: 8 } },
  ]) {
    test(`throws a TypeError for a state that is ${name}`, () => {
      expect(() => retailPos(options()).authorizationUrl(state as string)).toThrow(TypeError);
    });
  }
});

test("without an own fetch, the one that is global when the call is made is used", async () => {
  const pos = retailPos(options());
  nock.activate();
  const token = nock("https://shop.retail.example")
    .post("/api/1.0/token")
    .reply(200, { access_token: "access", refresh_token: "refresh" });
  const set = await pos.exchange("shop", "code");
  expect(set.access).toEqual({ value: "access" });
  expect(token.isDone()).toBe(true);
});

test("an own fetch is called as a plain function: that of some platforms wants no other `this`", async () => {
  const callers: unknown[] = [];
  async function fetch(this: unknown) {
    callers.push(this);
    return Response.json({ access_token: "access", refresh_token: "refresh" });
  }
  const pos = retailPos({ ...options(), fetch });
  await pos.connect(await pos.exchange("shop", "code"));
  await pos.retailer("shop").fetch("/api/products");
  const personal = {
    baseUrl: "https://{domain_prefix}.retail.example",
    domainPrefix: "shop",
    token: "personal",
  };
  await personalToken({ ...personal, fetch }).fetch("/api/products");
  expect(callers).toEqual([undefined, undefined, undefined]);
});

test.each([
  () => new Date(),
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => "noon",
  () => undefined,
])("a clock that is none is refused: %s", (clock) => {
  expect(() => retailPos({ ...options(), clock: clock as never })).toThrow(
    new TypeError("clock must return epoch milliseconds, as Date.now does"),
  );
});

test("clock tells the time of everything", async () => {
  const clock = () => 5_000;
  const fetch = async () =>
    Response.json({ access_token: "access", refresh_token: "refresh", expires_in: 10 });
  const set = await retailPos({ ...options(), clock, fetch }).exchange("shop", "code");
  expect(set).toMatchObject({ issuedAt: 5_000, access: { expiresAt: 15_000 } });
});

function options(): RetailPosOptions {
  return {
    authUrl: "https://auth.example",
    baseUrl: "https://{domain_prefix}.retail.example",
    clientId: "client id & more",
    clientSecret: "secret",
    redirectUri: "https://app.example/callback",
  };
}

/** What a caller in JavaScript passes who has not configured anything. */
function allUndefined(): Partial<RetailPosOptions> {
  const names = [
    "authUrl",
    "redirectUri",
    "scope",
    "acceptRetailer",
    "store",
    "lock",
    "renewEarlyMs",
    "cacheMs",
    "timeoutMs",
    "userAgent",
    "fetch",
    "clock",
    "observe",
  ];
  return Object.fromEntries(names.map((name) => [name, undefined]));
}
