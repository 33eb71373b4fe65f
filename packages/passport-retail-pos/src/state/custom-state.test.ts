import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { APPLICATION, approval, loginSite, type SiteSettings } from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";

type Done = (error?: unknown, answer?: unknown, extra?: unknown) => void;
type Req = { url: string };

/** What passport-oauth2 gives a store as `meta`, here and in the callback. */
const meta = {
  authorizationURL: "https://login.example.com/connect",
  tokenURL: "https://{domain_prefix}.example.com/api/1.0/token",
  clientID: "the-application",
  callbackURL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
};
const own = { returnTo: "/cart" };
const req = expect.objectContaining({ url: expect.stringMatching(/^\/(login|callback)/) });
const done = expect.any(Function);

test("a store may promise its answers instead of calling back", async () => {
  const store = {
    store: async (_req: unknown) => "the-promised-state",
    verify: async (_req: unknown, state: string) => state === "the-promised-state",
  };
  const { fetch } = fakeService();
  const site = await loginSite(
    new Passport(),
    (callbackURL) =>
      new RetailPosStrategy({ ...APPLICATION, fetch, callbackURL, store }, ({ domainPrefix }) => ({
        domainPrefix,
      })),
  );
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  expect(back.searchParams.get("state")).toBe("the-promised-state");
  expect((await person.open(back)).status).toBe(200);
  back.searchParams.set("state", "of-somebody-else");
  expect((await person.open(back)).status).toBe(403);
});

test("a login that this process started is finished by the person who began it, with such a store, too", async () => {
  const store = {
    store: async (_req: unknown) => "the-promised-state",
    verify: async (_req: unknown, state: string) => state === "the-promised-state",
  };
  const { fetch, seen } = fakeService();
  let user: string | undefined = "anna";
  const site = await loginSite(
    new Passport(),
    (callbackURL) =>
      new RetailPosStrategy({ ...APPLICATION, fetch, callbackURL, store }, ({ domainPrefix }) => ({
        domainPrefix,
      })),
    {
      session: (req, _res, next) => next(void Object.assign(req, { session: { passport: { user } } })),
      authenticate: (_strategy, passport) => passport.authorize("retail-pos"),
    },
  );
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  for (const other of ["ben", undefined]) {
    user = other;
    expect((await person.open(back)).status).toBe(403);
  }
  expect(seen).toEqual([]);
  user = "anna";
  expect((await person.open(back)).status).toBe(200);
});

test.each<[string, (req: unknown, state: string) => Promise<unknown>]>([
  ["nothing", async (_req, _state) => undefined],
  ["null", async (_req, _state) => null],
])("a store that promises %s for a state it does not know refuses the login", async (_, verify) => {
  const store = { store: async (_req: unknown) => "the-promised-state", verify };
  const { fetch, seen } = fakeService();
  const site = await loginSite(
    new Passport(),
    (callbackURL) => new RetailPosStrategy({ ...APPLICATION, fetch, callbackURL, store }, () => null),
  );
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop");
  back.searchParams.set("state", "of-somebody-else");
  expect((await person.open(back)).status).toBe(403);
  expect(seen).toEqual([]);
});

test("a store that promises no state is an error through next", async () => {
  const store = { store: async (_req: unknown) => undefined, verify: async () => true };
  const { fetch } = fakeService();
  const site = await loginSite(
    new Passport(),
    (callbackURL) => new RetailPosStrategy({ ...APPLICATION, fetch, callbackURL, store }, () => null),
  );
  expect((await browser().open(site.loginUrl)).status).toBe(500);
});

