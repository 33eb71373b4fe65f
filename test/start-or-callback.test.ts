import { describe, expect, onTestFinished, test } from "vitest";
import { type FakeService, fakeService } from "../packages/core/testing/fake-service.js";
import { type Browser, browser } from "./support/browser.js";
import { listen } from "./support/listen.js";
import { APPLICATION, approval } from "./support/login-site.js";
import { type PassportSite, type PassportSiteSettings, passportSites } from "./support/passport-sites.js";

const ONE_ROUTE = "/any/auth";
const form = (fields: Record<string, string>) => ({ method: "POST", body: new URLSearchParams(fields) });

describe.each(passportSites)("$name", (site) => {
  describe("one route for start and callback, and a query that the address does not have", () => {
    test.each<[string, Record<string, string | undefined>]>([
      ["a language", { lng: "en" }],
      ["a name without a value", { a: undefined }],
      ["what looks like a callback", { code: "x", state: "y", domain_prefix: "z" }],
    ])("%s: a login starts and is finished", async (_, addsToQuery) => {
      if (site.name.startsWith("Fastify") && "a" in addsToQuery) return; // a schema has no such default
      const { person, url } = await open(site, ONE_ROUTE, { addsToQuery });
      const started = await person.open(url(ONE_ROUTE));
      expect(started.status).toBe(302);
      expect((await person.open(approval(started.location, "shop"))).status).toBe(200);
    });
  });

  describe.each([
    ["its beginning, which a proxy has cut off", "/app/any/callback", "/any/callback"],
    ["a slash at the end", "/any/callback", "/any/callback/"],
    ["capitals", "/any/callback", "/any/CallBack"],
    ["an encoded letter", "/any/callback", "/any/c%61llback"],
    ["an encoded letter that is registered so", "/any/sch%C3%B6n", "/any/sch%c3%b6n/"],
  ])("the callback's path comes back without or with %s", (_, registered, path) => {
    test.each(["error_code=12", "lang=en&reason=denied", "state="])(
      "?%s is a damaged callback, and starts no login that would come back the same",
      async (query) => {
        const { person, url } = await open(site, registered);
        expect((await person.open(url("/any/login"))).status).toBe(302);
        expect(await person.open(url(`${path}?${query}`))).toMatchObject({ status: 400, location: "" });
      },
    );

    test("with the service's answer it finishes the login", async () => {
      const { person, url, begin } = await open(site, registered);
      const { search } = await begin();
      expect((await person.open(url(path + search))).status).toBe(200);
    });
  });

  describe("the state of a login that this browser has under way makes a callback of a visit", () => {
    test.each(["/any/login", "/any/elsewhere", "/any"])("on %s", async (path) => {
      if (site.name.startsWith("Fastify") && path === "/any") return; // no such route
      const { person, url, begin } = await open(site, "/any/callback");
      const back = await begin();
      const damaged = `${path}?state=${back.searchParams.get("state")}&message=sorry`;
      expect(await person.open(url(damaged))).toMatchObject({ status: 400, location: "" });
      expect((await browser().open(url(damaged))).status).toBe(302); // in another browser it is a start
      expect((await person.open(back)).status).toBe(200);
    });
  });

  describe("the callback without any parameter", () => {
    test.each<[string, RequestInit]>([
      ["a GET", {}],
      ["a POST", form({})],
      ["a POST with a field of the application's own", form({ remember: "yes" })],
    ])("%s is refused with words, once logins were seen to start elsewhere", async (_, init) => {
      const { person, url, begin, service } = await open(site, "/any/callback");
      const back = await begin();
      const answer = await person.open(url("/any/callback"), init);
      expect([answer.status, answer.location]).toEqual([400, ""]);
      expect(JSON.parse(answer.body).info).toMatchObject({ code: "invalid_callback" });
      expect(service.seen).toEqual([]);
      expect((await person.open(back)).status).toBe(200);
    });

    test.each<[string, RequestInit, number]>([
      ["a GET", {}, 302],
      ["a POST", form({}), 303],
      ["a POST with a field of the application's own", form({ remember: "yes" }), 303],
    ])(
      "%s starts a login where starts and callbacks share a route, as often as it comes",
      async (_, init, status) => {
        const { person, url } = await open(site, ONE_ROUTE);
        for (let times = 0; times < 3; times += 1)
          expect((await person.open(url(ONE_ROUTE), init)).status).toBe(status);
      },
    );
  });

  test("a stranger's visit below the path that starts and callbacks share stops nobody's login", async () => {
    if (site.name.startsWith("Fastify")) return; // no such route
    const { person, url } = await open(site, "/any");
    for (const path of ["/any/favicon.ico", "/any;x"]) await browser().open(url(path));
    expect((await person.open(url("/any"))).status).toBe(302);
  });

  test.each([{ code: "c", state: "s" }, { error: "server_error" }, { state: "s" }])(
    "the service's answer as a form, %o, is refused, also where starts and callbacks share a route",
    async (fields) => {
      const { person, url, service } = await open(site, ONE_ROUTE);
      const answer = await person.open(url(ONE_ROUTE), form(fields));
      expect([answer.status, answer.location]).toEqual([400, ""]);
      expect(JSON.parse(answer.body).info.message).toMatch(/GET request, not POST/);
      expect(service.seen).toEqual([]);
    },
  );

  test.each([
    ["invalid_scope", 'the error "invalid_scope"'],
    ["temporarily_unavailable", 'the error "temporarily_unavailable"'],
    ["<b>call 0800 EVIL</b>", "brings an error"],
  ])("an error without a state is refused and named where it is a plain name: %s", async (error, named) => {
    const { person, url } = await open(site, "/any/callback");
    const query = new URLSearchParams({ error, error_description: "call 0800 EVIL" });
    const answer = await person.open(url(`/any/callback?${query}`));
    expect(answer.status).toBe(403);
    const { code, message } = JSON.parse(answer.body).info;
    expect([code, message]).toEqual(["state_missing", expect.stringContaining(named)]);
    expect(message).not.toMatch(/evil/i);
  });

  describe("a start that another site sends", () => {
    const crossSite = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };

    test.each<[string, Record<string, string>, number]>([
      ["without a click evicts no other login, however often it comes", crossSite, 200],
      ["by a click evicts the oldest", { ...crossSite, "sec-fetch-user": "?1" }, 403],
      [
        "or a fetch of the application's own page evicts no other login",
        { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
        200,
      ],
      [
        "in a frame, as of a neighbouring host, evicts no other login",
        { ...crossSite, "sec-fetch-site": "same-site", "sec-fetch-dest": "iframe" },
        200,
      ],
      [
        "from a page of the same site evicts the oldest",
        { ...crossSite, "sec-fetch-site": "same-site" },
        403,
      ],
    ])("%s", async (_, headers, status) => {
      const { person, url, begin } = await open(site, "/any/callback");
      const back = await begin();
      const answers = [];
      for (let login = 0; login < 30; login += 1)
        answers.push(await person.navigate(url("/any/login"), headers));
      expect(answers[0]).toBe(302);
      expect(answers.at(-1)).toBe(status === 200 ? 503 : 302);
      expect(person.cookies().match(/retail-pos\./g)?.length ?? 0).toBeLessThanOrEqual(10);
      expect((await person.open(back)).status).toBe(status);
    });

    // A browser sends no cookie that is SameSite=Lax along, so it would keep one login more each time.
    test("as a form without a click is none", async () => {
      const { person, url } = await open(site, "/any/callback");
      const { status } = await person.open(url("/any/login"), { method: "POST", headers: crossSite });
      expect([status, person.cookies()]).toEqual([503, ""]);
    });
  });
});

async function open(
  { site }: PassportSite,
  callbackPath: string,
  settings: Omit<PassportSiteSettings, "strategy"> = {},
) {
  const [service, person]: [FakeService, Browser] = [fakeService(), browser()];
  const { port, close } = await listen((req, res) => app(req, res));
  onTestFinished(close);
  const url = (path: string) => `http://127.0.0.1:${port}${path}`;
  const callbackURL = url(callbackPath);
  const strategy = { ...APPLICATION, fetch: service.fetch, callbackURL, logFailures: false };
  const app = site({ strategy, ...settings });
  const begin = async () => approval((await person.open(url("/any/login"))).location, "shop");
  return { service, person, url, begin };
}
