import type { RequestHandler } from "express";
import { Passport } from "passport";
import { expect, test, vi } from "vitest";
import { type Browser, browser } from "../../../test/support/browser.js";
import {
  APPLICATION,
  approval,
  loginSite,
  type SiteSettings,
  sessions,
} from "../../../test/support/login-site.js";
import { fakeService } from "../../core/testing/fake-service.js";
import { type RetailPosLogin, RetailPosStrategy } from "./index.js";

const causes: [name: string, code: string, message: RegExp, how: (story: Story) => Promise<void>][] = [
  [
    "no cookie came back",
    "state_unknown",
    /did not come back.*one host name.*starts on https/i,
    async ({ person, back }) => {
      person.forgetCookies();
      await person.open(back);
    },
  ],
  [
    "its cookie was sealed with another secret",
    "state_unknown",
    /cannot be opened/i,
    async ({ person, back }) => {
      const [name = "", value = ""] = person.cookies().split(";")[0]?.split("=") ?? [];
      person.setCookie(
        name,
        value.replace(/^./, (first) => (first === "A" ? "B" : "A")),
      );
      await person.open(back);
    },
  ],
  [
    "somebody logged in meanwhile",
    "state_unknown",
    /whoever is logged in now did not start this login/,
    async ({ person, origin, loginUrl }) => {
      await person.open(`${origin}/log-in?user=anna`);
      const back = approval((await person.open(loginUrl)).location, "shop");
      await person.open(`${origin}/log-in?user=ben`);
      await person.open(back);
    },
  ],
  [
    "it was started in another browser",
    "state_unknown",
    /another browser/i,
    async ({ loginUrl, back }) => {
      const other = browser();
      await other.open(loginUrl);
      await other.open(back);
    },
  ],
  [
    "it is used already",
    "state_unknown",
    /already used/i,
    async ({ person, back }) => {
      await person.open(back);
      await person.open(back);
    },
  ],
  [
    "it is used already, and another login is under way",
    "state_unknown",
    /already used/i,
    async ({ person, back, loginUrl }) => {
      await person.open(back);
      await person.open(loginUrl);
      await person.open(back);
    },
  ],
  [
    "it took too long",
    "state_expired",
    /15 minutes/i,
    async ({ person, back, time }) => {
      time.now += 20 * 60_000;
      await person.open(back);
    },
  ],
  [
    "there is no state at all",
    "state_missing",
    /no state/i,
    async ({ person, back }) => {
      const url = new URL(back);
      url.searchParams.delete("state");
      await person.open(url);
    },
  ],
  [
    "the retailer declined",
    "access_denied",
    /declined/i,
    async ({ person, back }) => {
      await person.open(`${new URL(back).origin}/callback?error=access_denied&error_description=anything`);
    },
  ],
];

test.each(causes)("when %s, a custom callback is told so", async (_, code, message, how) => {
  const story = await begin();
  await how(story);
  expect(story.told.at(-1)).toEqual({
    info: { code, message: expect.stringMatching(message) },
    status: 403,
    user: false,
  });
  for (const [, , other] of causes.filter(([, , pattern]) => String(pattern) !== String(message))) {
    expect(JSON.stringify(story.told.at(-1))).not.toMatch(other);
  }
});

test("failureMessage: true puts the message into the session", async () => {
  const { site } = await open({ options: { failureMessage: true, failureRedirect: "/sorry" } });
  const person = browser();
  await person.open(site.loginUrl);
  const answer = await person.open(`${site.callbackUrl}?error=access_denied`);
  expect([answer.status, answer.location]).toEqual([302, "/sorry"]);
  const { session: stored } = JSON.parse((await person.open(site.meUrl)).body);
  expect(stored.messages).toEqual([expect.stringMatching(/declined/i)]);
});

test("in development each reason is logged, once: Passport's answer is a bare Forbidden", async () => {
  const lines: string[] = [];
  const { site } = await open({}, { logFailures: (line: string) => lines.push(line) });
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  for (let times = 0; times < 2; times += 1) {
    expect(await browser().open(back)).toMatchObject({ status: 403, body: "Forbidden" });
    expect((await person.open(`${site.callbackUrl}?error=access_denied`)).status).toBe(403);
  }
  expect((await person.open(back)).status).toBe(200);
  expect(lines).toEqual([
    expect.stringMatching(/^A login failed \(state_unknown\): .*troubleshooting\.md#a-login-fails-infocode$/),
    expect.stringMatching(/^A login failed \(access_denied\): The retailer declined .*infocode$/),
  ]);
  expect(lines.join()).not.toContain(back.searchParams.get("state"));
});

test("a failure falls through to the next strategy, and all of them failing tells each", async () => {
  const told: unknown[] = [];
  const { site } = await open({
    authenticate: (_, passport) => (req, res, next) => {
      const names = ["retail-pos", "retail-pos"];
      passport.authenticate(
        names,
        {},
        (_error: unknown, _user: unknown, infos: unknown, statuses: unknown) => {
          told.push(infos, statuses);
          res.end();
        },
      )(req, res, next);
    },
  });
  await browser().open(`${site.callbackUrl}?error=access_denied`);
  const info = { code: "access_denied", message: expect.any(String) };
  expect(told).toEqual([
    [info, info],
    [403, 403],
  ]);
});

test.each<[string, (...args: never[]) => unknown, RegExp]>([
  ["returns nothing", () => undefined, /answered undefined: return a user, or call done/],
  ["promises nothing", async () => undefined, /answered undefined: return a user/],
  ["returns false", () => false, /answered false\./],
  [
    "says null through done",
    (_login, done: (e: null, user: null) => void) => done(null, null),
    /answered null\./,
  ],
])("a verify that %s is told of in one line", async (_, verify, expected) => {
  const lines: string[] = [];
  const { site } = await open({}, { logFailures: (line: string) => lines.push(line) }, verify);
  for (const shop of ["shop", "cafe"]) {
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, shop);
    expect((await person.open(back)).status).toBe(401);
  }
  expect(lines).toEqual([expect.stringMatching(/login_refused.*verify let nobody in/)]);
  expect(lines[0]).toMatch(expected);
});

