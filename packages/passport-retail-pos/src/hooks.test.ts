import { TokenEndpointError } from "@retail-pos/core";
import type { Request } from "express";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../test/support/browser.js";
import { APPLICATION, approval, loginSite, type SiteSettings } from "../../../test/support/login-site.js";
import { fakeService, json, later, type Script } from "../../core/testing/fake-service.js";
import { type LoginOptions, type RetailPosProfile, RetailPosStrategy } from "./index.js";

type ProfileDone = (error?: unknown, profile?: unknown) => void;

/** What a hook may try to replace, and must not. */
const hijack = {
  response_type: "token",
  client_id: "evil",
  client_secret: "evil",
  redirect_uri: "https://evil.example",
  state: "a-fixed-state",
  code: "evil",
  grant_type: "password",
};

describe("authorizationParams", () => {
  test("adds to the consent URL, and sees the options of the login", async () => {
    class Strategy extends RetailPosStrategy {
      override authorizationParams({ state }: LoginOptions) {
        return { locale: "de-DE & more", own: (state as { tab: number }).tab, absent: undefined, none: null };
      }
    }
    const { site } = await open(Strategy, { options: { state: { tab: 7 } } });
    const { searchParams } = new URL((await browser().open(site.loginUrl)).location);
    expect([searchParams.get("locale"), searchParams.get("own")]).toEqual(["de-DE & more", "7"]);
    expect([searchParams.has("absent"), searchParams.has("none")]).toEqual([false, false]);
  });

  test("cannot replace what 4.1 requires", async () => {
    class Strategy extends RetailPosStrategy {
      override authorizationParams() {
        return hijack;
      }
    }
    const { site } = await open(Strategy);
    const { searchParams } = new URL((await browser().open(site.loginUrl)).location);
    expect(searchParams.getAll("response_type")).toEqual(["code"]);
    expect(searchParams.getAll("client_id")).toEqual([APPLICATION.clientID]);
    expect(searchParams.getAll("redirect_uri")).toEqual([site.callbackUrl]);
    expect(searchParams.getAll("state")).toEqual([expect.stringMatching(/^[\w-]{22,}$/)]);
  });

  test("that throws is an error through next", async () => {
    class Strategy extends RetailPosStrategy {
      override authorizationParams(): object {
        throw new Error("of the hook");
      }
    }
    const { site } = await open(Strategy);
    expect((await browser().open(site.loginUrl)).status).toBe(500);
    expect(site.errors).toEqual([new Error("of the hook")]);
  });
});

describe("tokenParams", () => {
  test("adds to the token request's form, and sees the options of the login", async () => {
    class Strategy extends RetailPosStrategy {
      override tokenParams({ state }: LoginOptions) {
        return { audience: "pos & more", own: state, absent: undefined };
      }
    }
    const { service, site } = await open(Strategy, { options: { state: "abc" } });
    await logIn(site.loginUrl);
    expect(Object.fromEntries(service.seen[0]?.form ?? [])).toEqual({
      audience: "pos & more",
      own: "abc",
      grant_type: "authorization_code",
      code: "code-shop",
      redirect_uri: site.callbackUrl,
      client_id: APPLICATION.clientID,
      client_secret: APPLICATION.clientSecret,
    });
    expect(new URL(service.seen[0]?.url ?? "").search).toBe("");
  });

  test("that is null is left out, as in authorizationParams", async () => {
    class Strategy extends RetailPosStrategy {
      override tokenParams() {
        return { none: null };
      }
    }
    const { service, site } = await open(Strategy);
    await logIn(site.loginUrl);
    expect(service.seen[0]?.form.get("none") ?? "").toBe("");
  });

  test("cannot replace what 4.2 requires", async () => {
    class Strategy extends RetailPosStrategy {
      override tokenParams() {
        return hijack;
      }
    }
    const { service, site } = await open(Strategy);
    await logIn(site.loginUrl);
    const form = service.seen[0]?.form ?? new URLSearchParams();
    expect(form.getAll("grant_type")).toEqual(["authorization_code"]);
    expect(form.getAll("code")).toEqual(["code-shop"]);
    expect(form.getAll("redirect_uri")).toEqual([site.callbackUrl]);
    expect(form.getAll("client_id")).toEqual([APPLICATION.clientID]);
    expect(form.getAll("client_secret")).toEqual([APPLICATION.clientSecret]);
  });
});

