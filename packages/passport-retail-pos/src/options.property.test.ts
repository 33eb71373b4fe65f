import { type RetailPos, retailPos } from "@retail-pos/core";
import fc from "fast-check";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { answered, anything, holds, spoilt, unlessRefused } from "../../../test/support/fuzz.js";
import { APPLICATION } from "../../../test/support/login-site.js";
import { RetailPosStrategy, type RetailPosStrategyOptions } from "./index.js";

const CALLBACK = "https://app.example.net/callback";
const client: RetailPos = retailPos({
  authUrl: APPLICATION.authUrl,
  baseUrl: APPLICATION.baseUrl,
  clientId: "the-application",
  clientSecret: "the-client-secret",
  redirectUri: CALLBACK,
});
const stateStore = {
  store: (_req: unknown, done: (error: unknown, state?: string) => void) => done(null, "state-of-the-store"),
  verify: (_req: unknown, _state: string, done: (error: unknown, ok?: boolean) => void) => done(null, true),
};
const common = { sessionKey: "logins", store: stateStore, scopeSeparator: ",", proxy: true, clock: () => 0 };
const styles: Record<string, object> = {
  "of the Passport style": {
    ...APPLICATION,
    callbackURL: CALLBACK,
    userAgent: "test",
    timeoutMs: 1,
    ...common,
  },
  "with a client": { client, callbackURL: CALLBACK, ...common },
};
const odd = ["state", "pkce", "tokenStore", "lock", "clientSecret", "authUrl", "passReqToCallback"];
const names = [
  ...[
    "options",
    "state",
    "pkce",
    "store",
    "sessionKey",
    "clock",
    "client",
    "callbackURL",
    "clientID",
    "tokenStore",
  ],
  ...["authUrl", "baseUrl", "clientSecret", "redirectUri", "lock", "timeoutMs", "userAgent", "verify"],
];
const values = fc.constantFrom<unknown>(
  client,
  {},
  stateStore,
  { load() {} },
  { store() {} },
  "/callback",
  "?a=b",
  () => 1,
);
const verify = () => undefined;

describe.each(Object.entries(styles))("options %s", (_, good) => {
  test("either work or are refused by a TypeError that names one of them", async () => {
    await holds(
      fc.asyncProperty(spoilt(good, [...Object.keys(good), ...odd], values), async (given) => {
        const options = given as unknown as RetailPosStrategyOptions;
        const strategy = unlessRefused(() => new RetailPosStrategy(options as never, verify), names);
        if (!strategy) return;
        expect(strategy.name).toBe("retail-pos");
        const { answers, location } = await startOf(strategy);
        expect(answers).toHaveLength(1);
        if (location !== undefined) expectConsent(new URL(location), options.store === stateStore);
      }),
      1_500,
    );
  });
});

test("a verify of any kind either works or is refused by name", async () => {
  const good = { ...APPLICATION, callbackURL: CALLBACK };
  const functions = fc
    .integer({ min: 0, max: 9 })
    .map((length) => Object.defineProperty(() => {}, "length", { value: length }));
  await holds(
    fc.property(fc.oneof(anything(), functions), fc.boolean(), (given, passReqToCallback) => {
      const options = { ...good, passReqToCallback } as never;
      const strategy = unlessRefused(() => new RetailPosStrategy(options, given as typeof verify), names);
      const length = typeof given === "function" ? given.length - Number(passReqToCallback) : Number.NaN;
      expect(strategy !== undefined).toBe(length <= 2 || length === 4 || length === 5);
    }),
    300,
  );
});

test("nothing but an object is options", async () => {
  const none = anything().filter((value) => typeof value !== "object" || value === null);
  await holds(
    fc.property(none, (options) => {
      expect(unlessRefused(() => new RetailPosStrategy(options as never, verify), names)).toBeUndefined();
    }),
    300,
  );
});

async function startOf(
  strategy: RetailPosStrategy,
): Promise<{ answers: string[]; location: string | undefined }> {
  const passport = new Passport();
  passport.use(strategy);
  const answers: string[] = [];
  let location: string | undefined;
  await answered(
    new Promise<void>((resolve) => {
      const answer = (how: string) => {
        answers.push(how);
        setImmediate(resolve);
      };
      const res = {
        setHeader: (_name: string, value: string) => {
          location ??= value;
        },
        end: () => answer("redirect"),
      };
      const req = {
        method: "GET",
        url: "/login",
        originalUrl: "/login",
        query: {},
        headers: { host: "a.example" },
        session: {},
      };
      passport.authenticate("retail-pos", {}, () => answer("callback"))(req, res, () => answer("next"));
    }),
  );
  return { answers, location };
}

/** 4.1, with one state of enough letters. */
function expectConsent({ protocol, searchParams }: URL, isOwnState: boolean): void {
  expect(["https:", "http:"]).toContain(protocol);
  for (const name of ["response_type", "client_id", "redirect_uri", "state"])
    expect(searchParams.getAll(name), name).toHaveLength(1);
  if (!isOwnState) expect(searchParams.get("state")?.length).toBeGreaterThanOrEqual(8);
}