describe("a store of your own is called as passport-oauth2 calls it", () => {
  const calls: unknown[][] = [];
  const storing = (...given: unknown[]) => {
    calls.push(given);
    (given.at(-1) as Done)(null, "the-state-of-the-store");
  };
  const checking = (...given: unknown[]) => {
    calls.push(given);
    (given.at(-1) as Done)(null, true, own);
  };
  const stores: [name: string, store: (...given: never[]) => void, given: unknown[]][] = [
    ["(req, done)", (a: Req, b: Done) => storing(a, b), [req, done]],
    ["(req, meta, done)", (a: Req, b: object, c: Done) => storing(a, b, c), [req, meta, done]],
    [
      "(req, state, meta, done)",
      (a: Req, b: unknown, c: object, d: Done) => storing(a, b, c, d),
      [req, own, meta, done],
    ],
    [
      "(req, verifier, state, meta, done)",
      (a: Req, b: unknown, c: unknown, d: object, e: Done) => storing(a, b, c, d, e),
      [req, undefined, own, meta, done],
    ],
  ];
  const verifies: [name: string, verify: (...given: never[]) => void, given: unknown[]][] = [
    [
      "(req, state, done)",
      (a: Req, b: string, c: Done) => checking(a, b, c),
      [req, "the-state-of-the-store", done],
    ],
    [
      "(req, state, meta, done)",
      (a: Req, b: string, c: object, d: Done) => checking(a, b, c, d),
      [req, "the-state-of-the-store", meta, done],
    ],
  ];

  for (const [storeName, store, stored] of stores) {
    test.each(verifies)(`store ${storeName}, verify %s`, async (_, verify, verified) => {
      calls.length = 0;
      const { site } = await open({ store, verify }, { options: { state: own } });
      const person = browser();
      const back = approval((await person.open(site.loginUrl)).location, "shop");
      expect(JSON.parse((await person.open(back)).body).authInfo).toEqual({ state: own });
      expect(calls).toEqual([stored, verified]);
    });
  }

  test("as methods of the store", async () => {
    class Store {
      readonly states = new Set<string>();
      store(_req: unknown, done: Done) {
        this.states.add("the-only-state");
        done(null, "the-only-state");
      }
      verify(_req: unknown, state: string, done: Done) {
        done(null, this.states.delete(state));
      }
    }
    const { service, site } = await open(new Store());
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(200);
    expect((await person.open(back)).status).toBe(403);
    expect(service.seen).toHaveLength(1);
  });
});

describe("what it returns", () => {
  test.each(["12345678", "with space&and=signs#?+%20", "état-öffnen-状態", "x".repeat(2000)])(
    "is sent as it is: %s",
    async (state) => {
      const { site } = await open({ store: (_: Req, done: Done) => done(null, state), verify });
      const { location } = await browser().open(site.loginUrl);
      expect(new URL(location).searchParams.getAll("state")).toEqual([state]);
    },
  );

  test.each([
    ["7 characters", "1234567"],
    ["nothing", ""],
    ["undefined", undefined],
    ["null", null],
    ["a number", 1_234_567_890],
    ["an object", { length: 12 }],
  ])("is an error when it is %s, and nobody is redirected", async (_, state) => {
    const { site } = await open({ store: (_: Req, done: Done) => done(null, state), verify });
    const answer = await browser().open(site.loginUrl);
    expect([answer.status, answer.location]).toEqual([500, ""]);
    expect(site.errors).toEqual([expect.objectContaining({ message: expect.stringMatching(/state/) })]);
  });
});

const failure = new Error("the state store is down");
const failing: [name: string, fail: (done: Done) => unknown][] = [
  [
    "throws",
    () => {
      throw failure;
    },
  ],
  ["rejects", () => Promise.reject(failure)],
  ["calls back with an error", (done) => done(failure)],
  [
    "calls back with an error, later",
    (done) => {
      setImmediate(done, failure);
    },
  ],
  [
    "calls back with an error, then without",
    (done) => {
      done(failure);
      done(null, "a-state-of-the-store");
    },
  ],
];

describe("a store that fails is an error through next", () => {
  test.each(failing)("store %s", async (_, fail) => {
    const { site } = await open({ store: (_: Req, done: Done) => fail(done), verify });
    expect((await browser().open(site.loginUrl)).status).toBe(500);
    expect(site.errors).toEqual([failure]);
  });

  test.each(failing)("verify %s: nothing is sent", async (_, fail) => {
    const failingVerify = (_: Req, _state: string, done: Done) => fail(done);
    const { service, site } = await open({ store, verify: failingVerify });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(500);
    expect(site.errors).toEqual([failure]);
    expect(service.seen).toEqual([]);
  });

  test.each([
    ["undefined", undefined],
    ["null", null],
    ["false", false],
  ])("also when it rejects with %s: the route behind is not reached", async (_, reason) => {
    const rejecting = () => Promise.reject(reason);
    const { site } = await open({ store, verify: (_: Req, _state: string, _done: Done) => rejecting() });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(500);
  });
});

