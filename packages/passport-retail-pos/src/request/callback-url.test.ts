import { retailPos } from "@retail-pos/core";
import type { Express } from "express";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { APPLICATION, approval, loginSite, type SiteSettings } from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";
import { absoluteCallbackUrl, hostOf } from "./callback-url.js";

const proxied = { "x-forwarded-proto": "https", "x-forwarded-host": "shop.example.net" };
const trusting = (value: unknown) => (app: Express) => void app.set("trust proxy", value);

const hostileCallbackUrls = [
  ["a script", "javascript:alert(1)//callback"],
  ["data", "data:text/html,callback"],
  ["a file", "file:///callback"],
  ["an application's own scheme", "myapp://callback"],
  ["plain http on a public host", "http://app.example.net/callback"],
  ["plain http on a host whose name begins like this machine's", "http://127.0.0.1.example.net/callback"],
  ["plain http with this machine as the user name", "http://localhost@app.example.net/callback"],
  ["https with a user name", "https://somebody@app.example.net/callback"],
] as const;

type Done = (error: null, answer: unknown) => void;
const ownStates = {
  store: (_req: unknown, done: Done) => done(null, "a-state-of-the-store"),
  verify: (_req: unknown, state: string, done: Done) => done(null, state === "a-state-of-the-store"),
};

describe("a callbackURL that is no address for codes is a TypeError that names it:", () => {
  test.each(hostileCallbackUrls)("%s", (_, callbackURL) => {
    const { clientID: clientId, ...rest } = APPLICATION;
    const client = retailPos({ ...rest, clientId, redirectUri: "https://app.example.net/callback" });
    for (const options of [
      { ...APPLICATION, callbackURL },
      { client, callbackURL },
    ]) {
      const make = () => new RetailPosStrategy(options as never, () => null);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(/callbackURL/);
    }
  });
});

test("the host of a cookie is the one that Fastify trusts, as the redirect_uri's is", () => {
  const headers = { host: "127.0.0.1:4000", "x-forwarded-host": "localhost:8080" };
  const req = { raw: { socket: {} }, url: "/start", protocol: "http", host: "localhost:8080", headers };
  expect(hostOf(req as never, false)).toBe("localhost:8080");
  expect(absoluteCallbackUrl("/callback", req as never, false)).toBe("http://localhost:8080/callback");
});

test("a relative callbackURL may lead to the redirectUri of the client", async () => {
  const { clientID: clientId, ...rest } = APPLICATION;
  const service = fakeService();
  const site = await loginSite(new Passport(), (redirectUri) => {
    const client = retailPos({ ...rest, clientId, redirectUri, fetch: service.fetch });
    return new RetailPosStrategy({ client, callbackURL: "/callback" }, ({ domainPrefix }) => ({
      domainPrefix,
    }));
  });
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  expect((await person.open(back)).status).toBe(200);
});

describe("an absolute callbackURL is sent exactly as given, both times", () => {
  test.each([
    "http://127.0.0.1:3000/callback",
    "https://app.example.net/callback?tenant=1&b=%20",
    "https://APP.example.net:443/a/../callback",
    "https://app.example.net",
    "http://localhost:3000/callback",
    "http://[::1]:3000/callback",
  ])("%s", async (callbackURL) => {
    const { sentAsRedirectUri } = await login({ callbackURL }, { configure: trusting(true) }, proxied);
    expect(sentAsRedirectUri).toEqual([callbackURL, callbackURL]);
  });
});

