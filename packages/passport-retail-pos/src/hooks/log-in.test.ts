import type { NextFunction, Request, Response } from "express";
import session from "express-session";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { APPLICATION, approval, loginSite, sessions } from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";

// vitest fails a run in which a rejection or an exception comes out of the process.

type Finish = (error: unknown, user: Express.User | false, info: object, status?: number) => unknown;
type Custom = (req: Request, res: Response, next: NextFunction) => Finish;

const boom = () => {
  throw new Error("boom");
};
const later = () => new Promise((resolve) => setImmediate(resolve));
const boomLater = () => later().then(boom);

/** Answers as soon as it is asked, as a session that is a cookie does. */
class SynchronousStore extends session.Store {
  readonly kept = new Map<string, string>();
  override get(sid: string, done: (error: unknown, session?: session.SessionData | null) => void) {
    done(null, JSON.parse(this.kept.get(sid) ?? "null"));
  }
  override set(sid: string, data: session.SessionData, done?: (error?: unknown) => void) {
    this.kept.set(sid, JSON.stringify(data));
    done?.();
  }
  override destroy(sid: string, done?: (error?: unknown) => void) {
    this.kept.delete(sid);
    done?.();
  }
}

const stores: [name: string, store: () => session.Store][] = [
  ["a session store that answers at once", () => new SynchronousStore()],
  ["one that answers later", () => new session.MemoryStore()],
];

describe.each(stores)("with %s, what the application throws reaches next(err):", (_, store) => {
  const logIn =
    (thrown: () => unknown): Custom =>
    (req) =>
    (_error, user) =>
      req.logIn(user as Express.User, thrown as () => void);

  test.each<[string, Custom]>([
    ["in its custom callback", () => boom],
    ["in an async one, at once", () => async () => boom()],
    ["in an async one, later", () => async () => boomLater()],
    ["in the callback of req.logIn", logIn(boom)],
    ["in an async one of req.logIn", logIn(async () => boom())],
    ["in an async one of req.logIn, later", logIn(boomLater)],
  ])("%s", async (_name, custom) => {
    const { site, person, back } = await open(store(), custom);
    const answer = await person.open(back);
    expect([answer.status, site.errors.map(String)]).toEqual([500, ["Error: boom"]]);
  });

  test.each<[string, Custom]>([
    ["in its custom callback", () => boom],
    ["in the callback of req.logIn, for a guest", (req) => () => req.logIn({} as Express.User, boom)],
  ])("%s, for a login that failed", async (_name, custom) => {
    const { site, person, callbackUrl } = await open(store(), custom);
    const answer = await person.open(`${callbackUrl}?error=access_denied`);
    expect([answer.status, site.errors.map(String)]).toEqual([500, ["Error: boom"]]);
  });

  test("in an async custom callback that is told of an error", async () => {
    const custom: Custom = () => async (error) => {
      if (error) boom();
    };
    const { site, person, back, service } = await open(store(), custom);
    service.next(() => new Response("", { status: 500 }));
    const answer = await person.open(back);
    expect([answer.status, site.errors.map(String)]).toEqual([500, ["Error: boom"]]);
  });
});

describe("what a custom callback catches itself is nobody else's:", () => {
  test.each<[string, Custom]>([
    ["an async one", (_req, res) => async () => void (await boomLater().catch(() => res.end("caught")))],
    ["one that is not", (_req, res) => () => void boomLater().catch(() => res.end("caught"))],
    [
      "one that tries",
      (_req, res) => async () => {
        try {
          await boomLater();
        } catch {
          res.end("caught");
        }
      },
    ],
  ])("%s", async (_, custom) => {
    const { site, person, back, callbackUrl } = await open(new session.MemoryStore(), custom);
    for (const url of [back, `${callbackUrl}?error=access_denied`]) {
      expect((await person.open(url)).body).toBe("caught");
      expect(site.errors).toEqual([]);
    }
  });
});

async function open(store: session.Store, custom: Custom) {
  const service = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy({ ...APPLICATION, fetch: service.fetch, callbackURL }, ({ domainPrefix }) => ({
      domainPrefix,
    }));
  const site = await loginSite(new Passport(), make, {
    session: sessions(store),
    authenticate: (_, passport) => (req, res, next) =>
      passport.authenticate("retail-pos", {}, custom(req, res, next))(req, res, next),
  });
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  return { service, site, person, back, callbackUrl: site.callbackUrl };
}
