import { memoryStore, type RetailPosOptions, type TokenStore } from "@retail-pos/core";
import { describe, expect, test } from "vitest";
import { crippled, foreignStates, hostilePrefixes } from "../../../test/support/hostile-callbacks.js";
import { later, oauthError } from "../../core/testing/fake-service.js";
import { CALLBACK, MINUTE_MS, SECRET, type Site, site, webBrowser } from "../testing/site.js";
import { webLogin } from "./index.js";

describe("a login", () => {
  test("goes to the consent page and back, keeps the tokens, and ends in onLogin's answer", async () => {
    const store = memoryStore();
    const app = site({ client: { store } });
    const person = webBrowser();
    const sent = await person.open(app.start, "https://app.example.net/login");
    const asked = new URL(sent.headers.get("location") ?? "");
    expect([sent.status, `${asked.origin}${asked.pathname}`]).toEqual([
      302,
      "https://login.example.com/connect",
    ]);
    expect(Object.fromEntries(asked.searchParams)).toEqual({
      response_type: "code",
      client_id: "the-application",
      redirect_uri: CALLBACK,
      state: expect.stringMatching(/^[\w-]{43}$/),
    });
    const back = await person.begin(app, "shop", { state: { cart: [1, 2] } });
    const answer = await person.open(app.callback, back);
    expect(await answer.json()).toEqual({ domainPrefix: "shop", state: { cart: [1, 2] } });
    expect(await store.load("shop" as never)).toMatchObject({ refreshToken: "refresh-shop-1" });
    expect(app.service.seen[0]?.form.get("redirect_uri")).toBe(CALLBACK);
  });

  test("has a redirect_uri and a scope of its own if it was given them; both times", async () => {
    const app = site();
    const person = webBrowser();
    const redirectUri = "https://other.example.net/cb";
    const sent = await person.open(
      (request) => app.start(request, { redirectUri, scope: "products sales" }),
      "https://app.example.net/login",
    );
    const { searchParams } = new URL(sent.headers.get("location") ?? "");
    expect([searchParams.get("redirect_uri"), searchParams.get("scope")]).toEqual([
      redirectUri,
      "products sales",
    ]);
    const query = new URLSearchParams({
      code: "c",
      domain_prefix: "shop",
      state: searchParams.get("state") ?? "",
    });
    expect((await person.open(app.callback, `${CALLBACK}?${query}`)).status).toBe(200);
    expect(app.service.seen[0]?.form.get("redirect_uri")).toBe(redirectUri);
  });

  test("has a cookie for https alone, however the redirect address is written", async () => {
    for (const redirectUri of [CALLBACK, CALLBACK.replace("https", "HTTPS")]) {
      const app = site({ client: { redirectUri } });
      const sent = await app.start(new Request("https://app.example.net/login"));
      expect(sent.headers.getSetCookie()).toEqual([expect.stringMatching(/^__Host-.*; Secure/)]);
    }
  });

  test("works behind a proxy that ends TLS, whose headers nobody trusts", async () => {
    const app = site();
    const person = webBrowser();
    const back = await person.begin(app);
    const inside = `http://10.0.0.7:3000/callback${back.search}`;
    const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http", host: "evil.example" };
    const cookie = [...person.cookies].map((pair) => pair.join("=")).join("; ");
    const answer = await app.callback(new Request(inside, { headers: { ...headers, cookie } }));
    expect(answer.status).toBe(200);
    expect(app.service.seen[0]?.form.get("redirect_uri")).toBe(CALLBACK);
  });

  test.each<[string, Partial<RetailPosOptions>]>([
    ["a client id", { clientId: "another-application" }],
    ["a service", { authUrl: "https://login.staging.example.com" }],
    ["an API", { baseUrl: "https://{domain_prefix}.staging.example.com" }],
    ["a port of the service's host", { authUrl: "https://login.example.com:8443" }],
  ])("of %s is none of another's, at the same secret", async (_, client) => {
    const [one, two] = [site(), site({ client })];
    const person = webBrowser();
    const back = await person.begin(one);
    expect((await person.open(two.callback, back)).status).toBe(403);
    expect(two.failures).toMatchObject([{ code: "state_unknown" }]);
    expect((await person.open(one.callback, back)).status).toBe(200);
  });
});

