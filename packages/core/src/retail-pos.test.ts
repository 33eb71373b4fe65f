import { describe, expect, test } from "vitest";
import { failureOf, json, oauthError, settled, start, T0 } from "../testing/fake-service.js";
import { memoryStore } from "./store/memory-store.js";
import { parseDomainPrefix } from "./vocabulary/domain-prefix.js";
import {
  ClientRefusedError,
  InvalidDomainPrefixError,
  NotConnectedError,
  RateLimitedError,
  TokenEndpointError,
  TokenResponseError,
} from "./vocabulary/errors.js";
import type { RetailPosEvent } from "./vocabulary/events.js";
import type { TokenSet } from "./vocabulary/token-set.js";

const SHOP = parseDomainPrefix("shop");
const HOUR_MS = 3_600_000;
const notLabels = [
  "",
  "a.b",
  "shop ",
  " shop",
  "shop\n",
  "evil.example/",
  "evil#",
  "a@evil",
  "%2f",
  "ｓｈｏｐ",
  "x".repeat(64),
];

describe("authorizationUrl", () => {
  test("is {auth_url}/connect with the four parameters of 4.1 and no others", () => {
    const url = start().pos.authorizationUrl("state-1234");
    expect(url).toBeInstanceOf(URL);
    expect(url.origin + url.pathname).toBe("https://login.example.com/connect");
    expect([...url.searchParams].sort()).toEqual([
      ["client_id", "the-application"],
      ["redirect_uri", "https://app.example.net/callback"],
      ["response_type", "code"],
      ["state", "state-1234"],
    ]);
  });

  for (const authUrl of [
    "https://login.example.com/base",
    "https://login.example.com/base/",
    new URL("https://login.example.com/base"),
  ]) {
    test(`keeps the path of authUrl: ${authUrl} (${typeof authUrl})`, () => {
      const url = start({ authUrl }).pos.authorizationUrl("state-1234");
      expect(url.origin + url.pathname).toBe("https://login.example.com/base/connect");
    });
  }

  test("carries redirectUri and state as they are, whatever characters they hold", () => {
    const redirectUri = "https://app.example.net/a b/callback?x=1&y=%2B+";
    const { pos } = start({ redirectUri: redirectUri.replace(" ", "%20") });
    const { searchParams } = pos.authorizationUrl("&=+# %ü?12");
    expect(searchParams.get("redirect_uri")).toBe("https://app.example.net/a%20b/callback?x=1&y=%2B+");
    expect(searchParams.get("state")).toBe("&=+# %ü?12");
  });

  for (const state of ["", "1234567", undefined, null, 12_345_678, ["12345678"]]) {
    test(`refuses the state ${JSON.stringify(state)} with a TypeError`, () => {
      expect(() => start().pos.authorizationUrl(state as string)).toThrow(TypeError);
    });
  }
});

