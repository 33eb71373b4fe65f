import session from "express-session";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { oddBlanks } from "../../../../test/support/hostile-callbacks.js";
import {
  APPLICATION,
  approval,
  loginSite,
  type SiteSettings,
  sessions,
} from "../../../../test/support/login-site.js";
import { fakeService, later } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";
import { browsersOf } from "./browser-cookie.js";

describe("logins that start at the same moment", () => {
  test("in one slow session, ten of them: all can be finished", async () => {
    const { service, site } = await open({ session: sessions(new SlowStore()) });
    const person = browser();
    await person.open(site.loginUrl); // so that there is a session
    const started = await Promise.all(Array.from({ length: 10 }, () => person.open(site.loginUrl)));
    const statuses: number[] = [];
    for (const { location } of started) statuses.push((await person.open(approval(location, "shop"))).status);
    expect(statuses).toEqual(Array(10).fill(200));
    expect(service.seen).toHaveLength(10);
  });

  test.each([
    ["in the order they were opened", [0, 1]],
    ["in the other order", [1, 0]],
  ])(
    "as the first two tabs of a browser, which gets two sessions: both can be finished, %s",
    async (_, order) => {
      const { service, site } = await open({ session: sessions(new SlowStore()) });
      const person = browser();
      const started = await Promise.all([person.open(site.loginUrl), person.open(site.loginUrl)]);
      for (const tab of order)
        expect((await person.open(approval(started[tab]?.location ?? "", "shop"))).status).toBe(200);
      expect(service.seen).toHaveLength(2);
    },
  );

  test("and bring back what the application gave each of them", async () => {
    let page = 0;
    const { site } = await open({
      session: sessions(new SlowStore()),
      authenticate: (_, passport) => (req, res, next) =>
        passport.authenticate("retail-pos", { state: { page: ++page } })(req, res, next),
    });
    const person = browser();
    const started = await Promise.all([person.open(site.loginUrl), person.open(site.loginUrl)]);
    const pages: number[] = [];
    for (const { location } of started)
      pages.push(JSON.parse((await person.open(approval(location, "shop"))).body).authInfo.state.page);
    expect(pages.sort()).toEqual([1, 2]);
  });
});

describe("a session whose id a stranger knows", () => {
  test("loses the stranger's login when somebody logs in with it", async () => {
    const { service, site } = await open();
    const [stranger, victim] = [browser(), browser()];
    const planted = approval((await stranger.open(site.loginUrl)).location, "evil");
    victim.setCookie("connect.sid", stranger.cookie("connect.sid"));
    const own = approval((await victim.open(site.loginUrl)).location, "shop");
    expect((await victim.open(own)).status).toBe(200);
    expect((await victim.open(planted)).status).toBe(403);
    expect(JSON.parse((await victim.open(site.meUrl)).body).user).toEqual({ domainPrefix: "shop" });
    expect(service.seen).toHaveLength(1);
  });

  test("loses it also where the application keeps all of the session", async () => {
    const { site } = await open({ options: { keepSessionInfo: true } });
    const [stranger, victim] = [browser(), browser()];
    const planted = approval((await stranger.open(site.loginUrl)).location, "evil");
    victim.setCookie("connect.sid", stranger.cookie("connect.sid"));
    const own = approval((await victim.open(site.loginUrl)).location, "shop");
    expect((await victim.open(own)).status).toBe(200);
    expect((await victim.open(planted)).status).toBe(403);
  });

  test("keeps this browser's, also one that started while the first waited for its tokens", async () => {
    const { service, site } = await open();
    const [gate, arrived] = [later(), later()];
    service.next(async (_, regular) => {
      arrived.resolve();
      await gate.promise;
      return regular();
    });
    const person = browser();
    const [one, two] = [await begun(person, site.loginUrl), await begun(person, site.loginUrl)];
    const first = person.open(one);
    await arrived.promise;
    const three = await begun(person, site.loginUrl);
    gate.resolve();
    expect((await first).status).toBe(200);
    expect((await person.open(three)).status).toBe(200);
    expect((await person.open(two)).status).toBe(200);
  });
});

