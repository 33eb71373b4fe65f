import { EventEmitter } from "node:events";
import { memoryStore } from "@retail-pos/core";
import { Passport } from "passport";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { APPLICATION, approval, loginSite } from "../../../../test/support/login-site.js";
import { fakeService, T0 } from "../../../core/testing/fake-service.js";
import { type RetailPosLogin, RetailPosStrategy } from "../index.js";
import { type AnyVerify, askVerify } from "./verify.js";

// The functions are called by declared length, so they are written here in every length there is.
const user = { id: 1 };
const boom = new Error("verify failed");
const profile = { provider: "retail-pos", id: "shop", domainPrefix: "shop", displayName: "shop" };
const params = {
  access_token: "access-shop-1",
  token_type: "Bearer",
  expires: T0 / 1000 + 86_400,
  expires_in: 86_400,
  domain_prefix: "shop",
};
const login = {
  domainPrefix: "shop",
  tokens: expect.objectContaining({ domainPrefix: "shop", refreshToken: "refresh-shop-1" }),
  params,
  profile,
};
const [access, refresh, done] = ["access-shop-1", "refresh-shop-1", expect.any(Function)];
const req = expect.objectContaining({ url: expect.stringMatching(/^\/callback/) });

/** Every signature; `given` is what it is called with. */
const styles: [name: string, passReq: boolean, given: unknown[], make: (inner: AnyVerify) => AnyVerify][] = [
  ["(login)", false, [login], (inner) => (a) => inner(a)],
  ["(login, done)", false, [login, done], (inner) => (a, b) => inner(a, b)],
  [
    "(access, refresh, profile, done)",
    false,
    [access, refresh, profile, done],
    (inner) => (a, b, c, d) => inner(a, b, c, d),
  ],
  [
    "(access, refresh, params, profile, done)",
    false,
    [access, refresh, params, profile, done],
    (inner) => (a, b, c, d, e) => inner(a, b, c, d, e),
  ],
  ["(req, login)", true, [req, login], (inner) => (a, b) => inner(a, b)],
  ["(req, login, done)", true, [req, login, done], (inner) => (a, b, c) => inner(a, b, c)],
  [
    "(req, access, refresh, profile, done)",
    true,
    [req, access, refresh, profile, done],
    (inner) => (a, b, c, d, e) => inner(a, b, c, d, e),
  ],
  [
    "(req, access, refresh, params, profile, done)",
    true,
    [req, access, refresh, params, profile, done],
    (inner) => (a, b, c, d, e, f) => inner(a, b, c, d, e, f),
  ],
];
const withDone = styles.filter(([name]) => name.includes("done"));
const withoutDone = styles.filter(([name]) => !name.includes("done"));

/** What a verify of the login may promise, with `done` or without. passport-oauth2 has no such forms. */
const promises: [name: string, inner: AnyVerify, outcome: Outcome][] = [
  ["promises a user", async () => user, accepted],
  [
    "promises a user of an ORM",
    async () =>
      new (class Person {
        id = 1;
      })(),
    accepted,
  ],
  ["promises a user later", () => new Promise((resolve) => setImmediate(resolve, user)), accepted],
  ["promises null", async () => null, refused],
  ["promises false", async () => false, refused],
];
/** What any verify may do, and what becomes of it. */
const anyBehaviour: [name: string, inner: AnyVerify, outcome: Outcome][] = [
  [
    "throws",
    () => {
      throw boom;
    },
    failed,
  ],
  ["rejects", () => Promise.reject(boom), failed],
  ["rejects with undefined", () => Promise.reject(undefined), failed],
  [
    "throws null",
    () => {
      throw null;
    },
    failed,
  ],
];
const doneBehaviour: [name: string, inner: AnyVerify, outcome: Outcome][] = [
  ["done(null, user)", (...args) => void args.at(-1)(null, user), accepted],
  ["done(null, user), later", (...args) => void setImmediate(args.at(-1), null, user), accepted],
  ["done(null, user), from an async function", async (...args) => void args.at(-1)(null, user), accepted],
  [
    "done(null, user), by a callback that an async function does not wait for",
    async (...args) => void setImmediate(args.at(-1), null, user),
    accepted,
  ],
  [
    "done(null, user), then throws",
    (...args) => {
      args.at(-1)(null, user);
      throw boom;
    },
    accepted,
  ],
  [
    "done(null, user), then rejects",
    async (...args) => {
      args.at(-1)(null, user);
      throw boom;
    },
    accepted,
  ],
  [
    "done(null, user) twice",
    (...args) => {
      args.at(-1)(null, user);
      args.at(-1)(null, { id: 2 });
    },
    accepted,
  ],
  [
    "done(null, user), then done(err)",
    (...args) => {
      args.at(-1)(null, user);
      args.at(-1)(boom);
    },
    accepted,
  ],
  ["done(null, false)", (...args) => void args.at(-1)(null, false), refused],
  [
    "done(null, false), then done(null, user)",
    (...args) => {
      args.at(-1)(null, false);
      args.at(-1)(null, user);
    },
    refused,
  ],
  [
    "done(null, user), and returns a query that must not run twice",
    (...args) => {
      setImmediate(args.at(-1), null, user);
      // biome-ignore lint/suspicious/noThenProperty: as Mongoose's queries have it
      return { then: () => args.at(-1)(boom) };
    },
    accepted,
  ],
  ["done()", (...args) => void args.at(-1)(), refused],
  ["done(err)", (...args) => void args.at(-1)(boom), failed],
  ["done(err), later", (...args) => void setImmediate(args.at(-1), boom), failed],
  ["done(err, user)", (...args) => void args.at(-1)(boom, user), failed],
  // An arrow function returns whatever its last call returned: a timer, a query, a connection.
  ["returns a timer, and refuses later", (...args) => setImmediate(args.at(-1), null, false), refused],
  ["returns a timer, and fails later", (...args) => setImmediate(args.at(-1), boom), failed],
  [
    "promises a timer, and refuses later",
    async (...args) => setTimeout(args.at(-1), 1, null, false),
    refused,
  ],
  ["promises a query, and refuses later", async (...args) => query(args.at(-1), false), refused],
  ["promises a query, and accepts later", async (...args) => query(args.at(-1), user), accepted],
  ["returns a timer, and accepts later", (...args) => setImmediate(args.at(-1), null, user), accepted],
  // What a client of a database promises is no answer: its callback calls `done`.
  ...[true, "blocked", 1, 0, "", undefined].flatMap((promised): typeof doneBehaviour => [
    [`promises ${JSON.stringify(promised)}, and refuses later`, promising(promised, false), refused],
    [`promises ${JSON.stringify(promised)}, and accepts later`, promising(promised, user), accepted],
  ]),
];
function promising(promised: unknown, answer: unknown): AnyVerify {
  return async (...args) => {
    setTimeout(args.at(-1), 1, null, answer);
    return promised;
  };
}

