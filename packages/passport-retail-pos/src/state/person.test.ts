import type { Express, RequestHandler } from "express";
import session from "express-session";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { APPLICATION, approval, loginSite, sessions } from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";

// A login is finished by the person who began it. `anna` and `ben` log in with a password; "" is nobody.

describe.each([
  ["authenticate", 200],
  ["authorize", 403],
] as const)("%s: a login", (action, ofNobody) => {
  test.each([
    ["nobody", "nobody", 200],
    ["anna", "anna", 200],
    ["anna", "ben", 403],
    ["anna", "nobody", 403],
    ["nobody", "ben", ofNobody],
  ])("that %s began comes back to %s: %i", async (one, other, status) => {
    const { person, service, url, begin } = await open(action);
    await person.open(url(one));
    const back = await begin("shop");
    await person.open(url(other));
    expect((await person.open(back)).status).toBe(status);
    expect(service.seen).toHaveLength(status === 200 ? 1 : 0);
  });

  test("that another person began is not spent: it is good once that person is back", async () => {
    const { person, url, begin } = await open(action);
    await person.open(url("anna"));
    const back = await begin("shop");
    await person.open(url("ben"));
    expect((await person.open(back)).status).toBe(403);
    await person.open(url("anna"));
    expect((await person.open(back)).status).toBe(200);
  });
});

describe("tabs", () => {
  test("of nobody finish in any order, though the first one logs in", async () => {
    const { person, begin } = await open("authenticate");
    const tabs = [await begin("one"), await begin("two"), await begin("three")];
    for (const tab of [2, 0, 1]) expect((await person.open(tabs[tab] ?? "")).status).toBe(200);
  });

  test("of one person: the second is refused with words of its own, if the first logged in as another one", async () => {
    const { person, url, begin, failures } = await open("authenticate");
    await person.open(url("anna"));
    const tabs = [await begin("one"), await begin("two")];
    expect((await person.open(tabs[0] ?? "")).status).toBe(200);
    expect((await person.open(tabs[1] ?? "")).status).toBe(403);
    expect(failures).toEqual([expect.stringContaining("whoever is logged in now did not start this login")]);
  });

  test("a store that nobody began to connect does not go to the account that they have then", async () => {
    const { person, begin, connect } = await open("authenticate");
    const connecting = await connect("shop");
    expect((await person.open(await begin("cafe"))).status).toBe(200);
    expect((await person.open(connecting)).status).toBe(403);
  });
});

describe("what Passport keeps in the session tells who it is", () => {
  test.each<[string, unknown, unknown, number]>([
    ["its id, whatever else is noted", { id: 7, stores: [] }, { id: 7, stores: ["shop"], at: 2 }, 200],
    ["its id, another one", { id: 7, stores: [] }, { id: 8, stores: [] }, 403],
    ["all it has, where nothing names it", { name: "anna", tags: [1] }, { name: "anna", tags: [1] }, 200],
    ["all it has, another one", { name: "anna", tags: [1] }, { name: "ben", tags: [1] }, 403],
    ["its id, of another table", { id: 7, type: "customer" }, { id: 7, type: "admin" }, 403],
    ["its id, of the same table", { id: 7, type: "admin", at: 1 }, { id: 7, type: "admin", at: 2 }, 200],
    ["the number that it is", 7, 8, 403],
    ["the same number", 7, 7, 200],
  ])("by %s", async (_, before, after, status) => {
    let user = before;
    const kept: RequestHandler = (req, _res, next) => {
      Object.assign(req, { session: { passport: { user } } });
      next();
    };
    const { person, begin } = await open("authorize", kept);
    const back = await begin("shop");
    user = after;
    expect((await person.open(back)).status).toBe(status);
  });
});

test("somebody who logs in and starts in one request is the same once the session is loaded", async () => {
  let user: unknown = { id: new ObjectId("anna"), since: new Date(1) };
  const kept: RequestHandler = (req, _res, next) => {
    Object.assign(req, { session: { passport: { user } } });
    next();
  };
  const { person, begin } = await open("authorize", kept);
  const back = await begin("shop");
  user = JSON.parse(JSON.stringify(user));
  expect((await person.open(back)).status).toBe(200);
});

test.each(["member", "user"])(
  "where Passport was told to use `member`, req.%s is the person",
  async (place) => {
    let who = "anna";
    const { person, begin } = await open("authorize", false, (app) =>
      app.use((req, _res, next) => {
        Object.assign(req, { _userProperty: "member", [place]: { id: who } }); // as `passport.initialize` sets it
        next();
      }),
    );
    const back = await begin("shop");
    who = "ben";
    expect((await person.open(back)).status).toBe(403);
  },
);

/** As MongoDB's driver has ids. */
class ObjectId {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString() {
    return this.#text;
  }
  toJSON() {
    return this.#text;
  }
}

class Redacted extends ObjectId {
  override toJSON() {
    return "[hidden]";
  }
}

class Member {
  readonly role = "member";
  readonly #name: string;
  constructor(name: string) {
    this.#name = name;
  }
  get greeting() {
    return `Hello ${this.#name}`;
  }
}