describe("the cookie of a browser that logs in", () => {
  const secure = { callbackURL: "https://app.example.net/callback" };

  test.each<[string, object, RegExp]>([
    [
      "over http",
      {},
      /^retail-pos-browser-[\w-]{11}=[\w-]{32}; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax$/,
    ],
    [
      "over https",
      secure,
      /^__Host-retail-pos-browser-[\w-]{11}=[\w-]{32}; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/,
    ],
  ])("%s", async (_, options, expected) => {
    const { site } = await open({}, options);
    const { headers } = await browser().open(site.loginUrl);
    const lines = headers.getSetCookie().filter((line) => line.includes("retail-pos-browser"));
    expect(lines).toEqual([expect.stringMatching(expected)]);
    expect(headers.getSetCookie()).toHaveLength(2); // and the session's
  });

  test("is one, however many logins it starts one after another", async () => {
    const { site } = await open();
    const person = browser();
    for (let login = 0; login < 15; login += 1) await person.open(site.loginUrl);
    expect(ours(person.cookies())).toHaveLength(1);
  });

  test("is one of ten at most, if it started many at the same moment", async () => {
    const { site } = await open();
    const person = browser();
    await Promise.all(Array.from({ length: 15 }, () => person.open(site.loginUrl)));
    expect(ours(person.cookies())).toHaveLength(15);
    await person.open(site.loginUrl);
    expect(ours(person.cookies())).toHaveLength(10);
  });

  test.each([
    ["plain http", ""],
    ["a subdomain", "\u00a0__Host-"],
  ])("on https, one that %s could have planted does not count", async (_, start) => {
    const { service, site } = await open({}, secure);
    const stranger = browser();
    const planted = approval((await stranger.open(site.loginUrl)).location, "evil");
    const victim = browser();
    victim.setCookie("connect.sid", stranger.cookie("connect.sid"));
    for (const pair of ours(stranger.cookies())) {
      const [name = "", value = ""] = pair.split("=");
      victim.setCookie(name.replace("__Host-", start), value);
    }
    const own = approval((await victim.open(site.loginUrl)).location, "shop");
    expect((await victim.open(`${site.callbackUrl}${own.search}`)).status).toBe(200);
    expect((await victim.open(`${site.callbackUrl}${planted.search}`)).status).toBe(403);
    expect(service.seen).toHaveLength(1);
  });

  test.each([
    ["app.example.net", 0],
    ["localhost.example.net", 0],
    ["", 0],
    ["localhost:3000", 1],
    ["127.0.0.1", 1],
    ["[::1]:3000", 1],
  ])("without __Host- counts on this machine only: with %o as the host there are %i", (host, count) => {
    const cookie = `retail-pos-browser-${"n".repeat(11)}=${"v".repeat(32)}`;
    expect(browsersOf({ headers: { host, cookie } } as never)).toHaveLength(count);
    expect(browsersOf({ headers: { ":authority": host, cookie } } as never)).toHaveLength(count);
  });

  test("is one of twenty at most that a request is looked at for, and a start removes no more", async () => {
    const { site } = await open();
    const person = browser();
    for (let cookie = 0; cookie < 60; cookie += 1)
      person.setCookie(`retail-pos-browser-${"n".repeat(9)}${10 + cookie}`, "v".repeat(32));
    const { headers } = await person.open(site.loginUrl);
    expect(headers.getSetCookie().filter((line) => line.includes("Max-Age=0")).length).toBeLessThanOrEqual(
      20,
    );
    expect(browsersOf({ headers: { host: "localhost", cookie: person.cookies() } } as never)).toHaveLength(
      20,
    );
  });

  test.each(oddBlanks)("with %s before its name is no mark of a browser", (_, blank) => {
    const pair = `__Host-retail-pos-browser-${"n".repeat(11)}=${"v".repeat(32)}`;
    const marks = (cookie: string) => browsersOf({ headers: { cookie } } as never);
    expect(marks(`other=1; \t${pair}\t`)).toHaveLength(1);
    for (const cookie of [blank + pair, `other=1; ${blank}${pair}`]) expect(marks(cookie)).toEqual([]);
  });

  test.each([
    ["empty", ""],
    ["cut", "abc"],
    ["too long", "x".repeat(5_000)],
    ["no text of ours", "%00;"],
  ])("that comes back %s disturbs no login", async (_, value) => {
    const { site } = await open();
    const person = browser();
    const back = await begun(person, site.loginUrl);
    for (const pair of ours(person.cookies())) person.setCookie(pair.split("=", 1)[0] ?? "", value);
    expect((await person.open(back)).status).toBe(200);
  });
});

/** Takes 15 ms for each question, like a database. The last one to write a session wins. */
class SlowStore extends session.MemoryStore {
  override get(sid: string, callback: (error: unknown, session?: session.SessionData | null) => void) {
    setTimeout(() => super.get(sid, callback), 15);
  }
  override set(sid: string, data: session.SessionData, callback?: (error?: unknown) => void) {
    setTimeout(() => super.set(sid, data, callback), 15);
  }
}

function ours(cookies: string): string[] {
  return cookies.split("; ").filter((pair) => pair.includes("retail-pos-browser"));
}

async function begun(person: ReturnType<typeof browser>, loginUrl: string): Promise<URL> {
  return approval((await person.open(loginUrl)).location, "shop");
}

async function open(settings: SiteSettings<RetailPosStrategy> = {}, options: object = {}) {
  const service = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL, ...options },
      ({ domainPrefix }) => ({ domainPrefix }),
    );
  return { service, site: await loginSite(new Passport(), make, settings) };
}