describe("exchange", () => {
  test("is one form-encoded POST with exactly the parameters of 4.2, nothing in the query", async () => {
    const { pos, service } = start();
    await pos.exchange("shop", "the code+/=");
    expect(service.seen).toHaveLength(1);
    const [seen] = service.seen;
    expect(seen).toMatchObject({ url: "https://shop.example.com/api/1.0/token", method: "POST" });
    expect(seen?.headers.get("content-type")).toMatch(/^application\/x-www-form-urlencoded/);
    expect(Object.fromEntries(seen?.form ?? [])).toEqual({
      code: "the code+/=",
      client_id: "the-application",
      client_secret: "the-client-secret",
      grant_type: "authorization_code",
      redirect_uri: "https://app.example.net/callback",
    });
  });

  test("gives the token set, and stores nothing", async () => {
    const store = memoryStore();
    const { events, pos, value } = start({ store });
    const tokens = await pos.exchange("SHOP", "code");
    expect(tokens).toEqual({
      domainPrefix: "shop",
      access: { value: "access-shop-1", expiresAt: T0 + 86_400_000 },
      refreshToken: "refresh-shop-1",
      issuedAt: T0,
      version: expect.any(String),
    });
    expect(await store.load(SHOP)).toBeUndefined();
    expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
    expect(events).toEqual([]);
  });

  const failures: Array<{
    name: string;
    answer: () => Response | Promise<Response>;
    error: new (...rest: never[]) => Error;
  }> = [
    { name: "a used code", answer: () => oauthError("invalid_grant"), error: TokenEndpointError },
    {
      name: "400 without a body",
      answer: () => new Response(null, { status: 400 }),
      error: TokenEndpointError,
    },
    { name: "wrong credentials", answer: () => oauthError("invalid_client", 401), error: ClientRefusedError },
    { name: "500", answer: () => new Response("", { status: 500 }), error: TokenEndpointError },
    {
      name: "a redirect",
      answer: () => Response.redirect("https://evil.example/", 307),
      error: TokenEndpointError,
    },
    { name: "429", answer: () => new Response("", { status: 429 }), error: RateLimitedError },
    {
      name: "the network",
      answer: () => Promise.reject(new TypeError("fetch failed")),
      error: TokenEndpointError,
    },
    { name: "HTML", answer: () => new Response("<html>"), error: TokenResponseError },
    { name: "no refresh token (R4)", answer: () => json({ access_token: "a" }), error: TokenResponseError },
    {
      name: "an empty refresh token",
      answer: () => json({ access_token: "a", refresh_token: "" }),
      error: TokenResponseError,
    },
    {
      name: "a number as refresh token",
      answer: () => json({ access_token: "a", refresh_token: 5 }),
      error: TokenResponseError,
    },
    { name: "no access token", answer: () => json({ refresh_token: "r" }), error: TokenResponseError },
    {
      name: "the domain_prefix of another retailer",
      answer: () => json({ access_token: "a", refresh_token: "r", domain_prefix: "other" }),
      error: TokenResponseError,
    },
  ];
  for (const { name, answer, error } of failures) {
    test(`is a typed error and not retried: ${name}`, async () => {
      const { pos, service } = start();
      service.next(answer);
      const failure = await failureOf(pos.exchange("shop", "code"));
      expect(failure).toBeInstanceOf(error);
      expect(failure).toMatchObject({ domainPrefix: "shop" });
      await settled();
      expect(service.seen).toHaveLength(1);
    });
  }

  test("says of a refused code that the login has to start again", async () => {
    const { pos, service } = start();
    service.next(() => oauthError("invalid_grant"));
    const failure = await failureOf(pos.exchange("shop", "code"));
    expect(failure).toMatchObject({
      error: "invalid_grant",
      endpointStatus: 400,
      message: expect.stringMatching(/again/i),
    });
  });

  test("of a text that is no domain prefix sends nothing", async () => {
    const { pos, service } = start();
    for (const text of [...notLabels, undefined, null, 5, ["shop"], { toString: () => "shop" }]) {
      expect(await failureOf(pos.exchange(text as string, "code"))).toBeInstanceOf(InvalidDomainPrefixError);
    }
    expect(service.seen).toEqual([]);
  });

  test("without a code sends nothing", async () => {
    const { pos, service } = start();
    for (const code of ["", undefined, null, ["a", "b"]]) {
      expect(await failureOf(pos.exchange("shop", code as string))).toBeInstanceOf(TypeError);
    }
    expect(service.seen).toEqual([]);
  });

  test("of two retailers at the same time posts each code to its own retailer", async () => {
    const { pos, service } = start();
    const [first, second] = [service.holdNext(), service.holdNext()];
    const both = Promise.all([pos.exchange("shop", "shop-code"), pos.exchange("other", "other-code")]);
    await settled();
    second.release();
    await settled();
    first.release();
    expect((await both).map(({ access }) => access.value)).toEqual(["access-shop-1", "access-other-1"]);
    expect(service.seen.map(({ url, form }) => [url, form.get("code")])).toEqual([
      ["https://shop.example.com/api/1.0/token", "shop-code"],
      ["https://other.example.com/api/1.0/token", "other-code"],
    ]);
  });
});