describe("a relative callbackURL is resolved against the address the browser used", () => {
  const rows: [name: string, trust: unknown, headers: Record<string, string>, expected: string][] = [
    ["no proxy", false, {}, "http://{host}/callback"],
    ["forged headers, no proxy trusted", false, proxied, "http://{host}/callback"],
    ["a trusted proxy", true, proxied, "https://shop.example.net/callback"],
    ["a trusted loopback proxy", "loopback", proxied, "https://shop.example.net/callback"],
    ["one trusted hop", 1, proxied, "https://shop.example.net/callback"],
    [
      "a trusted proxy that names the protocol alone",
      true,
      { "x-forwarded-proto": "https" },
      "https://{host}/callback",
    ],
    [
      "a trusted proxy on this machine that names http",
      true,
      { "x-forwarded-proto": "http", "x-forwarded-host": "localhost:8080" },
      "http://localhost:8080/callback",
    ],
    [
      "two proxies",
      true,
      { "x-forwarded-proto": "https, http", "x-forwarded-host": "shop.example.net, inner" },
      "https://shop.example.net/callback",
    ],
    [
      "one trusted hop, which appends to what a stranger sent",
      1,
      { "x-forwarded-proto": "http, https", "x-forwarded-host": "evil.example, shop.example.net" },
      "https://shop.example.net/callback",
    ],
    [
      "one trusted hop, which appends to the host and sets the protocol",
      1,
      { "x-forwarded-proto": "https", "x-forwarded-host": "a.evil.example,evil.example , shop.example.net" },
      "https://shop.example.net/callback",
    ],
    [
      "two trusted hops, which both append",
      2,
      {
        "x-forwarded-proto": "http, https, http",
        "x-forwarded-host": "evil.example, shop.example.net, inner",
      },
      "https://shop.example.net/callback",
    ],
    ["two trusted hops, of which one sets both headers", 2, proxied, "https://shop.example.net/callback"],
    [
      "trusted addresses, behind a stranger's that is none",
      "loopback, 10.0.0.0/8",
      {
        "x-forwarded-for": "203.0.113.9, 10.1.2.3",
        "x-forwarded-proto": "http, https, http",
        "x-forwarded-host": "evil.example, shop.example.net, inner",
      },
      "https://shop.example.net/callback",
    ],
    [
      "a trusted proxy with a port",
      true,
      { ...proxied, "x-forwarded-host": "shop.example.net:8443" },
      "https://shop.example.net:8443/callback",
    ],
    [
      "forged headers from an address that is not the trusted proxy's",
      "10.9.8.7",
      proxied,
      "http://{host}/callback",
    ],
  ];
  test.each(rows)("%s", async (_, trust, headers, expected) => {
    const { sentAsRedirectUri, host } = await login(
      { callbackURL: "/callback" },
      { configure: trusting(trust) },
      headers,
    );
    const uri = expected.replace("{host}", host);
    expect(sentAsRedirectUri).toEqual([uri, uri]);
  });

  test("a whole one is taken behind proxies that name several hosts", async () => {
    const headers = { ...proxied, "x-forwarded-host": "www.example.com, internal.example.com" };
    const { sentAsRedirectUri } = await login({ proxy: true }, {}, headers);
    expect(sentAsRedirectUri).toEqual([
      expect.stringMatching(/^http:.*\/callback$/),
      expect.stringMatching(/^http:.*\/callback$/),
    ]);
  });

  test("the strategy's own `proxy` option trusts as well", async () => {
    const { sentAsRedirectUri } = await login({ callbackURL: "/callback", proxy: true }, {}, proxied);
    expect(sentAsRedirectUri).toEqual([
      "https://shop.example.net/callback",
      "https://shop.example.net/callback",
    ]);
  });

  test("one without a leading slash lies beside the login", async () => {
    const { sentAsRedirectUri, host } = await login({ callbackURL: "callback?a=b" });
    expect(sentAsRedirectUri[0]).toBe(`http://${host}/callback?a=b`);
  });

  test("a callback there is recognised", async () => {
    const { site } = await open({ callbackURL: "/callback" });
    expect((await browser().open(`${site.callbackUrl}?state=abc`)).status).toBe(400);
  });
});