test.each([
  ["its id", { id: 7, seen: 1 }, { id: 7, seen: 2 }, 200],
  ["its sub", { sub: "a", iat: 1 }, { sub: "a", iat: 2 }, 200],
  ["its id, another one", { id: 7 }, { id: 8 }, 403],
  ["all it has", { name: "anna" }, { name: "ben" }, 403],
  ["all it has, the same", { name: "anna" }, { name: "anna" }, 200],
  ["its id beyond 2^53", big(0n), big(0n), 200],
  ["its id beyond 2^53, another one", big(0n), big(1n), 403],
  ["a text", "anna", "anna", 200],
  ["a text, another one", "anna", "ben", 403],
  ["nothing that can be compared", circular(), circular(), 403],
  ["a class that shows its role only", new Member("anna"), new Member("anna"), 403],
  ["its user_id", { user_id: "a", at: new Date(1) }, { user_id: "a", at: new Date(2) }, 200],
  ["the bytes of its id", { id: Buffer.from("a"), roles: [] }, { id: Buffer.from("a"), roles: [] }, 200],
  ["the bytes of its id, another one", { id: Buffer.from("a") }, { id: Buffer.from("b") }, 403],
  ["its email, beside an empty id", { id: "", email: "a" }, { id: "", email: "b" }, 403],
  ["its sub, of another issuer", { sub: "1", iss: "a" }, { sub: "1", iss: "b" }, 403],
  ["being there", undefined, { id: 7 }, 403],
  ["being nobody, of whom there is an empty object", {}, {}, 200],
  ["being there, where there was an empty object", {}, { id: 7 }, 403],
  ["the id of a database", { _id: new ObjectId("a"), at: 1 }, { _id: new ObjectId("a"), at: 2 }, 200],
  ["the id of a database, another one", { _id: new ObjectId("a") }, { _id: new ObjectId("b") }, 403],
  ["an id that shows itself to nobody", { id: new Redacted("a") }, { id: new Redacted("b") }, 403],
  ["an id of a tag and a private value", { id: new Member("anna") }, { id: new Member("ben") }, 403],
  ["an id of hidden bytes", { id: { of: new ArrayBuffer(1) } }, { id: { of: new ArrayBuffer(1) } }, 403],
  ["an id that is a symbol", { id: Symbol("a"), role: "x" }, { id: Symbol("b"), role: "x" }, 403],
  ["a text that only looks like its id", { id: 7n }, { id: "7n" }, 403],
  ["halves of two letters", { id: "\ud800" }, { id: "\ud801" }, 403],
  ["a name that JSON hides", { role: "x", [Symbol.for("id")]: 1 }, { role: "x", [Symbol.for("id")]: 2 }, 403],
  ["a function", Object.assign(() => {}, { id: "a" }), Object.assign(() => {}, { id: "b" }), 403],
  ["its id, in another tenant", inTenant(1), inTenant(2), 403],
  ["its id, in the same tenant", inTenant(1), inTenant(1, new Date(9)), 200],
  ["its name, which another property has", { uid: "a" }, { username: "a" }, 403],
  ["all it has, a time too", { name: "a", since: new Date(1) }, { name: "a", since: new Date(1) }, 200],
  ["all it has, another time", { name: "a", since: new Date(1) }, { name: "a", since: new Date(2) }, 403],
  ["being the one operator", true, true, 200],
  ["its id, of another provider", { id: "a", provider: "one" }, { id: "a", provider: "two" }, 403],
  ["its id, beside an email that was not loaded", unloaded(7), unloaded(7), 200],
  ["its id, beside an email that was not loaded, another one", unloaded(7), unloaded(8), 403],
  ["its id, where any other name throws", strict({ id: 7 }), strict({ id: 7 }), 200],
  ["its id, where any other name throws, another one", strict({ id: 7 }), strict({ id: 8 }), 403],
  ["its email, where its id throws", lazy("a"), lazy("a"), 200],
  ["its email, where its id throws, another one", lazy("a"), lazy("b"), 403],
  ["its id, beside a tenant whose query must not be sent", unqueried(7), unqueried(7), 200],
  ["an id that throws later", { id: 7, email: "a" }, lazy("a"), 403],
])("without Passport's session req.user tells who it is, by %s", async (_, before, after, status) => {
  let user: unknown = before;
  const setUser: RequestHandler = (req, _res, next) =>
    next(void Object.assign(req, user !== undefined && { user }));
  const { person, begin } = await open("authorize", false, (app) => app.use(setUser));
  const back = await begin("shop");
  user = after;
  expect((await person.open(back)).status).toBe(status);
});

/** As an ORM loads a relation. */
function inTenant(id: number, seenAt = new Date(1)): object {
  return { id: 1, tenant: { id, seenAt, close() {} } };
}

/** As TypeORM has a lazy relation. Nobody waits for the promise, so its rejection would end the process. */
function unqueried(id: number): object {
  return Object.defineProperty({ id }, "tenant", { get: () => Promise.reject(new Error("no such table")) });
}

/** As an ORM has it, with an answer that JSON can hold. */
function big(more: bigint): object {
  return { id: 2n ** 60n + more, toJSON: () => "anna" };
}

function lazy(email: string): object {
  return new (class {
    readonly email = email;
    get id() {
      throw new Error("not loaded");
    }
  })();
}

function unloaded(id: number): object {
  return new (class {
    readonly id = id;
    get email() {
      throw new Error("not loaded");
    }
  })();
}

/** As a library has it that finds misspelt properties. */
function strict(user: object): object {
  return new Proxy(user, {
    get(target, key) {
      if (key in target || key === "toJSON") return Reflect.get(target, key);
      throw new Error(`no ${String(key)}`);
    },
  });
}

function circular(): object {
  const user: { self?: object } = {};
  user.self = user;
  return user;
}

async function open(
  action: "authenticate" | "authorize",
  session: RequestHandler | false = withPasswords(),
  configure: (app: Express) => void = () => {},
) {
  const [service, person, failures] = [fakeService(), browser(), [] as string[]];
  const make = (callbackURL: string) =>
    new RetailPosStrategy(
      { ...APPLICATION, fetch: service.fetch, callbackURL, logFailures: (line) => void failures.push(line) },
      ({ domainPrefix }) => ({ domainPrefix }),
    );
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
    failures,
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