describe.each(styles)("verify %s", (_, passReqToCallback, given, make) => {
  test("is called with what its length asks for", async () => {
    const seen = vi.fn();
    await attempt(
      make((...args) => {
        seen(...args);
        const last: unknown = args.at(-1);
        return typeof last === "function" ? last(null, user) : Promise.resolve(user);
      }),
      passReqToCallback,
    );
    expect(seen.mock.calls).toEqual([given]);
  });

  test.each(anyBehaviour)("%s", async (_name, inner, outcome) => {
    outcome(await attempt(make(inner), passReqToCallback));
  });
});

describe.each(styles.filter(([name]) => name.includes("login")))(
  "verify %s",
  (_, passReqToCallback, _given, make) => {
    test.each(promises)("%s", async (_name, inner, outcome) => {
      outcome(await attempt(make(inner), passReqToCallback));
    });
  },
);

describe.each(styles.filter(([name]) => !name.includes("login")))("verify %s", (_, passReq, _given, make) => {
  test.each([[user], [null], [false]])(
    "promises %j: as in passport-oauth2, only done answers",
    async (promised) => {
      refused(await attempt(make(promising(promised, false)), passReq));
      accepted(await attempt(make(promising(promised, user)), passReq));
    },
  );
});

describe.each(withDone)("verify %s", (_, passReqToCallback, _given, make) => {
  test.each(doneBehaviour)("%s", async (_name, inner, outcome) => {
    outcome(await attempt(make(inner), passReqToCallback));
  });

  test("hands its reason on", async () => {
    const inner: AnyVerify = (...args) => void args.at(-1)(null, false, { message: "no such shop", code: 7 });
    const { told } = await attempt(make(inner), passReqToCallback);
    expect(told).toEqual([[false, { message: "no such shop", code: 7 }, undefined]]);
  });

  test("hands what it says about an accepted user on", async () => {
    const inner: AnyVerify = (...args) => void args.at(-1)(null, user, { scope: "all" });
    const { told } = await attempt(make(inner), passReqToCallback);
    expect(told).toEqual([[user, { scope: "all" }, undefined]]);
  });
});

test("a user of which nothing may be asked is an error, not the end of the process", async () => {
  const proxy = new Proxy(
    {},
    {
      has: () => {
        throw boom;
      },
      get: (_, name) => (name === "then" ? undefined : 1),
    },
  );
  failed(await attempt(async (_login: never, _done: never) => proxy, false));
});

test.each(withDone)(
  "of verify %s, a plain object is the user only where passport-oauth2 has no such form",
  async (name, passReqToCallback, _, make) => {
    const inner: AnyVerify = (...args) => {
      setImmediate(args.at(-1), null, false);
      return user; // or what a client of a database hands out: { cancel }
    };
    const outcome = name.includes("login") ? accepted : refused;
    outcome(await attempt(make(inner), passReqToCallback));
  },
);

describe.each(withoutDone)("verify %s", (_, passReqToCallback, _given, make) => {
  test.each([[undefined], [null], [false], [0], [""]])("returning %o refuses", async (value) => {
    refused(
      await attempt(
        make(() => value),
        passReqToCallback,
      ),
    );
  });

  test("returning a user accepts", async () => {
    accepted(
      await attempt(
        make(() => user),
        passReqToCallback,
      ),
    );
  });
});