describe("a store that refuses", () => {
  const refusals: [name: string, extra: unknown, message: RegExp][] = [
    ["without a reason", undefined, /state store/i],
    ["with passport-oauth2's reason", { message: "Invalid authorization request state." }, /^Invalid auth/],
    ["with a text", "not one of ours", /^not one of ours$/],
  ];
  test.each(refusals)("%s: 403, nothing sent", async (_, extra, message) => {
    const told: unknown[] = [];
    const refusing = (_: Req, _state: string, done: Done) => done(null, false, extra);
    const { service, site } = await open(
      { store, verify: refusing },
      {
        authenticate: (_strategy, passport) => (req, res, next) =>
          passport.authenticate(
            "retail-pos",
            {},
            (_e: unknown, user: unknown, info: unknown, status: number) => {
              if (user !== undefined) told.push(user, info, status);
              res.status(status).end();
            },
          )(req, res, next),
      },
    );
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(403);
    expect(told).toEqual([false, { code: "state_unknown", message: expect.stringMatching(message) }, 403]);
    expect(service.seen).toEqual([]);
  });

  test.each([true, 1, "its owner", {}])("by done, after it promised %j, lets nobody in", async (promised) => {
    const verify = async (_: Req, _state: string, done: Done) => {
      setTimeout(done, 5, null, false);
      return promised;
    };
    const { service, site } = await open({ store, verify });
    expect(
      (await browser().open(`${site.callbackUrl}?code=c&domain_prefix=shop&state=made-up-by-a-stranger`))
        .status,
    ).toBe(403);
    expect(service.seen).toEqual([]);
  });

  test("and then accepts by a second call is not believed", async () => {
    const twice = (_: Req, _state: string, done: Done) => {
      done(null, false);
      done(null, true);
    };
    const { service, site } = await open({ store, verify: twice });
    const person = browser();
    const back = approval((await person.open(site.loginUrl)).location, "shop");
    expect((await person.open(back)).status).toBe(403);
    expect(service.seen).toEqual([]);
  });
});

describe("a store that calls back twice", () => {
  test("redirects once, and exchanges once", async () => {
    const { service, site } = await open({
      store: (_: Req, done: Done) => {
        done(null, "the-first-state");
        done(null, "the-second-state");
      },
      verify: (_: Req, _state: string, done: Done) => {
        done(null, true, "one");
        setImmediate(done, null, true, "two");
      },
    });
    const person = browser();
    const sent = await person.open(site.loginUrl);
    expect(new URL(sent.location).searchParams.get("state")).toBe("the-first-state");
    const answer = await person.open(approval(sent.location, "shop"));
    expect(JSON.parse(answer.body).authInfo).toEqual({ state: "one" });
    expect(service.seen).toHaveLength(1);
  });
});

test("with it and `session: false` no session is needed", async () => {
  const { service, site } = await open({ store, verify }, { session: false, options: { session: false } });
  const person = browser();
  const sent = await person.open(site.loginUrl);
  expect(JSON.parse((await person.open(approval(sent.location, "shop"))).body).user).toEqual({
    domainPrefix: "shop",
  });
  expect(person.cookies()).toBe("");
  expect(service.seen).toHaveLength(1);
});

function store(_req: Req, done: Done) {
  done(null, "a-state-of-the-store");
}

function verify(_req: Req, state: string, done: Done) {
  done(null, state === "a-state-of-the-store");
}

async function open(
  states: { store(...given: never[]): unknown; verify(...given: never[]): unknown },
  settings: SiteSettings<RetailPosStrategy> = {},
) {
  const service = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL, store: states as never },
      ({ domainPrefix }) => ({ domainPrefix }),
    );
  return { service, site: await loginSite(new Passport(), make, settings) };
}
