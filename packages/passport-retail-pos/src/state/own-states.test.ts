import type { RequestHandler } from "express";
import session from "express-session";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { type Browser, browser } from "../../../../test/support/browser.js";
import {
  APPLICATION,
  approval,
  loginSite,
  type SiteSettings,
  sessions,
} from "../../../../test/support/login-site.js";
import {
  type FakeService,
  fakeService,
  later,
  oauthError,
  type Script,
} from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";

const MINUTE_MS = 60_000;

describe("the state on the wire", () => {
  test.each([["no state"], ["abc"]])(
    "is fresh, random and at least 128 bits, whatever the application gives: %s",
    async (given) => {
      const { site } = await open(given === "abc" ? { options: { state: "abc" } } : {});
      const seen = new Set<string>();
      const perPosition: Set<string>[] = [];
      for (let login = 0; login < 200; login += 1) {
        const state = await startedBy(browser(), site.loginUrl);
        expect(state).toMatch(/^[A-Za-z0-9_-]{22,}$/); // 6 bits each
        seen.add(state);
        for (const [index, letter] of [...state].entries()) {
          perPosition[index] ??= new Set();
          perPosition[index].add(letter);
        }
      }
      expect(seen.size).toBe(200);
      // A counter, a timestamp or a fixed part would show as positions that hardly vary.
      expect(perPosition.filter((letters) => letters.size > 30).length).toBeGreaterThanOrEqual(22);
    },
  );

  test("shows nothing of the application's own", async () => {
    const { site } = await open({ options: { state: "own-state-of-the-application" } });
    const sent = await browser().open(site.loginUrl);
    expect(sent.location).not.toContain("own-state");
    expect(new URL(sent.location).searchParams.getAll("state")).toHaveLength(1);
  });
});

describe("the application's own state comes back as req.authInfo.state", () => {
  test.each<[string, unknown]>([
    ["a text", "abc"],
    ["an empty text", ""],
    ["a number", 7],
    ["zero", 0],
    ["true", true],
    ["false", false],
    ["null", null],
    ["a list", ["a", { b: 1 }]],
    ["an object", { returnTo: "/cart?x=1", nested: { deep: [1, null] } }],
  ])("%s", async (_, state) => {
    const { site } = await open({ options: { state } });
    expect(await authInfo(site.loginUrl)).toEqual({ state });
  });

  test("none: there is none", async () => {
    const { site } = await open();
    expect(await authInfo(site.loginUrl)).toEqual({});
  });

  test("each login its own, in one session", async () => {
    let page = 0;
    const { site } = await open({
      authenticate: (_, passport) => (req, res, next) =>
        passport.authenticate("retail-pos", { state: { page: ++page } })(req, res, next),
    });
    const person = browser();
    const [one, two] = [
      await begun(person, site.loginUrl, "shop"),
      await begun(person, site.loginUrl, "cafe"),
    ];
    expect(JSON.parse((await person.open(two)).body).authInfo.state).toEqual({ page: 2 });
    expect(JSON.parse((await person.open(one)).body).authInfo.state).toEqual({ page: 1 });
  });
});

describe("two tabs", () => {
  test.each([
    ["in the order they were opened", ["shop", "cafe"]],
    ["in the other order", ["cafe", "shop"]],
  ])("finish %s, though the first login empties the session under a new id", async (_, order) => {
    const { service, site } = await open();
    const person = browser();
    const tabs = new Map([
      ["shop", await begun(person, site.loginUrl, "shop")],
      ["cafe", await begun(person, site.loginUrl, "cafe")],
    ]);
    const ids = [person.cookies()];
    for (const retailer of order) {
      const answer = await person.open(tabs.get(retailer) ?? "");
      expect(JSON.parse(answer.body).user).toEqual({ domainPrefix: retailer });
      ids.push(person.cookies());
    }
    expect(new Set(ids).size).toBe(3);
    expect(service.seen.map(({ retailer }) => retailer)).toEqual(order);
  });

  test("finish when the application logs in by itself, in a custom callback", async () => {
    const { site } = await open({ authenticate: logInByItself });
    const person = browser();
    const one = await begun(person, site.loginUrl, "shop");
    const two = await begun(person, site.loginUrl, "cafe");
    expect((await person.open(one)).status).toBe(200);
    expect((await person.open(two)).status).toBe(200);
  });

  test("finish when both wait for their tokens at once", async () => {
    const { service, site } = await open();
    const person = browser();
    const backs = [await begun(person, site.loginUrl, "shop"), await begun(person, site.loginUrl, "cafe")];
    const [shop, cafe] = [held(service), held(service)];
    const answers = backs.map((back) => person.open(back));
    await Promise.all([shop.arrived, cafe.arrived]);
    shop.release();
    cafe.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
    expect(service.seen).toHaveLength(2);
  });

  test.each([
    ["gets them", 200, undefined],
    ["is refused them", 403, () => oauthError("invalid_grant")],
  ])(
    "finish when the second is opened while the first waits for its tokens and %s",
    async (_, status, script) => {
      const { service, site } = await open();
      const first = held(service, script);
      const person = browser();
      const firstAnswer = person.open(await begun(person, site.loginUrl, "shop"));
      await first.arrived;
      const second = await begun(person, site.loginUrl, "cafe");
      first.release();
      expect((await firstAnswer).status).toBe(status);
      expect((await person.open(second)).status).toBe(200);
    },
  );

  test("and a used one stays used under the new session id", async () => {
    const { service, site } = await open();
    const person = browser();
    const [one, two] = [
      await begun(person, site.loginUrl, "shop"),
      await begun(person, site.loginUrl, "cafe"),
    ];
    await person.open(one);
    await person.open(two);
    expect((await person.open(one)).status).toBe(403);
    expect((await person.open(two)).status).toBe(403);
    expect(service.seen).toHaveLength(2);
  });
});