test.each<[string, (login: object) => unknown]>([
  ["itself", (login) => login],
  ["as a copy", async (login) => ({ ...login })],
])("a verify that returns the login %s, with its tokens, is told of", async (_, verify) => {
  const lines: string[] = [];
  const { site } = await open({}, { logFailures: (line: string) => lines.push(line) }, verify as never);
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  expect((await person.open(back)).status).toBe(200);
  expect(lines).toEqual([
    expect.stringMatching(/^Sessions and pages may show tokens: verify returned the login/),
  ]);
});

test("a user's own tokens, a relation that is loaded when it is read, are left alone", async () => {
  const get = vi.fn(() => Promise.reject(new Error("no such table")));
  const verify = async () => Object.defineProperty({ id: 1 }, "tokens", { get, enumerable: false });
  const { site } = await open({}, {}, verify as never);
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  expect((await person.open(back)).status).toBe(200);
  expect(get).not.toHaveBeenCalled();
});

// Passport throws inside the failure it was told of. The request has to end, and the process to go on.
test.each([
  ["access_denied", new Error("of the application's own making")],
  ["server_error", new Error("of the application's own making")],
  ["access_denied", Object.create(null)], // no text can be made of it
])(
  "a custom callback that throws whatever it is told (%s) is called once, and Express answers",
  async (error, thrown) => {
    const told: unknown[] = [];
    const authenticate: typeof throwing = (_strategy, passport) => (req, res, next) =>
      passport.authenticate("retail-pos", {}, (...args: unknown[]) => {
        told.push(args);
        throw thrown;
      })(req, res, next);
    const { site } = await open({ authenticate });
    expect((await browser().open(`${site.callbackUrl}?error=${error}`)).status).toBe(500);
    expect(told).toHaveLength(1);
  },
);

test.each<[string, SiteSettings<RetailPosStrategy>]>([
  ["failureFlash without flash middleware", { options: { failureFlash: true } }],
  ["failureMessage without a session", { options: { failureMessage: true, session: false }, session: false }],
  ["a custom callback that throws", { authenticate: throwing }],
])("%s is an error through next, not a request that hangs", async (_, settings) => {
  const { site } = await open(settings);
  const answer = await browser().open(`${site.callbackUrl}?error=access_denied`);
  expect(answer.status).toBe(500);
  expect(site.errors).toHaveLength(1);
});

function throwing(
  _strategy: RetailPosStrategy,
  passport: { authenticate(name: string, options: object, callback: unknown): RequestHandler },
): RequestHandler {
  return (req, res, next) =>
    passport.authenticate("retail-pos", {}, (error: unknown) => {
      if (error) return next(error);
      throw new Error("of the application's own making");
    })(req, res, next);
}

interface Story {
  person: Browser;
  loginUrl: string;
  origin: string;
  back: URL;
  time: { now: number };
  told: unknown[];
}

/** A login under way, in a site that tells what its custom callback was told. */
async function begin(): Promise<Story> {
  const told: unknown[] = [];
  const { site, time } = await open({
    session: withOwnLogin(),
    authenticate: (_, passport) => (req, res, next) => {
      const answer = (error: unknown, user: Express.User | false, info: unknown, status: number) => {
        if (error) return next(error);
        if (user) return req.logIn(user, next);
        told.push({ info, status, user });
        res.status(status).end();
      };
      passport.authenticate("retail-pos", {}, answer)(req, res, next);
    },
  });
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  return { person, loginUrl: site.loginUrl, origin: site.origin, back, time, told };
}

/** Sessions, and a login of the application's own: `/log-in?user=anna`. */
function withOwnLogin(): RequestHandler {
  const real = sessions();
  return (req, res, next) =>
    real(req, res, (error) => {
      if (error || req.path !== "/log-in") return next(error);
      Object.assign(req.session, { passport: { user: { domainPrefix: String(req.query["user"]) } } });
      res.end();
    });
}

async function open(
  settings: SiteSettings<RetailPosStrategy>,
  options: object = {},
  verify: (...args: never[]) => unknown = ({ domainPrefix }: RetailPosLogin) => ({ domainPrefix }),
) {
  const time = { now: 1_900_000_000_000 };
  const { fetch } = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch, callbackURL, clock: () => time.now, ...options },
      verify as () => Express.User,
    );
  return { time, site: await loginSite(new Passport(), make, settings) };
}
