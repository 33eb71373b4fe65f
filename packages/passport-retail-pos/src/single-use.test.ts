import { memoryStore, type RetailPos, retailPos, type TokenStore } from "@retail-pos/core";
import session from "express-session";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../test/support/browser.js";
import {
  APPLICATION,
  approval,
  type LoginSite,
  loginSite,
  sessions,
} from "../../../test/support/login-site.js";
import { fakeService } from "../../core/testing/fake-service.js";
import { RetailPosStrategy } from "./index.js";

// A state finishes one login, in all processes: the same callback may reach two of them, or come again much later.

type Done = (error: null, answer: unknown) => void;
const ownStates = {
  store: (_req: unknown, done: Done) => done(null, "a-state-of-the-store"),
  verify: (_req: unknown, state: string, done: Done) => done(null, state === "a-state-of-the-store"),
};

describe.each<[string, object]>([
  ["in the session", {}],
  ["in a state store of the application's own", { store: ownStates }],
])("a login kept %s", (_, options) => {
  test("is finished once by two processes that get the same callback", async () => {
    const { service, sites, person, back } = await twoProcesses(options);
    const answers = await Promise.all(
      [...sites, ...sites].map(({ callbackUrl }) => person.open(callbackUrl + back.search)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403]);
    expect(service.seen).toHaveLength(1);
  });

  test("is not finished if the store cannot say whether it is spent, and nothing is sent", async () => {
    const claim = () => Promise.reject(new Error("the store is away"));
    const { service, sites, person, back } = await twoProcesses(options, { ...memoryStore(), claim });
    for (const { callbackUrl } of sites)
      expect((await person.open(callbackUrl + back.search)).status).toBe(503);
    expect(sites.flatMap(({ errors }) => errors)).toMatchObject([
      { code: "store_failed", operation: "claim" },
      { code: "store_failed", operation: "claim" },
    ]);
    expect(service.seen).toEqual([]);
  });

  test("is finished once with a client that is a class", async () => {
    const { service, sites, person, back } = await twoProcesses(options, memoryStore(), asClass);
    const answers = await Promise.all(Array.from({ length: 5 }, () => person.open(back)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403, 403]);
    expect(service.seen).toHaveLength(1);
    expect(sites[0].errors).toEqual([]);
  });
});

test("the key that is claimed shows no state", async () => {
  const keys: string[] = [];
  const store = memoryStore();
  const claim: TokenStore["claim"] = async (key, forMs) => {
    keys.push(key);
    expect(forMs).toBeGreaterThanOrEqual(15 * 60_000);
    return store.claim?.(key, forMs) ?? false;
  };
  const { person, back } = await twoProcesses({}, { ...store, claim });
  expect((await person.open(back)).status).toBe(200);
  expect(keys).toEqual([expect.stringMatching(/login\/[\w-]{43}$/)]);
  expect(keys[0]).not.toContain(back.searchParams.get("state"));
});

describe.each([
  ["two services, as for staging,", { authUrl: "https://login.staging.example.com" }],
  ["two APIs of one service", { baseUrl: "https://{domain_prefix}.staging.example.com" }],
  ["two paths of one API", { baseUrl: "https://{domain_prefix}.example.com/two" }],
])("%s that know one client id", (_, differs) => {
  test("do not spend each other's states, though they share a store", async () => {
    const sites = await twoServices({ store: ownStates });
    const person = browser();
    for (const { loginUrl, callbackUrl } of sites) {
      const back = approval((await person.open(loginUrl)).location, "shop");
      expect((await person.open(callbackUrl + back.search)).status).toBe(200);
      expect((await person.open(callbackUrl + back.search)).status).toBe(403);
    }
  });

  test.each([
    ["the cookies of one browser", {}],
    ["a session", { store: "session" }],
  ])("do not finish each other's logins, though they share %s", async (_where, options) => {
    const [one, two] = await twoServices(options);
    const person = browser();
    const back = approval((await person.open(one.loginUrl)).location, "shop");
    await person.open(two.loginUrl);
    expect((await person.open(two.callbackUrl + back.search)).status).toBe(403);
    expect((await person.open(one.callbackUrl + back.search)).status).toBe(200);
  });

  async function twoServices(options: object = {}) {
    const [tokenStore, sessionStore] = [memoryStore(), new session.MemoryStore()];
    const open = (application: { [Name in keyof typeof APPLICATION]: string }) => {
      const { fetch } = fakeService();
      const make = (callbackURL: string) =>
        new RetailPosStrategy(
          { ...application, callbackURL, tokenStore, fetch, ...options },
          ({ domainPrefix }) => ({ domainPrefix }),
        );
      return loginSite(new Passport(), make, { session: sessions(sessionStore) });
    };
    return [await open(APPLICATION), await open({ ...APPLICATION, ...differs })] as const;
  }
});