describe("a callback that is not this browser's", () => {
  test("forged: the real one succeeds afterwards", async () => {
    const { service, site } = await open();
    const person = browser();
    const real = await begun(person, site.loginUrl, "shop");
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const forged = new URL(real);
      forged.searchParams.set("state", `forged-state-${attempt}`.padEnd(43, "x"));
      expect((await person.open(forged)).status).toBe(403);
    }
    expect((await person.open(real)).status).toBe(200);
    expect(service.seen).toHaveLength(1);
  });

  test("somebody else's: refused here, and still good there", async () => {
    const { service, site } = await open();
    const [attacker, victim] = [browser(), browser()];
    const attackers = await begun(attacker, site.loginUrl, "evil");
    const victims = await begun(victim, site.loginUrl, "shop");
    expect((await victim.open(attackers)).status).toBe(403);
    expect((await browser().open(attackers)).status).toBe(403);
    expect(service.seen).toEqual([]);
    expect(JSON.parse((await victim.open(victims)).body).user).toEqual({ domainPrefix: "shop" });
    expect(JSON.parse((await attacker.open(attackers)).body).user).toEqual({ domainPrefix: "evil" });
  });
});

describe("a login is single-use", () => {
  test("ten identical callbacks at once: one token request, one of them logged in", async () => {
    const { service, site } = await open();
    const person = browser();
    const back = await begun(person, site.loginUrl, "shop");
    const answers = await Promise.all(Array.from({ length: 10 }, () => person.open(back)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(403)]);
    expect(service.seen).toHaveLength(1);
  });

  test("a second one while the first waits for its tokens is refused", async () => {
    const { service, site } = await open();
    const shop = held(service);
    const person = browser();
    const back = await begun(person, site.loginUrl, "shop");
    const first = person.open(back);
    await shop.arrived;
    expect((await person.open(back)).status).toBe(403);
    shop.release();
    expect((await first).status).toBe(200);
    expect(service.seen).toHaveLength(1);
  });
});

describe("how many, and how long", () => {
  test("the number kept is bounded; the oldest go first", async () => {
    const store = new session.MemoryStore();
    const { site } = await open({ session: sessions(store) });
    const person = browser();
    const backs: string[] = [];
    for (let login = 0; login < 60; login += 1) backs.push(await begun(person, site.loginUrl, "shop"));
    const [stored = ""] = Object.values((store as unknown as { sessions: Record<string, string> }).sessions);
    expect(stored.length).toBeLessThan(4096);
    expect((await person.open(backs[0] ?? "")).status).toBe(403);
    for (const back of backs.slice(-5)) expect((await person.open(back)).status).toBe(200);
  });

  test.each([
    ["a second before 15 minutes", 15 * MINUTE_MS - 1000, 200],
    ["a second after 15 minutes", 15 * MINUTE_MS + 1000, 403],
    ["a day later", 24 * 60 * MINUTE_MS, 403],
    ["a clock that was set back by ten minutes", -10 * MINUTE_MS, 200],
    ["a clock that was set back by a day", -24 * 60 * MINUTE_MS, 403],
  ])("by `clock`: %s", async (_, passedMs, status) => {
    const time = { now: 1_900_000_000_000 };
    const { service, site } = await open({}, { clock: () => time.now });
    const person = browser();
    const back = await begun(person, site.loginUrl, "shop");
    time.now += passedMs;
    const answer = await person.open(back);
    expect(answer.status).toBe(status);
    expect(service.seen).toHaveLength(status === 200 ? 1 : 0);
  });
});

async function open(settings: SiteSettings<RetailPosStrategy> = {}, options: object = {}) {
  const service = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy({ ...APPLICATION, fetch: service.fetch, callbackURL, ...options }, (login) => ({
      domainPrefix: login.domainPrefix,
    }));
  return { service, site: await loginSite(new Passport(), make, settings) };
}

/** Holds the next token request until it is released. */
function held(service: FakeService, script?: Script) {
  const [gate, arrival] = [later(), later()];
  service.next(async (seen, regular) => {
    arrival.resolve();
    await gate.promise;
    return script ? script(seen, regular) : regular();
  });
  return { arrived: arrival.promise, release: () => gate.resolve() };
}

/** Starts a login; the state that went over the wire. */
async function startedBy(person: Browser, loginUrl: string): Promise<string> {
  return new URL((await person.open(loginUrl)).location).searchParams.get("state") ?? "";
}

/** Starts a login; where the service will send the browser. */
async function begun(person: Browser, loginUrl: string, retailer: string): Promise<string> {
  return approval((await person.open(loginUrl)).location, retailer).href;
}

async function authInfo(loginUrl: string): Promise<unknown> {
  const person = browser();
  return JSON.parse((await person.open(await begun(person, loginUrl, "shop"))).body).authInfo;
}

function logInByItself(
  _strategy: RetailPosStrategy,
  passport: { authenticate(name: string, options: object, callback: unknown): RequestHandler },
): RequestHandler {
  return (req, res, next) =>
    passport.authenticate("retail-pos", {}, (error: unknown, user: Express.User) =>
      error ? next(error) : req.logIn(user, next),
    )(req, res, next);
}