describe("connect and disconnect", () => {
  test("connect keeps the login, replaces what is stored, and is observed", async () => {
    const store = memoryStore();
    const { events, login, value } = start({ store });
    await login();
    expect(await value()).toBe("access-shop-1");
    const second = await login();
    expect(await value()).toBe("access-shop-2");
    expect(await store.load(SHOP)).toEqual(second);
    const event = { type: "connected", domainPrefix: "shop", at: T0 };
    expect(events).toEqual([event, event]);
  });

  test("connect takes a set that has been through JSON", async () => {
    const { pos, value } = start();
    await pos.connect(JSON.parse(JSON.stringify(await pos.exchange("shop", "code"))));
    expect(await value()).toBe("access-shop-1");
  });

  test("connect refuses what is no token set with a TypeError or a typed error, and stores nothing", async () => {
    const store = memoryStore();
    const { events, pos } = start({ store });
    const good = await pos.exchange("shop", "code");
    const bad: unknown[] = [
      undefined,
      null,
      "tokens",
      {},
      { ...good, domainPrefix: "a.b" },
      { ...good, access: undefined },
      { ...good, access: { value: "two words" } },
      { ...good, refreshToken: "" },
      { ...good, issuedAt: "now" },
      { ...good, version: undefined },
    ];
    for (const tokens of bad) await failureOf(pos.connect(tokens as TokenSet));
    expect(await store.load(SHOP)).toBeUndefined();
    expect(events).toEqual([]);
  });

  test("connect keeps what it checked, also of tokens whose getters change their minds", async () => {
    const store = memoryStore();
    const { pos } = start({ store });
    const seen = new Set<PropertyKey>();
    const changing = (object: object): never =>
      new Proxy(object, {
        get(target, name) {
          const other = seen.has(name);
          seen.add(name);
          const value = Reflect.get(target, name);
          if (other) return name === "access" ? { value: "b\r\n" } : "another";
          return typeof value === "object" ? changing(value) : value;
        },
      }) as never;
    const tokens = {
      domainPrefix: "shop",
      access: { value: "a" },
      refreshToken: "r",
      issuedAt: T0,
      version: "v",
    };
    await pos.connect(changing(tokens));
    expect(await store.load(parseDomainPrefix("shop"))).toMatchObject({ ...tokens, version: /^v/ });
    expect(await store.load(parseDomainPrefix("another"))).toBeUndefined();
  });

  test("connect that the store does not take is an error, and not observed as connected", async () => {
    const { events, pos } = start({ store: { ...memoryStore(), save: async () => false } });
    const tokens = await pos.exchange("shop", "code");
    expect(await failureOf(pos.connect(tokens))).toMatchObject({ code: "store_failed", operation: "save" });
    expect(events.map(({ type }) => type)).toEqual(["store_failed"]);
  });

  test("disconnect forgets the retailer, and only that one, and is observed", async () => {
    const { events, login, pos, service, value } = start();
    await login("shop");
    await login("other");
    await pos.disconnect("SHOP");
    expect(await failureOf(value())).toBeInstanceOf(NotConnectedError);
    expect((await pos.tokens("other").token()).value).toBe("access-other-1");
    expect(events.at(-1)).toEqual({ type: "disconnected", domainPrefix: "shop", at: T0 });
    expect(service.seen).toHaveLength(2);
  });

  test("disconnect of a retailer that is not connected is no error", async () => {
    await expect(start().pos.disconnect("shop")).resolves.toBeUndefined();
  });

  test("no text that is no domain prefix reaches the store or the service", async () => {
    const keys: unknown[] = [];
    const note = (key: unknown) => keys.push(key) > 0;
    const { pos, service } = start({
      store: {
        load: async (key) => void note(key) as undefined,
        save: async ({ domainPrefix }) => note(domainPrefix),
        remove: async (key) => void note(key),
      },
    });
    for (const text of notLabels) {
      expect(() => pos.tokens(text)).toThrow(InvalidDomainPrefixError);
      expect(() => pos.retailer(text)).toThrow(InvalidDomainPrefixError);
      expect(await failureOf(pos.disconnect(text))).toBeInstanceOf(InvalidDomainPrefixError);
    }
    expect(keys).toEqual([]);
    expect(service.seen).toEqual([]);
  });
});