describe("the redirect_uri of a login is used again for its code, whatever the callback's Host says", () => {
  const rows: [name: string, headers: Record<string, string>][] = [
    ["another host", { "x-forwarded-host": "other.example.net", "x-forwarded-proto": "https" }],
    ["plain http", { "x-forwarded-host": "shop.example.net", "x-forwarded-proto": "http" }],
    ["a user name", { "x-forwarded-host": "shop.example.net@evil.example", "x-forwarded-proto": "https" }],
    ["none", {}],
  ];
  for (const store of [undefined, ownStates]) {
    test.each(rows)(
      `%s, with ${store ? "a state store of the application's own" : "a session"}`,
      async (_, headers) => {
        const { service, site } = await open(
          { callbackURL: "/callback", store },
          { configure: trusting(true) },
        );
        const person = browser();
        const sent = await person.open(site.loginUrl, { headers: proxied });
        const { search } = approval(sent.location, "shop");
        expect((await person.open(`${site.callbackUrl}${search}`, { headers })).status).toBe(200);
        expect(service.seen[0]?.form.get("redirect_uri")).toBe("https://shop.example.net/callback");
      },
    );
  }

  test("also if only the login's route names a callbackURL of its own", async () => {
    const { service, site } = await open(
      {},
      { loginOptions: { callbackURL: "https://other.example.net/cb" } },
    );
    const person = browser();
    const { search } = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(`${site.callbackUrl}${search}`)).status).toBe(200);
    expect(service.seen[0]?.form.get("redirect_uri")).toBe("https://other.example.net/cb");
  });
});

describe("with a relative callbackURL a login does not start", () => {
  test.each([
    ["a user name", "shop.example.net@evil.example"],
    ["a user name and a password", "a:b@evil.example"],
    ["a path", "evil.example/x"],
    ["a query", "evil.example?x"],
    ["a fragment", "evil.example#x"],
    ["a backslash", "evil.example\\x"],
    ["a space", "evil .example"],
    ["a port that is none", "shop.example.net:99999"],
    ["letters for a port", "shop.example.net:a"],
  ])("if the host that the browser used has %s: 400", async (_, host) => {
    const { site } = await open({ callbackURL: "/callback" }, { configure: trusting(true) });
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": host };
    const answer = await browser().open(site.loginUrl, { headers });
    expect([answer.status, answer.location]).toEqual([400, ""]);
    expect(String(site.errors[0])).toMatch(/Host header/);
    expect(String(site.errors[0])).not.toContain("evil");
  });

  test.each<[string, object, Record<string, string>, number]>([
    [
      "another host before the proxy's",
      { proxy: true },
      { "x-forwarded-host": "evil.example, shop.example.net" },
      400,
    ],
    [
      "the same host twice",
      { proxy: true },
      { "x-forwarded-host": ", Shop.example.net, shop.example.net" },
      302,
    ],
  ])("if all proxies are trusted and the headers name %s: %#", async (_, options, headers, status) => {
    const { site } = await open({ callbackURL: "/callback", ...options });
    const answer = await browser().open(site.loginUrl, { headers: { ...proxied, ...headers } });
    expect(answer.status).toBe(status);
    if (status === 302) expect(redirectUriIn(answer)).toBe("https://shop.example.net/callback");
    else expect(String(site.errors[0])).toMatch(/several hosts: give a whole callbackURL/);
  });

  test("over plain http on a public host; the error says what to do about a proxy", async () => {
    const { site } = await open({ callbackURL: "/callback" }, { configure: trusting(true) });
    const headers = { ...proxied, "x-forwarded-proto": "http" };
    const answer = await browser().open(site.loginUrl, { headers });
    expect([answer.status, answer.location]).toEqual([400, ""]);
    expect(String(site.errors[0])).toMatch(/TypeError: callbackURL .*trust proxy.* must be https/);
  });
});

describe("a proxy that passes on what a stranger sent", () => {
  test.each([
    ["http, and the proxy appends nothing", "http", "shop.example.net", 400],
    ["a host that is none before the proxy's", "https", "a@evil.example, shop.example.net", 302],
    ["an empty host before the proxy's", "https", ", shop.example.net", 302],
    ["a protocol that is none before the proxy's", "javascript, https", "shop.example.net", 302],
    ["http on this machine, and the proxy's host", "http", "localhost, shop.example.net", 400],
  ])("%s: never the stranger's address, never 500", async (_, proto, host, status) => {
    const { site } = await open({ callbackURL: "/callback" }, { configure: trusting(1) });
    const headers = { "x-forwarded-proto": proto, "x-forwarded-host": host };
    const answer = await browser().open(site.loginUrl, { headers });
    expect(answer.status).toBe(status);
    if (status === 302) expect(redirectUriIn(answer)).toBe("https://shop.example.net/callback");
  });
});