describe("userProfile", () => {
  const byDefault = { provider: "retail-pos", id: "shop", domainPrefix: "shop", displayName: "shop" };

  test("may enrich what super.userProfile gives", async () => {
    const tokens: string[] = [];
    class Strategy extends RetailPosStrategy {
      override userProfile(accessToken: string, done: ProfileDone) {
        tokens.push(accessToken);
        super.userProfile(accessToken, (error, profile) =>
          done(error, { ...(profile as RetailPosProfile), displayName: "The Shop" }),
        );
      }
    }
    const { site } = await open(Strategy);
    expect((await logIn(site.loginUrl)).profile).toEqual({ ...byDefault, displayName: "The Shop" });
    expect(tokens).toEqual(["access-shop-1"]);
  });

  test("of two logins at once: each has its own", async () => {
    const [gate, shopWaits] = [later(), later()];
    const seen: string[] = [];
    class Strategy extends RetailPosStrategy {
      override async userProfile(accessToken: string, done: ProfileDone) {
        seen.push(accessToken);
        if (seen.length === 1) {
          shopWaits.resolve();
          await gate.promise;
        }
        super.userProfile(accessToken, done);
      }
    }
    const { site } = await open(Strategy, {
      authenticate: (strategy, passport) => passport.authenticate(strategy),
    });
    const shop = logIn(site.loginUrl);
    await shopWaits.promise;
    expect((await logIn(site.loginUrl, "cafe")).profile).toEqual({
      ...byDefault,
      id: "cafe",
      domainPrefix: "cafe",
      displayName: "cafe",
    });
    gate.resolve();
    expect((await shop).profile).toEqual(byDefault);
  });

  test("that answers nothing leaves the default", async () => {
    class Strategy extends RetailPosStrategy {
      override userProfile(_accessToken: string, done: ProfileDone) {
        done(null);
      }
    }
    const { site } = await open(Strategy);
    expect((await logIn(site.loginUrl)).profile).toEqual(byDefault);
  });

  test("may promise the profile instead of calling back", async () => {
    class Strategy extends RetailPosStrategy {
      override async userProfile(accessToken: string) {
        return { ...byDefault, displayName: accessToken } as never;
      }
    }
    const { site } = await open(Strategy);
    expect((await logIn(site.loginUrl)).profile).toEqual({ ...byDefault, displayName: "access-shop-1" });
  });

  test("that promises nothing, and takes no done, leaves the default", async () => {
    class Strategy extends RetailPosStrategy {
      override async userProfile(_accessToken: string) {}
    }
    const { site } = await open(Strategy);
    expect((await logIn(site.loginUrl)).profile).toEqual(byDefault);
  });

  test.each<[string, (done: ProfileDone) => unknown]>([
    ["rejects", () => Promise.reject(new Error("of the hook"))],
    ["calls back with an error", (done) => done(new Error("of the hook"))],
    [
      "throws",
      () => {
        throw new Error("of the hook");
      },
    ],
  ])("that %s is an error through next: nobody is let in, nothing is kept", async (_, fail) => {
    class Strategy extends RetailPosStrategy {
      override userProfile(_accessToken: string, done: ProfileDone) {
        return fail(done) as undefined;
      }
    }
    const { site } = await open(Strategy);
    expect((await logIn(site.loginUrl)).status).toBe(500);
    expect(site.errors).toEqual([new Error("of the hook")]);
    await expect(site.strategy.client.tokens("shop").token()).rejects.toMatchObject({
      code: "not_connected",
    });
  });

  test("may use _oauth2, which puts the bearer into the header and not into the URL", async () => {
    const asked: [url: string, headers: object][] = [];
    class Strategy extends RetailPosStrategy {
      override userProfile(accessToken: string, done: ProfileDone) {
        Object.assign(this._oauth2, {
          _request: (_method: string, url: string, headers: object, _body: string, _token: string) => {
            asked.push([url, headers]);
            done(null, { id: "of the hook" });
          },
        });
        this._oauth2.get("https://shop.example.com/api/me", accessToken, () => {});
      }
    }
    const { site } = await open(Strategy);
    expect((await logIn(site.loginUrl)).profile).toEqual({ id: "of the hook" });
    expect(asked).toEqual([["https://shop.example.com/api/me", { Authorization: "Bearer access-shop-1" }]]);
  });
});

describe("a subclass that keeps something of a request in a field", () => {
  class Strategy extends RetailPosStrategy {
    shop: unknown;
    override authenticate(req: Request, options?: LoginOptions) {
      Object.defineProperty(this, "shop", { value: req.get("x-shop"), configurable: true }); // is not printed
      super.authenticate(req, options);
    }
    override authorizationParams() {
      return { shop: this.shop };
    }
    override tokenParams() {
      return { shop: this.shop };
    }
  }

  test.each(["name", "instance"])("has its own in each login, by %s", async (by) => {
    const { site, service } = await open(Strategy, {
      authenticate: (strategy, passport) => passport.authenticate(by === "name" ? "retail-pos" : strategy),
    });
    const shops = ["one", "two", "three"];
    const starting = shops.map(async (shop) => {
      const [person, headers] = [browser(), { "x-shop": shop }];
      const { location } = await person.open(site.loginUrl, { headers });
      expect(new URL(location).searchParams.get("shop")).toBe(shop);
      return () => person.open(approval(location, shop), { headers });
    });
    const approvals = await Promise.all(starting);
    await Promise.all(approvals.map((approve) => approve()));
    const sent = service.seen.map(({ url, form }) => [new URL(url).hostname.split(".")[0], form.get("shop")]);
    expect(sent.sort()).toEqual(shops.map((shop) => [shop, shop]).sort());
  });
});