describe("verify", () => {
  test("is asked before the tokens are kept, and onLogin after; what it promises comes as verified", async () => {
    const happened: string[] = [];
    const kept = memoryStore();
    const store: TokenStore = {
      ...kept,
      save: (...sets) => {
        happened.push("tokens kept");
        return kept.save(...sets);
      },
    };
    const app = site({
      client: { store },
      login: {
        verify: async ({ login, state }) => {
          happened.push(`verify ${login.domainPrefix} ${state}`);
          return { id: 7 };
        },
        onLogin: ({ verified }) => {
          happened.push("onLogin");
          return Response.json(verified);
        },
      },
    });
    const person = webBrowser();
    const answer = await person.open(app.callback, await person.begin(app, "shop", { state: "own" }));
    expect(await answer.json()).toEqual({ id: 7 });
    expect(happened).toEqual(["verify shop own", "tokens kept", "onLogin"]);
  });

  test.each([[false], [null], [undefined], [0], [""]])(
    "that answers %o refuses the login, and nothing is kept",
    async (verdict) => {
      const store = memoryStore();
      const app = site({ client: { store }, login: { verify: async () => verdict } });
      const person = webBrowser();
      const back = await person.begin(app);
      expect((await person.open(app.callback, back)).status).toBe(403);
      expect(app.failures).toMatchObject([{ code: "login_refused", status: 403 }]);
      expect(await store.load("shop" as never)).toBeUndefined();
      expect(person.cookies.size).toBe(0);
    },
  );

  class OtherResponse extends Response {} // as @hono/node-server makes the global one
  test.each([new Response(null, { status: 403 }), new OtherResponse(), new Error("blocked")])(
    "that answers with a %s for a refusal lets nobody in: callback() throws",
    async (verdict) => {
      const store = memoryStore();
      const app = site({ client: { store }, login: { verify: () => verdict } });
      const person = webBrowser();
      const back = await person.begin(app);
      await expect(person.open(app.callback, back)).rejects.toThrow(/a falsy value refuses/);
      expect(await store.load("shop" as never)).toBeUndefined();
    },
  );

  test("that throws is what callback() throws; the login is spent and nothing is kept", async () => {
    const [store, boom] = [memoryStore(), new Error("of verify")];
    const app = site({ client: { store }, login: { verify: () => Promise.reject(boom) } });
    const person = webBrowser();
    const back = await person.begin(app);
    await expect(person.open(app.callback, back)).rejects.toBe(boom);
    expect(await store.load("shop" as never)).toBeUndefined();
    expect((await person.open(app.callback, back)).status).toBe(403);
    expect(app.service.seen).toHaveLength(1);
  });

  test("onLogin that throws is what callback() throws; the tokens are kept", async () => {
    const [store, boom] = [memoryStore(), new Error("of onLogin")];
    const onLogin = () => {
      throw boom;
    };
    const app = site({ client: { store }, login: { onLogin } });
    const person = webBrowser();
    await expect(person.open(app.callback, await person.begin(app))).rejects.toBe(boom);
    expect(await store.load("shop" as never)).toBeDefined();
  });
});

