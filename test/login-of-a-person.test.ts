import { describe, expect, onTestFinished, test } from "vitest";
import { fakeService } from "../packages/core/testing/fake-service.js";
import { browser } from "./support/browser.js";
import { listen } from "./support/listen.js";
import { APPLICATION, approval } from "./support/login-site.js";
import { type PassportSite, type PassportSiteSettings, passportSites } from "./support/passport-sites.js";

// A login is finished by the person who began it. `anna` and `ben` log in with a password; "" is nobody.

const WORDS = /whoever is logged in now did not start this login/;

describe.each(passportSites)("$name", (site) => {
  describe.each([
    ["authorize", "/connect", 403],
    ["authenticate", "/any", 200],
  ])("%s", (_, route, ofNobody) => {
    test.each([
      ["anna", "ben", 403],
      ["anna", "", 403],
      ["", "ben", ofNobody],
      ["anna", "anna", 200],
      ["", "", 200],
    ])("a login that %j began, when %j is there: %i", async (one, other, status) => {
      const { person, as, begin, finish, service } = await open(site, route);
      await as(one);
      const back = await begin();
      await as("");
      await as(other);
      const answer = await finish(back);
      expect(answer.status).toBe(status);
      expect(service.seen).toHaveLength(status === 200 ? 1 : 0);
      if (status === 200) return;
      expect(answer.info).toMatchObject({ code: "state_unknown", message: expect.stringMatching(WORDS) });
      await as(one);
      expect((await finish(back)).status).toBe(200); // nothing was spent
      expect(person.answers.at(-1)?.status).toBe(200);
    });
  });

  describe("a stranger plants a session in which a login of theirs is under way; the victim logs in by password", () => {
    test.each([
      ["nobody", "", "/connect"],
      ["the stranger, logged in", "mallory", "/connect"],
      ["the stranger, logged in", "mallory", "/any"],
    ])(
      "begun by %s, %s%s: the stranger's store does not reach the victim's account",
      async (_, who, route) => {
        const { person: victim, as, finish, service, browseAs } = await open(site, route);
        const stranger = browser();
        const back = await browseAs(stranger, who);
        const planted = /(connect\.sid|koa\.sess(?:\.sig)?|sessionId|session)=([^;]+)/g;
        for (const [, name = "", value = ""] of stranger.cookies().matchAll(planted))
          victim.setCookie(name, value);
        await as("victim", victim);
        const answer = await finish(back, victim);
        expect([answer.status, answer.info?.code]).toEqual([403, "state_unknown"]);
        expect(service.seen).toEqual([]);
      },
    );

    test.skipIf(site.inSession)(
      "nor by `authenticate`, which finishes what nobody began: the cookie is missing",
      async () => {
        const { person: victim, as, finish, service, browseAs } = await open(site, "/any");
        const stranger = browser();
        const back = await browseAs(stranger, "");
        await as("victim", victim);
        expect((await finish(back, victim)).status).toBe(403);
        expect(service.seen).toEqual([]);
      },
    );
  });

  test("a stranger plants the cookie of a login of theirs: it connects no store to the victim's account", async () => {
    const { person: victim, as, finish, service, browseAs } = await open(site, "/connect");
    const stranger = browser();
    const back = await browseAs(stranger, "");
    for (const pair of stranger.cookies().split("; ")) {
      const at = pair.indexOf("=");
      victim.setCookie(pair.slice(0, at), pair.slice(at + 1));
    }
    await as("victim", victim);
    expect((await finish(back, victim)).status).toBe(403);
    expect(service.seen).toEqual([]);
  });

  test.skipIf(site.inSession)("emptying the session ends no login", async () => {
    const { person, as, begin, finish, url } = await open(site, "/any");
    await as("");
    const back = await begin();
    await person.open(url("/empty"));
    expect((await finish(back)).status).toBe(200);
  });

  test("the application's own state comes back", async () => {
    const { begin, finish } = await open(site, "/any", { returnTo: "/cart" });
    expect((await finish(await begin())).info).toEqual({ state: { returnTo: "/cart" } });
  });
});

test.each(["state", "req", "request"] as const)(
  "Koa: somebody known without a session, by ctx.%s.user, is told apart as well",
  async (place) => {
    for (const route of ["/connect", "/any"]) {
      const koa = passportSites.filter(({ name }) => name.startsWith("Koa"));
      for (const site of koa) {
        const { as, begin, finish } = await open(site, route, undefined, { koaUserIn: place });
        await as("anna");
        const back = await begin();
        await as("ben");
        expect([site.name, route, (await finish(back)).status]).toEqual([site.name, route, 403]);
        await as("anna");
        expect((await finish(back)).status).toBe(200);
      }
    }
  },
);

test.each(passportSites.filter(({ name }) => name.startsWith("Fastify")))(
  "$name: also where the application has chosen the key and the property itself",
  async (site) => {
    const fastifyPassport = { key: "account", userProperty: "member" };
    const { as, begin, finish, service } = await open(site, "/connect", undefined, { fastifyPassport });
    await as("anna");
    const back = await begin();
    await as("");
    await as("ben");
    expect((await finish(back)).status).toBe(403);
    expect(service.seen).toEqual([]);
    await as("anna");
    expect((await finish(back)).status).toBe(200);
  },
);

async function open(
  { site }: PassportSite,
  route: string,
  state?: unknown,
  settings: Omit<PassportSiteSettings, "strategy"> = {},
) {
  const [service, person] = [fakeService(), browser()];
  const { port, close } = await listen((req, res) => app(req, res));
  onTestFinished(close);
  const url = (path: string) => `http://127.0.0.1:${port}${path}`;
  const strategy = {
    ...APPLICATION,
    fetch: service.fetch,
    callbackURL: url(`${route}/callback`),
    logFailures: false,
  };
  const app = site({ strategy, login: { state }, ...settings });
  const begin = async (who = person) => approval((await who.open(url(`${route}/login`))).location, "shop");
  const as = (user: string, who = person) => who.open(url(`/as?user=${user}`));
  return {
    service,
    person,
    url,
    begin,
    as,
    async browseAs(stranger: typeof person, user: string) {
      await as(user, stranger);
      return begin(stranger);
    },
    async finish(back: URL, who = person): Promise<{ status: number; info?: { code?: string } }> {
      const { status, body } = await who.open(back);
      return { status, ...JSON.parse(body) };
    },
  };
}
