import type { Express, RequestHandler } from "express";
import session from "express-session";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { APPLICATION, approval, loginSite, sessions } from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";

// A login is finished by the person who began it. `anna` and `ben` log in with a password; "" is nobody.

describe.each(["authenticate", "authorize"] as const)("%s: a login that %s began", (action) => {
  test.each([
    ["nobody", "nobody", 200],
    ["anna", "anna", 200],
    ["anna", "ben", 403],
    ["anna", "nobody", 403],
    ["nobody", "ben", 403],
  ])("%s began, and comes back to %s: %i", async (one, other, status) => {
    const { person, service, url, begin } = await open(action);
    await person.open(url(one));
    const back = await begin("shop");
    await person.open(url(other));
    expect((await person.open(back)).status).toBe(status);
    expect(service.seen).toHaveLength(status === 200 ? 1 : 0);
  });

  test("is still good once that person is back", async () => {
    const { person, url, begin } = await open(action);
    await person.open(url("anna"));
    const back = await begin("shop");
    await person.open(url("ben"));
    expect((await person.open(back)).status).toBe(403);
    await person.open(url("anna"));
    expect((await person.open(back)).status).toBe(200);
  });
});

describe("who logs in with store in one tab is the same person in the others", () => {
  test.each(["nobody", "anna"])("three tabs that %s began, in any order", async (who) => {
    const { person, url, begin } = await open("authenticate");
    await person.open(url(who));
    const tabs = [await begin("one"), await begin("two"), await begin("three")];
    for (const tab of [2, 0, 1]) expect((await person.open(tabs[tab] ?? "")).status).toBe(200);
  });

  test("but not after a logout, nor for somebody who logs in with a password then", async () => {
    const { person, url, begin } = await open("authenticate");
    const tabs = [await begin("one"), await begin("two"), await begin("three")];
    expect((await person.open(tabs[0] ?? "")).status).toBe(200);
    await person.open(url("ben"));
    expect((await person.open(tabs[1] ?? "")).status).toBe(403);
  });

  test("nor does a store that they began to connect before go to the account that they have then", async () => {
    const { person, begin, connect } = await open("authenticate");
    const connecting = await connect("shop");
    expect((await person.open(await begin("cafe"))).status).toBe(200);
    expect((await person.open(connecting)).status).toBe(403);
  });
});

test.each([
  ["its id", { id: 7, seen: 1 }, { id: 7, seen: 2 }, 200],
  ["its sub", { sub: "a", iat: 1 }, { sub: "a", iat: 2 }, 200],
  ["its id, another one", { id: 7 }, { id: 8 }, 403],
  ["all it has", { name: "anna" }, { name: "ben" }, 403],
  ["being there", undefined, { id: 7 }, 403],
])("without Passport's session req.user tells who it is, by %s", async (_, before, after, status) => {
  let user: object | undefined = before;
  const setUser: RequestHandler = (req, _res, next) => next(void Object.assign(req, user && { user }));
  const { person, begin } = await open("authorize", false, (app) => app.use(setUser));
  const back = await begin("shop");
  user = after;
  expect((await person.open(back)).status).toBe(status);
});

async function open(
  action: "authenticate" | "authorize",
  session: RequestHandler | false = withPasswords(),
  configure: (app: Express) => void = () => {},
) {
  const [service, person] = [fakeService(), browser()];
  const make = (callbackURL: string) =>
    new RetailPosStrategy({ ...APPLICATION, fetch: service.fetch, callbackURL }, ({ domainPrefix }) => ({
      domainPrefix,
    }));
  const site = await loginSite(new Passport(), make, {
    session,
    configure,
    // `?connect` stands for a second pair of routes.
    authenticate: (_, passport) => (req, res, next) =>
      passport["connect" in req.query ? "authorize" : action]("retail-pos", {
        callbackURL: `${callbackUrlOf(req)}${"connect" in req.query ? "?connect" : ""}`,
      })(req, res, next),
  });
  const began = async (query: string, retailer: string) =>
    approval((await person.open(`${site.loginUrl}${query}`)).location, retailer).href;
  return {
    person,
    service,
    url: (who: string) => `${site.origin}/password?user=${who}`,
    begin: (retailer: string) => began("", retailer),
    connect: (retailer: string) => began("?connect", retailer),
  };
}

const callbackUrlOf = (req: { headers: { host?: string | undefined } }) =>
  `http://${req.headers.host}/callback`;

/** Sessions, and a login of the application's own that keeps what the session holds, as koa-session's does. */
function withPasswords(store = new session.MemoryStore()): RequestHandler {
  const real = sessions(store);
  return (req, res, next) =>
    real(req, res, (error) => {
      if (error || req.path !== "/password") return next(error);
      const user = String(req.query["user"]);
      Object.assign(req.session, { passport: user === "nobody" ? {} : { user: { domainPrefix: user } } });
      res.end();
    });
}