describe("what strangers send to the callback is refused with a reason, sends nothing and spends nothing:", () => {
  test.each(crippled)("%s", async (_, without, query) => {
    const { app, person, back } = await begun();
    const forged = new URL(back);
    forged.searchParams.delete(without);
    await expectRefusal(app, person, `${forged.href}&${query}`, 400, "invalid_callback");
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test.each(hostilePrefixes)("a domain prefix %s", async (_, prefix) => {
    const { app, person, back } = await begun();
    const forged = new URL(back);
    if (prefix === undefined) forged.searchParams.delete("domain_prefix");
    else forged.searchParams.set("domain_prefix", prefix);
    await expectRefusal(app, person, forged, 400, "invalid_domain_prefix");
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test.each(foreignStates)("a state that is %s", async (_, state, code) => {
    const { app, person, back } = await begun();
    const forged = new URL(back);
    if (state === undefined) forged.searchParams.delete("state");
    else forged.searchParams.set("state", state);
    await expectRefusal(app, person, forged, 403, code);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test.each([
    ["no state", "", "state_missing"],
    ["a state of nobody's", `&state=${"x".repeat(43)}`, "state_unknown"],
  ])("an error with %s: its words are in no message", async (_, state, code) => {
    const { app, person, back } = await begun();
    const words = "error=server_error&error_description=call+EVIL&error_uri=https://evil.example";
    await expectRefusal(app, person, `${CALLBACK}?${words}${state}`, 403, code);
    expect(JSON.stringify(app.failures)).not.toMatch(/evil/i);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test("somebody else's callback, and it is still good there", async () => {
    const { app, person: stranger, back } = await begun();
    const victim = webBrowser();
    await victim.begin(app);
    await expectRefusal(app, victim, back, 403, "state_unknown");
    await expectRefusal(app, webBrowser(), back, 403, "state_unknown");
    expect((await stranger.open(app.callback, back)).status).toBe(200);
  });
});

describe("an error of the service's, with a state of ours", () => {
  test("is authorization_failed, 502: it spends nothing, and its description is in no message", async () => {
    const { app, person, back } = await begun();
    const failed = `${back.href}&error=server_error&error_description=because+they+said`;
    expect((await person.open(app.callback, failed)).status).toBe(502);
    expect(app.failures).toMatchObject([
      { code: "authorization_failed", message: expect.stringContaining("server_error") },
    ]);
    expect(JSON.stringify(app.failures)).not.toMatch(/because/);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test("that says declined brings the service's own words; without our state it does not", async () => {
    const { app, person, back } = await begun();
    const words = "error=access_denied&error_description=only%0Aadmins";
    const state = back.searchParams.get("state");
    expect((await person.open(app.callback, `${CALLBACK}?${words}&state=${state}`)).status).toBe(403);
    expect((await person.open(app.callback, `${CALLBACK}?${words}`)).status).toBe(403);
    expect(app.failures).toMatchObject([
      { code: "access_denied", message: expect.stringMatching(/declined.*only admins/) },
      { code: "access_denied", message: expect.not.stringContaining("admins") },
    ]);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });
});

test.each(["error=", "error=&error_description="])(
  "an empty error is none: a good callback with %s logs in",
  async (query) => {
    const { app, person, back } = await begun();
    expect((await person.open(app.callback, `${back.href}&${query}`)).status).toBe(200);
  },
);

describe("a login is finished once", () => {
  test("by ten identical callbacks at once, and says so", async () => {
    const { app, person, back } = await begun();
    const answers = await Promise.all(Array.from({ length: 10 }, () => person.open(app.callback, back)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(403)]);
    expect(app.service.seen).toHaveLength(1);
    expect(app.failures[0]).toMatchObject({
      code: "state_unknown",
      message: expect.stringContaining("already used"),
    });
  });

  test("by two deployments on one store", async () => {
    const client = { store: memoryStore() };
    const [one, two] = [site({ client }), site({ client })];
    const person = webBrowser();
    const back = await person.begin(one);
    const cookie = [...person.cookies].map((pair) => pair.join("=")).join("; ");
    const answers = await Promise.all(
      [one, two].map((app) => app.callback(new Request(back, { headers: { cookie } }))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
    expect(one.service.seen.length + two.service.seen.length).toBe(1);
  });

  test("not at all if the store cannot say; nothing is sent", async () => {
    const claim = () => Promise.reject(new Error("away"));
    const app = site({ client: { store: { ...memoryStore(), claim } } });
    const person = webBrowser();
    const back = await person.begin(app);
    expect((await person.open(app.callback, back)).status).toBe(503);
    expect(app.failures).toMatchObject([{ code: "store_failed", error: { operation: "claim" } }]);
    expect(app.service.seen).toEqual([]);
  });
});

describe("a browser that asks ahead of a visit gets 503, no-store, and no login changes:", () => {
  test.each<[string, Record<string, string>]>([
    ["a prefetch", { "sec-purpose": "prefetch" }],
    ["a prerendered page", { "sec-purpose": "prefetch;prerender" }],
    ["a prefetch through a proxy", { "sec-purpose": "prefetch;anonymous-client-ip" }],
    ["a prefetch of an older browser", { purpose: "prefetch" }],
    ["a prefetch of Turbo", { "x-sec-purpose": "prefetch" }],
    ["a prefetch of Next's <Link>", { "next-router-prefetch": "1", "sec-fetch-site": "same-origin" }],
    ["one of Next's other ways", { "next-router-prefetch": "3", "sec-fetch-site": "same-origin" }],
  ])("%s", async (_, headers) => {
    const { app, person, back } = await begun();
    for (let start = 0; start < 25; start += 1)
      await expectNotNow(person, app.start, "https://app.example.net/login", headers);
    await expectNotNow(person, app.callback, back, headers);
    expect([app.failures, app.service.seen]).toEqual([[], []]);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });
});

describe("a start that another host's page forces", () => {
  test.each([
    ["an image", "cross-site", "no-cors", "image"],
    ["an image on the application's own page", "same-origin", "no-cors", "image"],
    ["a fetch", "cross-site", "cors", "empty"],
    ["a frame", "cross-site", "navigate", "iframe"],
    ["an image on a neighbouring host", "same-site", "no-cors", "image"],
  ])("by %s is 503, and pushes no login out", async (_, site, mode, dest) => {
    const { app, person, back } = await begun();
    const headers = { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest };
    for (let start = 0; start < 15; start += 1)
      await expectNotNow(person, app.start, "https://app.example.net/login", headers);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test("by a WebSocket is 503, and pushes no login out", async () => {
    const { app, person, back } = await begun();
    for (let start = 0; start < 25; start += 1)
      await expectNotNow(person, app.start, "https://app.example.net/login", {
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      });
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test.each([
    ["a link elsewhere", "cross-site", "navigate", "document"],
    ["an address that was typed", "none", "navigate", "document"],
    ["a fetch of the application's own", "same-origin", "cors", "empty"],
    ["a link elsewhere, through a service worker", "cross-site", "navigate", "empty"],
    ["a frame of a neighbouring host", "same-site", "navigate", "iframe"],
    ["a visit through a proxy that adds Upgrade", "none", "navigate", "document", "", "websocket"],
    ["a purpose that is none of these", "none", "navigate", "document", "prefetched-by-nobody"],
  ])("is not one by %s", async (_, site, mode, dest, purpose = "", upgrade = "") => {
    const fetched = { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest };
    const headers = { ...fetched, purpose, upgrade };
    const [app, person] = [(await begun()).app, webBrowser()];
    const answer = await person.open(app.start, "https://app.example.net/login", { headers });
    expect([answer.status, person.cookies.size]).toEqual([302, 1]);
  });

  test("is not one by the service's redirect back", async () => {
    const { app, person, back } = await begun();
    const headers = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    expect((await person.open(app.callback, back, { headers })).status).toBe(200);
  });
});

const SAFARI =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15";

describe("a start by a navigation of another site", () => {
  const crossSite = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  };

  test("without a click evicts no other login, and starts one while there is room", async () => {
    const { app, person, back } = await begun();
    const statuses: number[] = [];
    for (let start = 0; start < 14; start += 1)
      statuses.push(
        (await person.open(app.start, "https://app.example.net/login", { headers: crossSite })).status,
      );
    expect(statuses).toEqual([...Array(9).fill(302), ...Array(5).fill(503)]);
    expect(person.cookies.size).toBe(10);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test("without a click takes the room of logins that are over", async () => {
    const { app, person } = await begun();
    for (let start = 0; start < 12; start += 1) await person.begin(app);
    app.time.now += 16 * MINUTE_MS;
    const answer = await person.open(app.start, "https://app.example.net/login", { headers: crossSite });
    expect([answer.status, person.cookies.size]).toEqual([302, 10]);
  });

  test.each([
    ["by a click", { ...crossSite, "sec-fetch-user": "?1" }],
    ["in Safari, which never says whether somebody has clicked,", { ...crossSite, "user-agent": SAFARI }],
  ])("%s evicts the oldest", async (_, headers) => {
    const { app, person, back } = await begun();
    for (let start = 0; start < 14; start += 1) {
      app.time.now += 1000;
      expect((await person.open(app.start, "https://app.example.net/login", { headers })).status).toBe(302);
    }
    expect((await person.open(app.callback, back)).status).toBe(403);
  });
});

describe("the handler of starts", () => {
  test.each<[string, (back: URL) => string, number]>([
    ["the service's answer, on another path", (back) => `/login${back.search}`, 200],
    [
      "the service's answer, on the callback's path without its beginning",
      (back) => `/callback/${back.search}`,
      200,
    ],
    ["the state of a login under way alone", (back) => `/login?state=${back.searchParams.get("state")}`, 400],
    ["a damaged callback", () => "/callback?error_code=12", 400],
    ["a damaged callback in capitals", () => "/CALLBACK/?lang=en", 400],
    ["an error", () => "/login?error=access_denied", 403],
  ])("takes %s for a callback", async (_, pathOf, status) => {
    const app = site({ client: { redirectUri: "https://app.example.net/prefix/callback" } });
    const person = webBrowser();
    const back = await person.begin(app);
    expect((await person.open(app.start, `https://app.example.net${pathOf(back)}`)).status).toBe(status);
    if (status !== 200) expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test.each(["", "?", "?returnTo=/cart", "?state=of-a-county", "?domain_prefix=shop", "?error="])(
    "starts a login with the query %j of the application's own",
    async (query) => {
      const answer = await webBrowser().open(site().start, `https://app.example.net/login${query}`);
      expect(answer.status).toBe(302);
    },
  );
});

test("a login needs no secret: processes with the same client secret finish each other's logins", async () => {
  const [one, two, other] = [
    site({ login: { secret: undefined } }),
    site({ login: { secret: undefined } }),
    site({ login: { secret: undefined }, client: { clientSecret: "another-client-secret" } }),
  ];
  const person = webBrowser();
  const back = await person.begin(one);
  expect((await person.open(other.callback, back)).status).toBe(403);
  expect(other.failures).toMatchObject([{ message: expect.stringMatching(/cannot be opened/) }]);
  expect((await person.open(two.callback, back)).status).toBe(200);
});

async function expectNotNow(
  person: ReturnType<typeof webBrowser>,
  handler: (request: Request) => Promise<Response>,
  url: string | URL,
  headers: Record<string, string>,
): Promise<void> {
  const before = new Map(person.cookies);
  const answer = await person.open(handler, url, { headers });
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([503, "no-store"]);
  expect(answer.headers.getSetCookie()).toEqual([]);
  expect(person.cookies).toEqual(before);
}

describe("15 minutes", () => {
  test.each([
    ["a second before", 15 * MINUTE_MS - 1000, 200],
    ["a second after", 15 * MINUTE_MS + 1000, 403],
    ["a clock that was set back by ten minutes", -10 * MINUTE_MS, 200],
    ["a clock that was set back by a day", -24 * 60 * MINUTE_MS, 403],
  ])("%s", async (_, passedMs, status) => {
    const { app, person, back } = await begun();
    app.time.now += passedMs;
    expect((await person.open(app.callback, back)).status).toBe(status);
    expect(app.failures.map(({ code }) => code)).toEqual(status === 200 ? [] : ["state_expired"]);
    expect(app.service.seen).toHaveLength(status === 200 ? 1 : 0);
    expect(person.cookies.size).toBe(0);
  });
});

describe("a failing token endpoint", () => {
  test("that refuses the code is code_refused, 403, with core's error beside; the login starts again", async () => {
    const { app, person, back } = await begun();
    app.service.next(() => oauthError("invalid_grant"));
    expect((await person.open(app.callback, back)).status).toBe(403);
    expect(app.failures).toMatchObject([
      { code: "code_refused", error: { code: "token_endpoint_failed", error: "invalid_grant" } },
    ]);
    expect(person.cookies.size).toBe(0);
    expect((await person.open(app.callback, await person.begin(app, "cafe"))).status).toBe(200);
  });

  test("that is limited is 503 with Retry-After", async () => {
    const { app, person, back } = await begun();
    app.service.next(() => new Response("", { status: 429 }));
    const answer = await person.open(app.callback, back);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(app.failures).toMatchObject([{ code: "rate_limited" }]);
  });

  test("a store that takes no tokens is store_failed, 503, and onLogin is not asked", async () => {
    const save = () => Promise.reject(new Error("the disk is full"));
    const app = site({ client: { store: { ...memoryStore(), save } } });
    const person = webBrowser();
    expect((await person.open(app.callback, await person.begin(app))).status).toBe(503);
    expect(app.failures).toMatchObject([{ code: "store_failed" }]);
  });
});

describe("the answers", () => {
  test.each([["HEAD"], ["POST"], ["PUT"], ["DELETE"], ["OPTIONS"]])(
    "to %s are 405 with Allow; nothing is set, spent or asked",
    async (method) => {
      const { app, person, back } = await begun();
      const before = new Map(person.cookies);
      for (const handler of [app.start, app.callback]) {
        const answer = await person.open(handler, back, { method });
        expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET"]);
        expect(answer.headers.getSetCookie()).toEqual([]);
      }
      expect(person.cookies).toEqual(before);
      expect(app.failures).toEqual([]);
      expect((await person.open(app.callback, back)).status).toBe(200);
    },
  );

  test.each<[string, () => Response]>([
    [
      "a redirect, whose headers cannot be changed",
      () => Response.redirect("https://app.example.net/products", 303),
    ],
    ["cached for a year", () => new Response("hello", { headers: { "cache-control": "max-age=31536000" } })],
    [
      "with cookies of its own",
      () =>
        new Response(null, {
          status: 204,
          headers: [
            ["set-cookie", "a=1"],
            ["set-cookie", "b=2"],
          ],
        }),
    ],
  ])("of onLogin, %s: kept as they are, never stored, and the login's cookie goes", async (_, onLogin) => {
    const app = site({ login: { onLogin } });
    const person = webBrowser();
    const expected = onLogin();
    const answer = await person.open(app.callback, await person.begin(app));
    expect([answer.status, answer.headers.get("location")]).toEqual([
      expected.status,
      expected.headers.get("location"),
    ]);
    expect(await answer.text()).toBe(await expected.text());
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const ours = answer.headers.getSetCookie().filter((line) => line.includes("retail-pos."));
    expect(ours).toEqual([expect.stringMatching(/=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax; Secure$/)]);
    expect(answer.headers.getSetCookie()).toHaveLength(expected.headers.getSetCookie().length + 1);
  });

  test.each([
    [undefined, "strict-origin"],
    ["same-origin", "same-origin"],
  ])(
    "whose Referrer-Policy is %s: it is %s, so that no page gets the code in a Referer",
    async (own, sent) => {
      const onFailure = () => new Response("failed", { headers: own ? { "referrer-policy": own } : {} });
      const answer = await webBrowser().open(
        site({ login: { onFailure } }).callback,
        `${CALLBACK}?code=c&state=s`,
      );
      expect(answer.headers.get("referrer-policy")).toBe(sent);
    },
  );

  test("of onLogin and onFailure, passed on from a fetch: without the length of a body that was packed", async () => {
    const passedOn = () => new Response("whole", { headers: { "content-length": "2", trailer: "expires" } });
    const app = site({ login: { onLogin: passedOn, onFailure: passedOn } });
    const person = webBrowser();
    const finished = await person.open(app.callback, await person.begin(app));
    const failed = await person.open(app.callback, "https://app.example.net/callback?error=access_denied");
    for (const { headers } of [finished, failed])
      expect([headers.get("content-length"), headers.get("trailer")]).toEqual([null, null]);
  });

  test("of a start are never stored", async () => {
    const answer = await webBrowser().open(site().start, "https://app.example.net/login");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("by default a failure is plain text that nobody sniffs", async () => {
    const app = site({ login: { onFailure: undefined } });
    const answer = await webBrowser().open(app.callback, `${CALLBACK}?error=access_denied`);
    expect(await answer.text()).toMatch(/declined/);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("by default a login that was sealed with another secret reads unlike one of another browser", async () => {
    const [one, other] = ["a", "b"].map((letter) =>
      site({ login: { onFailure: undefined, secret: letter.repeat(32) } }),
    ) as [Site, Site];
    const person = webBrowser();
    const back = await person.begin(one);
    const text = await (await person.open(other.callback, back)).text();
    expect(text).toMatch(/can no longer be read here/);
    const stranger = await webBrowser().open(one.callback, back);
    expect(await stranger.text()).toMatch(/could not match this login/);
  });

  test("by default a failure on our side shows no stranger what it was", async () => {
    const claim = () => Promise.reject(new Error("away"));
    const app = site({ client: { store: { ...memoryStore(), claim } }, login: { onFailure: undefined } });
    const person = webBrowser();
    const answer = await person.open(app.callback, await person.begin(app));
    const text = await answer.text();
    expect([answer.status, text]).toEqual([503, expect.not.stringMatching(/store|claim/i)]);
    expect(text).toMatch(/start the login from the beginning\.\n$/); // this callback counts no more
  });

  test("of an onLogin that answers nothing are an error that names it", async () => {
    const app = site({ login: { onLogin: (() => undefined) as never } });
    const person = webBrowser();
    await expect(person.open(app.callback, await person.begin(app))).rejects.toThrow(/onLogin.*Response/);
  });
});

describe("an application state", () => {
  const circle: Record<string, unknown> = {};
  circle["again"] = circle;

  test.each<[string, unknown]>([
    ["a text", "abc"],
    ["an empty text", ""],
    ["zero", 0],
    ["false", false],
    ["null", null],
    ["a list", ["a", { b: 1 }]],
    ["an object", { returnTo: "/cart?x=1", nested: { deep: [1, null] } }],
    ["of 1,500 bytes", "x".repeat(1498)],
  ])("%s comes back as it was", async (_, state) => {
    const app = site();
    const person = webBrowser();
    const answer = await person.open(app.callback, await person.begin(app, "shop", { state }));
    expect(await answer.json()).toEqual({ domainPrefix: "shop", state });
  });

  test.each<[string, unknown]>([
    ["a function", () => 1],
    ["a function within", { go: () => 1 }],
    ["a symbol", Symbol("a")],
    ["a big integer", 1n],
    ["no number", Number.NaN],
    ["a circle", circle],
    ["a map", new Map([[1, 2]])],
    ["1,501 bytes", "x".repeat(1499)],
    ["1,501 bytes in few letters", "€".repeat(500)],
  ])("that is %s is a TypeError that names it", async (_, state) => {
    const starting = site().start(new Request("https://app.example.net/login"), { state });
    await expect(starting).rejects.toThrow(TypeError);
    await expect(starting).rejects.toThrow(/state/);
  });
});

describe("a wrong option is a TypeError that names it:", () => {
  const client = { authorizationUrl() {}, exchange() {}, connect() {} };
  test.each<[string, object, RegExp]>([
    ["no client", { client: undefined }, /^client must be .*; none was given$/],
    ["a misspelt secret", { secrets: [SECRET] }, /^secrets is no option; it is called secret here$/],
    ["onError for onFailure", { onError() {} }, /^onError is no option; it is called onFailure here$/],
    ["onlogin", { onlogin() {} }, /^onlogin is no option; it is called onLogin here$/],
    ["a client that is none", { client }, /client/],
    ["a secret that is null", { secret: null as never }, /secret/],
    ["a short secret", { secret: "too short" }, /secret/],
    ["a short one among the secrets", { secret: [SECRET, "too short"] }, /secret/],
    ["an empty list of secrets", { secret: [] }, /secret/],
    ["no onLogin", { onLogin: undefined }, /onLogin/],
    ["a verify that is none", { verify: {} }, /verify/],
    ["an onFailure that is none", { onFailure: "/sorry" }, /onFailure/],
    ["a clock that is none", { clock: 12 }, /clock/],
  ])("%s", (_, wrong, message) => {
    const make = () => site({ login: wrong as never });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/too short/);
  });

  test("no options at all", () => {
    expect(() => webLogin(undefined as never)).toThrow(TypeError);
  });

  test.each([
    "http://app.example.net/cb",
    "javascript:alert(1)",
    "/callback",
    "https://a:b@app.example.net/cb",
  ])("a redirectUri of one login: %s", async (redirectUri) => {
    const starting = site().start(new Request("https://app.example.net/login"), { redirectUri });
    await expect(starting).rejects.toThrow(/redirectUri/);
  });
});

test("two logins for two retailers at the same time never see each other's endpoint", async () => {
  const app = site();
  const [one, two] = [webBrowser(), webBrowser()];
  const [toShop, toCafe] = [await one.begin(app, "shop"), await two.begin(app, "cafe")];
  const [gate, arrived] = [later(), later()];
  app.service.always(async ({ retailer }, regular) => {
    if (retailer !== "shop") return regular();
    arrived.resolve();
    await gate.promise;
    return regular();
  });
  const atShop = one.open(app.callback, toShop);
  await arrived.promise;
  expect((await two.open(app.callback, toCafe)).status).toBe(200);
  gate.resolve();
  expect((await atShop).status).toBe(200);
  expect(app.service.seen.map(({ retailer, form }) => [retailer, form.get("code")])).toEqual([
    ["shop", "code-shop"],
    ["cafe", "code-cafe"],
  ]);
});

async function begun() {
  const [app, person] = [site(), webBrowser()];
  return { app, person, back: await person.begin(app) };
}

async function expectRefusal(
  app: ReturnType<typeof site>,
  person: ReturnType<typeof webBrowser>,
  url: string | URL,
  status: number,
  code: string,
): Promise<void> {
  const cookies = new Map(person.cookies);
  const answer = await person.open(app.callback, url);
  expect([answer.status, app.failures.at(-1)?.code]).toEqual([status, code]);
  expect(app.failures.at(-1)?.message).toMatch(/.{20,}/);
  expect(answer.headers.getSetCookie()).toEqual([]);
  expect(person.cookies).toEqual(cookies);
  expect(app.service.seen).toEqual([]);
}