describe("skipUserProfile", () => {
  const byDefault = { provider: "retail-pos", id: "shop", domainPrefix: "shop", displayName: "shop" };
  const ofTheHook = { id: "of the hook" };
  type SkipDone = (error?: unknown, skip?: unknown) => void;
  const ways: [name: string, skip: unknown, profile: object][] = [
    ["true", true, byDefault],
    ["false", false, ofTheHook],
    ["a function that returns true", (token: string) => token === "access-shop-1", byDefault],
    ["a function that returns false", (token: string) => token !== "access-shop-1", ofTheHook],
    ["a function that promises true", async () => true, byDefault],
    ["a function that calls back", (token: string, done: SkipDone) => done(null, token !== ""), byDefault],
    ["a function that calls back with false", (_: string, done: SkipDone) => done(null, false), ofTheHook],
  ];
  class Strategy extends RetailPosStrategy {
    override userProfile(_accessToken: string, done: ProfileDone) {
      done(null, ofTheHook);
    }
  }

  test.each(ways)("as %s", async (_, skipUserProfile, profile) => {
    const { site } = await open(Strategy, {}, { skipUserProfile });
    expect((await logIn(site.loginUrl)).profile).toEqual(profile);
  });

  test.each<[string, unknown]>([
    [
      "throws",
      () => {
        throw new Error("of the hook");
      },
    ],
    ["rejects", () => Promise.reject(new Error("of the hook"))],
    ["calls back with an error", (_: string, done: SkipDone) => done(new Error("of the hook"))],
    [
      "rejects, though it takes done",
      (_: string, _done: SkipDone) => Promise.reject(new Error("of the hook")),
    ],
  ])("as a function that %s is an error through next", async (_, skipUserProfile) => {
    const { site } = await open(Strategy, {}, { skipUserProfile });
    expect((await logIn(site.loginUrl)).status).toBe(500);
    expect(site.errors).toEqual([new Error("of the hook")]);
  });

  test.each([
    ["a text", "yes"],
    ["null", null],
    ["a number", 1],
  ])("as %s is a TypeError that names it", (_, given) => {
    const options = { ...APPLICATION, callbackURL: "https://app.example.net/cb", skipUserProfile: given };
    expect(() => new Strategy(options as never, () => null)).toThrow(/skipUserProfile/);
  });
});

describe("parseErrorResponse", () => {
  const teapot: Script = () => new Response("short and stout", { status: 418 });

  test("may make an error of its own", async () => {
    class Strategy extends RetailPosStrategy {
      override parseErrorResponse(body: string, status: number) {
        return new Error(`${status}: ${body}`);
      }
    }
    const { service, site } = await open(Strategy);
    service.next(teapot);
    expect((await logIn(site.loginUrl)).status).toBe(500);
    expect(site.errors).toEqual([new Error("418: short and stout")]);
  });

  test("that answers null leaves core's error", async () => {
    class Strategy extends RetailPosStrategy {
      override parseErrorResponse() {
        return null;
      }
    }
    const { service, site } = await open(Strategy);
    service.next(teapot);
    expect((await logIn(site.loginUrl)).status).toBe(502);
    expect(site.errors[0]).toBeInstanceOf(TokenEndpointError);
  });

  test("may ask super first, also about a body that is no JSON: core's error, as the base class has it", async () => {
    class Strategy extends RetailPosStrategy {
      override parseErrorResponse(body: string, status: number) {
        return super.parseErrorResponse(body, status);
      }
    }
    const { service, site } = await open(Strategy);
    service.next(
      () => json({ error: "invalid_request", error_description: "in its own words" }, 400),
      () => new Response("<!doctype html><h1>Bad gateway</h1>", { status: 502 }),
    );
    await logIn(site.loginUrl);
    expect((await logIn(site.loginUrl, "cafe")).status).toBe(502);
    expect(site.errors[0]).toMatchObject({ message: "in its own words", code: "invalid_request" });
    expect(site.errors[1]).toBeInstanceOf(TokenEndpointError);
  });
});

/** One whole login; what the site answered and the profile that verify saw. */
async function logIn(loginUrl: string, retailer = "shop"): Promise<{ status: number; profile?: unknown }> {
  const person = browser();
  const answer = await person.open(approval((await person.open(loginUrl)).location, retailer));
  return answer.status === 200
    ? { status: 200, profile: JSON.parse(answer.body).user.profile }
    : { status: answer.status };
}

async function open(
  Strategy: typeof RetailPosStrategy,
  settings: SiteSettings<RetailPosStrategy> = {},
  options: object = {},
) {
  const service = fakeService();
  const make = (callbackURL: string) =>
    new Strategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL, ...options },
      ({ domainPrefix, profile }) => ({ domainPrefix, profile }),
    );
  return { service, site: await loginSite(new Passport(), make, settings) };
}