describe("tokens and retailer", () => {
  test("take a prefix in any letter case and mean the same retailer", async () => {
    const { login, pos } = start();
    await login("Shop");
    expect((await pos.tokens("sHOP").token()).value).toBe("access-shop-1");
    expect(pos.retailer("SHOP")).toMatchObject({ domainPrefix: "shop", baseUrl: "https://shop.example.com" });
    expect((await pos.retailer("SHOP").token()).value).toBe("access-shop-1");
  });

  test("each retailer has its own client, however many there are", async () => {
    const { pos } = start();
    const names = Array.from({ length: 2_500 }, (_, index) => `shop-${index}`);
    for (const name of [...names, ...names.reverse(), ...names]) {
      const baseUrl = `https://${name}.example.com`;
      expect(pos.retailer(name)).toMatchObject({ domainPrefix: name, baseUrl });
    }
  });

  test("a client from before goes along with disconnect and login, and so does one asked for anew", async () => {
    const { pos } = start();
    const before = pos.retailer("shop");
    const set = (value: string): TokenSet => ({
      domainPrefix: SHOP,
      access: { value, expiresAt: T0 + 86_400_000 },
      refreshToken: "refresh",
      issuedAt: T0,
      version: value,
    });
    for (const value of ["access-1", "access-2"]) {
      await pos.connect(set(value));
      for (const client of [before, pos.retailer("shop")]) {
        expect((await client.token()).value).toBe(value);
      }
      await pos.disconnect("shop");
      for (const client of [before, pos.retailer("shop")]) {
        expect(await failureOf(client.token())).toBeInstanceOf(NotConnectedError);
      }
    }
  });

  test("what a caller changes of a client is that caller's alone", async () => {
    const { pos } = start();
    const mine = pos.retailer("shop");
    mine.fetch = async () => new Response("mine");
    expect(pos.retailer("shop").fetch).not.toBe(mine.fetch);
  });

  test("of a retailer that is not connected: NotConnectedError, and nothing is sent", async () => {
    const { pos, service, value } = start();
    expect(await failureOf(value())).toMatchObject({
      code: "not_connected",
      status: 401,
      domainPrefix: "shop",
    });
    expect(await failureOf(pos.retailer("shop").fetch("/api/products"))).toBeInstanceOf(NotConnectedError);
    expect(service.seen).toEqual([]);
  });

  test("a renewal is observed with what it took and whether it rotated", async () => {
    const { events, login, service, time, value } = start();
    await login();
    time.now += 86_400_000;
    service.next((_, regular) => {
      time.now += HOUR_MS; // by the application's clock
      return regular();
    });
    await value();
    const { tookMs, ...event } = events.at(-1) as Extract<RetailPosEvent, { type: "renewed" }>;
    expect(event).toEqual({ type: "renewed", domainPrefix: "shop", at: time.now, rotated: true });
    expect(tookMs).toBeGreaterThanOrEqual(0);
    expect(tookMs).toBeLessThan(HOUR_MS); // by the real clock
  });

  test("a refresh is one form-encoded POST with exactly the parameters of 4.3, nothing in the query", async () => {
    const { login, service, time, value } = start({ userAgent: "my-app/1" });
    await login();
    time.now += 86_400_000;
    await value();
    const seen = service.seen.at(-1);
    expect(seen).toMatchObject({ url: "https://shop.example.com/api/1.0/token", method: "POST" });
    expect(seen?.headers.get("content-type")).toMatch(/^application\/x-www-form-urlencoded/);
    expect(seen?.headers.get("user-agent")).toBe("my-app/1");
    expect(Object.fromEntries(seen?.form ?? [])).toEqual({
      refresh_token: "refresh-shop-1",
      client_id: "the-application",
      client_secret: "the-client-secret",
      grant_type: "refresh_token",
    });
  });
});