describe("callbackURL of one login", () => {
  test.each(hostileCallbackUrls)(
    "that is %s is a TypeError, and nobody is redirected",
    async (_, callbackURL) => {
      const { site } = await open({}, { loginOptions: { callbackURL } });
      const answer = await browser().open(site.loginUrl);
      expect([answer.status, answer.location]).toEqual([500, ""]);
      expect(site.errors).toEqual([expect.any(TypeError)]);
      expect(String(site.errors[0])).toMatch(/callbackURL/);
    },
  );

  test("stands in for the strategy's, both times", async () => {
    const { sentAsRedirectUri } = await login(
      {},
      { options: { callbackURL: "https://other.example.net/cb" } },
    );
    expect(sentAsRedirectUri).toEqual(["https://other.example.net/cb", "https://other.example.net/cb"]);
  });

  test("may be relative", async () => {
    const { sentAsRedirectUri, host } = await login(
      {},
      { options: { callbackURL: "/callback?of=this-login" } },
    );
    expect(sentAsRedirectUri).toEqual(Array(2).fill(`http://${host}/callback?of=this-login`));
  });

  test("stands in for the client's redirectUri", async () => {
    const { sentAsRedirectUri } = await login(
      { client: true },
      { options: { callbackURL: "https://other.example.net/cb" } },
    );
    expect(sentAsRedirectUri).toEqual(["https://other.example.net/cb", "https://other.example.net/cb"]);
  });

  test("leaves the next login alone", async () => {
    let own: string | undefined = "https://other.example.net/cb";
    const { site } = await open(
      {},
      {
        authenticate: (_, passport) => (req, res, next) =>
          passport.authenticate("retail-pos", own === undefined ? {} : { callbackURL: own })(req, res, next),
      },
    );
    const first = await browser().open(site.loginUrl);
    own = undefined;
    const second = await browser().open(site.loginUrl);
    expect([first, second].map(redirectUriIn)).toEqual(["https://other.example.net/cb", site.callbackUrl]);
  });
});

describe("with a client", () => {
  test("its redirectUri is sent, both times", async () => {
    const { sentAsRedirectUri } = await login({ client: true });
    expect(sentAsRedirectUri).toEqual([
      "https://app.example.net/of-the-client",
      "https://app.example.net/of-the-client",
    ]);
  });

  test("a callbackURL beside it stands in for it", async () => {
    const { sentAsRedirectUri, host } = await login({ client: true, callbackURL: "/callback" });
    expect(sentAsRedirectUri).toEqual([`http://${host}/callback`, `http://${host}/callback`]);
  });
});

function redirectUriIn({ location }: { location: string }): string | null {
  return new URL(location).searchParams.get("redirect_uri");
}

/** One whole login: what was sent as redirect_uri to the consent page (4.1) and to the token endpoint (4.2). */
async function login(
  options: object,
  settings: SiteSettings<RetailPosStrategy> = {},
  headers: Record<string, string> = {},
) {
  const { service, site } = await open(options, settings);
  const person = browser();
  const sent = await person.open(site.loginUrl, { headers });
  // The registered address leads here, whatever it is called.
  const { search } = approval(sent.location, "shop");
  const back = await person.open(`${site.callbackUrl}${search}`, { headers });
  expect(back.status).toBe(200);
  const sentAsRedirectUri = [redirectUriIn(sent), service.seen[0]?.form.get("redirect_uri")];
  return { sentAsRedirectUri, host: new URL(site.origin).host };
}

/** `client: true` in the options stands for a client with a redirectUri of its own. */
async function open(
  options: { client?: boolean; callbackURL?: string; store?: typeof ownStates | undefined },
  settings: SiteSettings<RetailPosStrategy> = {},
) {
  const service = fakeService();
  const { clientID: clientId, ...rest } = APPLICATION;
  const redirectUri = "https://app.example.net/of-the-client";
  const client = retailPos({ ...rest, clientId, redirectUri, fetch: service.fetch });
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      options.client
        ? { ...(options as object), client }
        : { ...APPLICATION, fetch: service.fetch, callbackURL, ...(options as object) },
      ({ domainPrefix }) => ({ domainPrefix }),
    );
  return { service, site: await loginSite(new Passport(), make, settings) };
}