describe("verify with rest arguments", () => {
  test.each<[string, AnyVerify, boolean, Outcome]>([
    ["returning a user", (..._args) => user, false, accepted],
    ["promising a user", async (..._args) => user, false, accepted],
    ["calling done, the last one", (...args) => void args.at(-1)(null, user), false, accepted],
    ["refusing through done", (...args) => void args.at(-1)(null, false), false, refused],
    ["behind a named one", (_first, ...args) => void args.at(-1)(null, user), false, accepted],
    ["answering nothing", (..._args) => {}, false, refused],
    [
      "calling done later",
      (...args) => {
        setImmediate(args.at(-1), null, user);
      },
      false,
      accepted,
    ],
    [
      "throwing",
      (..._args) => {
        throw boom;
      },
      false,
      failed,
    ],
    [
      "behind the request, calling done later",
      (_req: unknown, ...args: never[]) => {
        setImmediate(args.at(-1) as never, null, user);
      },
      true,
      accepted,
    ],
    ["and the request", (...args) => void args.at(-1)(null, args[1].profile && user), true, accepted],
  ])("%s is answered", async (_, verify, passReqToCallback, outcome) => {
    outcome(await attempt(verify, passReqToCallback));
  });
});

describe("verify of another length is a TypeError", () => {
  const strategy = (verify: unknown, passReqToCallback: boolean) => () =>
    new RetailPosStrategy(
      { ...APPLICATION, callbackURL: "https://app.example.net/cb", passReqToCallback } as never,
      verify as never,
    );

  test.each<[number, boolean, AnyVerify]>([
    [3, false, (_a, _b, _c) => user],
    [6, false, (_a, _b, _c, _d, _e, _f) => user],
    [7, false, (_a, _b, _c, _d, _e, _f, _g) => user],
    [4, true, (_a, _b, _c, _d) => user],
    [7, true, (_a, _b, _c, _d, _e, _f, _g) => user],
  ])("%i parameters, passReqToCallback %s", (_, passReqToCallback, verify) => {
    expect(strategy(verify, passReqToCallback)).toThrow(TypeError);
    expect(strategy(verify, passReqToCallback)).toThrow(/verify/);
  });

  test.each([[undefined], [null], ["text"], [{}]])("%o", (verify) => {
    expect(strategy(verify, false)).toThrow(TypeError);
  });
});

describe("verify that never answers", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test.each<[string, AnyVerify]>([
    ["declares done and does not call it", (_login, _done) => {}],
    ["promises an answer that never comes", (_login) => new Promise(() => {})],
  ])("%s: the login ends as an error all the same", async (_, verify) => {
    const tokens = { access: { value: "a" }, refreshToken: "r" };
    const answer = askVerify(verify, false, {} as never, { tokens } as RetailPosLogin).catch(
      (error) => error,
    );
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(await answer).toEqual(expect.objectContaining({ message: expect.stringMatching(/verify/) }));
    expect(vi.getTimerCount()).toBe(0);
  });
});

interface Attempt {
  /** What the custom callback was told: user, info, status. */
  told: unknown[][];
  errors: unknown[];
  /** Whether the tokens were kept. */
  connected: boolean;
  status: number;
}
type Outcome = (attempt: Attempt) => void;

function accepted({ told, errors, connected }: Attempt): void {
  expect({ told, errors, connected }).toEqual({ told: [[user, {}, undefined]], errors: [], connected: true });
}

function refused({ told, errors, connected, status }: Attempt): void {
  expect({ told, errors, connected, status }).toEqual({
    told: [[false, undefined, undefined]],
    errors: [],
    connected: false,
    status: 401,
  });
}

function failed({ told, errors, connected, status }: Attempt): void {
  expect({ told, connected, status }).toEqual({ told: [], connected: false, status: 500 });
  expect(errors).toHaveLength(1);
}

/** One whole login of the retailer "shop", up to the answer of Passport. */
async function attempt(verify: AnyVerify, passReqToCallback: boolean): Promise<Attempt> {
  const told: unknown[][] = [];
  const tokenStore = memoryStore();
  const { fetch } = fakeService();
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch, callbackURL, tokenStore, passReqToCallback, clock: () => T0 } as never,
      verify as never,
    );
  const site = await loginSite(new Passport(), make, {
    authenticate: (_, passport) => (request, res, next) =>
      passport.authenticate("retail-pos", {}, (error: unknown, ...answer: unknown[]) => {
        if (error) return next(error);
        if (answer.length === 0) return next();
        told.push([...answer, undefined].slice(0, 3));
        res.status(answer[0] ? 200 : 401).end();
      })(request, res, next),
  });
  const person = browser();
  const { status } = await person.open(approval((await person.open(site.loginUrl)).location, "shop"));
  const connected = (await tokenStore.load("shop" as never)) !== undefined;
  return { told, errors: site.errors, connected, status };
}

/** As drivers of MySQL and SQLite have it: it is returned, and calls back. */
function query(done: (error: unknown, user: unknown) => void, user: unknown): EventEmitter {
  setTimeout(done, 1, null, user);
  return new EventEmitter();
}
