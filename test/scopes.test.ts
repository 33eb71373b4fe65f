import { retailPos } from "@retail-pos/core";
import { webLogin } from "@retail-pos/login";
import { type SandboxOptions, startSandbox, virtualClock } from "@retail-pos/sandbox";
import { Passport } from "passport";
import RetailPosStrategy from "passport-retail-pos";
import { describe, expect, onTestFinished, test } from "vitest";
import { browser } from "./support/browser.js";
import { loginSite } from "./support/login-site.js";

// Some services of this kind answer `access_denied` to a login without scopes. The whole way, from the option to the
// call, at a sandbox that is one of them.

const scopes = ["products:read", "sales:read", "sales:write"];

describe.each([
  ["passport-retail-pos", strategySite],
  ["@retail-pos/login", webSite],
] as const)("with %s", (_, siteOf) => {
  test("a login without a scope is refused, and the message says what the service wants", async () => {
    const site = await siteOf(undefined);
    const { status, message } = await site.login();
    expect(status).toBe(403);
    expect(message).toMatch(/wants scopes, .*`scope` option/);
    expect(message).toMatch(/The service says: .*products:read sales:read sales:write$/);
    expect(site.sandbox.tokenRequests()).toEqual([]);
    expect(await site.pos.status("harbour-coffee")).toBeUndefined();
  });

  test("a login with one may do that and no more; the granted scope is kept through renewals", async () => {
    const site = await siteOf("products:read");
    expect(await site.login()).toMatchObject({ status: 200 });
    const shop = site.pos.retailer("harbour-coffee");
    expect((await shop.fetch("api/products")).status).toBe(200);
    expect(await site.pos.status("harbour-coffee")).toMatchObject({ scope: "products:read" });
    site.clock.advance(86_400_000);
    expect((await shop.fetch("api/products")).status).toBe(200);
    expect(site.sandbox.tokenRequests()).toHaveLength(2);
    expect(await site.pos.status("harbour-coffee")).toMatchObject({ scope: "products:read" });
  });

  test("a call beyond it is the service's own 403, which renews nothing", async () => {
    const site = await siteOf("products:read");
    await site.login();
    const answer = await site.pos.retailer("harbour-coffee").fetch("api/sales");
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ error: "insufficient_scope" });
    expect(site.sandbox.tokenRequests()).toHaveLength(1);
  });

  test("a scope that the service does not have is said to be the reason", async () => {
    const site = await siteOf("customers:read");
    const { status, message } = await site.login();
    expect(status).toBeGreaterThanOrEqual(500);
    expect(message).toMatch(/"invalid_scope".*`scope`/);
  });
});

async function service(options: SandboxOptions) {
  const clock = virtualClock();
  const sandbox = await startSandbox({ ...options, scopes, clock });
  onTestFinished(() => sandbox.close());
  return { sandbox, clock };
}

/** Follows the service's answer to a login, and tells how it ended. */
async function strategySite(scope: string | undefined) {
  const told: string[] = [];
  const { sandbox, clock } = await service({});
  const { authUrl, baseUrl, application } = sandbox;
  const pos = retailPos({ authUrl, baseUrl, ...application, scope, clock });
  const site = await loginSite(
    new Passport(),
    () => new RetailPosStrategy({ client: pos, clock }, ({ domainPrefix }) => ({ domainPrefix })),
    {
      authenticate: (_, passport) => (req, res, next) =>
        passport.authenticate(
          "retail-pos",
          (error: unknown, user: unknown, info: unknown, status: number) => {
            told.push((error as Error | null)?.message ?? (info as { message?: string })?.message ?? "");
            if (error) return next(error);
            res.status(user ? 200 : status).end();
          },
        )(req, res, next),
    },
  );
  return {
    sandbox,
    clock,
    pos,
    async login() {
      const person = browser();
      const { location } = await person.open(site.loginUrl);
      const back = sandbox.consent(location, "harbour-coffee");
      const { status } = await person.open(`${site.callbackUrl}${back.search}`);
      return { status, message: told.at(-1) ?? "" };
    },
  };
}

async function webSite(scope: string | undefined) {
  const { sandbox, clock } = await service({ redirectUri: "https://app.example.net/callback" });
  const { authUrl, baseUrl, application } = sandbox;
  const pos = retailPos({ authUrl, baseUrl, ...application, clock });
  const login = webLogin({
    client: pos,
    secret: "a secret of the tests, longer than 32 letters",
    clock,
    onLogin: () => new Response(),
    onFailure: ({ status, message }) => new Response(message, { status }),
  });
  return {
    sandbox,
    clock,
    pos,
    async login() {
      const started = await login.start(new Request("https://app.example.net/login"), { scope });
      const cookie = started.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "");
      const back = sandbox.consent(started.headers.get("location") ?? "", "harbour-coffee");
      const answer = await login.callback(new Request(back, { headers: { cookie: cookie.join("; ") } }));
      return { status: answer.status, message: await answer.text() };
    },
  };
}