test("a forged callback claims nothing", async () => {
  const claims: string[] = [];
  const claim = async (key: string) => claims.push(key) > 0;
  const { person, back } = await twoProcesses({}, { ...memoryStore(), claim });
  back.searchParams.set("state", "forged".padEnd(43, "x"));
  expect((await person.open(back)).status).toBe(403);
  expect(claims).toEqual([]);
});

test("a slow request that writes an old session back does not make a spent state good again", async () => {
  const store = new session.MemoryStore();
  const stored = () => (store as unknown as { sessions: Record<string, string> }).sessions;
  const { service, sites, person, back } = await twoProcesses({}, memoryStore(), (client) => client, store);
  const before = { ...stored() };
  expect((await person.open(back)).status).toBe(200);
  const [id = ""] = Object.keys(stored());
  const [old = "{}"] = Object.values(before);
  stored()[id] = JSON.stringify({ ...JSON.parse(stored()[id] ?? "{}"), ...JSON.parse(old) });
  for (const { callbackUrl } of sites)
    expect((await person.open(callbackUrl + back.search)).status).toBe(403);
  expect(service.seen).toHaveLength(1);
});

/** Two sites on one token store and one session store, and a login that the first one started. */
async function twoProcesses(
  options: object,
  tokenStore: TokenStore = memoryStore(),
  made: (client: RetailPos) => RetailPos = (client) => client,
  sessionStore = new session.MemoryStore(),
) {
  const service = fakeService();
  const { clientID: clientId, ...application } = APPLICATION;
  const redirectUri = "https://app.example.net/callback";
  const open = () => {
    const client = made(
      retailPos({ ...application, clientId, redirectUri, store: tokenStore, fetch: service.fetch }),
    );
    const make = () =>
      new RetailPosStrategy({ client, ...options }, ({ domainPrefix }) => ({ domainPrefix }));
    return loginSite(new Passport(), make, { session: sessions(sessionStore) });
  };
  const sites: [LoginSite<RetailPosStrategy>, LoginSite<RetailPosStrategy>] = [await open(), await open()];
  const person = browser();
  const { search } = approval((await person.open(sites[0].loginUrl)).location, "shop");
  return { service, sites, person, back: new URL(sites[0].callbackUrl + search) };
}

/** Its methods need `this`, as those of a class do. */
function asClass(client: RetailPos): RetailPos {
  class Client {
    readonly inner = client;
    readonly application = client.application;
    authorizationUrl(...args: Parameters<RetailPos["authorizationUrl"]>) {
      return this.inner.authorizationUrl(...args);
    }
    exchange(...args: Parameters<RetailPos["exchange"]>) {
      return this.inner.exchange(...args);
    }
    connect(...args: Parameters<RetailPos["connect"]>) {
      return this.inner.connect(...args);
    }
    retailer(...args: Parameters<RetailPos["retailer"]>) {
      return this.inner.retailer(...args);
    }
    claim(...args: Parameters<RetailPos["claim"]>) {
      return this.inner.claim(...args);
    }
    secretFor(...args: Parameters<RetailPos["secretFor"]>) {
      return this.inner.secretFor(...args);
    }
  }
  return new Client() as unknown as RetailPos;
}
