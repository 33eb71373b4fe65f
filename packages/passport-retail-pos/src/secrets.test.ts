import { inspect } from "node:util";
import { memoryStore } from "@retail-pos/core";
import { Passport } from "passport";
import { expect, test } from "vitest";
import { browser } from "../../../test/support/browser.js";
import { APPLICATION, approval, loginSite } from "../../../test/support/login-site.js";
import { fakeService, json, type Script } from "../../core/testing/fake-service.js";
import { type RetailPosLogin, RetailPosStrategy } from "./index.js";

const canary = {
  clientSecret: "canary+client/secret=",
  code: "canary&code with space",
  access: "canary-access-token",
  refresh: "canary-refresh-token",
};

test("printing the strategy shows none, neither before a login nor after it, by name or by instance", async () => {
  for (const byInstance of [false, true]) {
    const { site, person } = await logIn({ byInstance });
    expect(JSON.parse(person.answers[1]?.body ?? "").user).toEqual({ domainPrefix: "shop" });
    expectNoSecretIn(site.strategy);
  }
});

test("printing what verify is given as login shows none by accident", async () => {
  const printed: string[] = [];
  await logIn({ verify: (login) => void printed.push(inspect(login, { depth: 10, showHidden: true })) });
  expect(printed).toHaveLength(1);
  for (const secret of [canary.access, canary.refresh]) expect(printed[0]).not.toContain(secret);
});

test("params carry no refresh token", async () => {
  const params: unknown[] = [];
  await logIn({ verify: (login) => void params.push(login.params) });
  expect(JSON.stringify(params)).toContain(canary.access);
  expect(JSON.stringify(params)).not.toContain(canary.refresh);
});

const tokens = { access_token: canary.access, refresh_token: canary.refresh, token_type: "Bearer" };
const echo = `You sent code=${canary.code}&client_secret=${canary.clientSecret}`;

/** What the token endpoint may answer so that a careless client repeats a secret. */
const answers: [name: string, script: Script][] = [
  [
    "400, with the request in its description",
    () => json({ error: "invalid_request", error_description: echo }, 400),
  ],
  ["401, the client refused", () => json({ error: "invalid_client", error_description: echo }, 401)],
  ["500, with the request as its text", () => new Response(echo, { status: 500 })],
  ["500, with the request's form", (seen) => new Response(String(seen.form), { status: 500 })],
  [
    "a redirect with the request in its address",
    (seen) => new Response("", { status: 307, headers: { location: `https://x.example/?${seen.form}` } }),
  ],
  ["200, with the request as its text", () => new Response(echo)],
  ["200, with tokens but no JSON", () => new Response(`${JSON.stringify(tokens)},`)],
  ["200, with no refresh token", () => json({ ...tokens, refresh_token: undefined })],
  ["200, with no access token", () => json({ ...tokens, access_token: undefined })],
  [
    "200, with an access token of two lines",
    () => json({ ...tokens, access_token: `${canary.access}\n${canary.refresh}` }),
  ],
  ["200, for another retailer", () => json({ ...tokens, domain_prefix: "cafe" })],
  ["200, with an error", () => json({ ...tokens, error: echo })],
  ["429", () => json({ error: echo }, 429)],
  [
    "nothing: the network fails, and the error repeats the request",
    () => {
      throw new TypeError(`fetch failed: ${echo}`, { cause: { body: echo } });
    },
  ],
];

test.each(answers)("the error of an answer with %s shows none", async (_, script) => {
  const { site, person } = await logIn({ script });
  expect(person.answers[1]?.status).toBeGreaterThanOrEqual(500);
  expect(site.errors).toHaveLength(1);
  expectNoSecretIn(site.errors[0]);
  for (const { body, headers } of person.answers) expectNoSecretIn(body + JSON.stringify([...headers]), true);
});

test.each<[string, Script]>([
  ["with the request in its error", () => json({ error: echo }, 400)],
  [
    "with the request in its description",
    () => json({ error: "invalid_grant", error_description: echo }, 400),
  ],
])("the failure of a refused code, %s, shows none", async (_, script) => {
  const { site, person } = await logIn({ script });
  expect(person.answers[1]?.status).toBe(403);
  expect(site.errors).toEqual([]);
  for (const { body, headers } of person.answers) expectNoSecretIn(body + JSON.stringify([...headers]), true);
});

test("the error of a token store that repeats what it could not save shows none", async () => {
  const save = (set: unknown) => Promise.reject(Object.assign(new Error(JSON.stringify(set)), { set }));
  const { site } = await logIn({ tokenStore: { ...memoryStore(), save } });
  expect(site.errors).toHaveLength(1);
  expectNoSecretIn(site.errors[0]);
});

test.each([
  ["a state of somebody else", "state", "canary-of-a-foreign-state"],
  ["a hostile prefix", "domain_prefix", "canary.evil.example"],
  ["a repeated code", "code", "second"],
])("the failure of %s repeats nothing of the query", async (_, name, value) => {
  const told: unknown[] = [];
  const { person, back, site } = await begin({ told });
  if (name === "code") back.searchParams.append(name, value);
  else back.searchParams.set(name, value);
  await person.open(back);
  expect(site.errors).toEqual([]);
  expect(told).toHaveLength(1);
  expect(inspect(told)).not.toContain("canary");
  expectNoSecretIn(told);
});

test("an AuthorizationError shows none", async () => {
  const { person, back, site } = await begin({});
  back.searchParams.set("error", "server_error");
  await person.open(back);
  expect(site.errors).toHaveLength(1);
  expectNoSecretIn(site.errors[0]);
  expectNoSecretIn(person.answers[1]?.body ?? "");
});

/** As it is, and as a form or a URL writes it. */
function expectNoSecretIn(thing: unknown, isAnswer = false): void {
  const own = thing instanceof Error ? [thing.stack, thing.message, String(thing.cause)] : [];
  const shown = [
    inspect(thing, {
      depth: 10,
      showHidden: true,
      maxStringLength: null,
      maxArrayLength: null,
      getters: true,
    }),
    isAnswer ? "" : JSON.stringify(thing, (key, value) => (key === "client" ? undefined : value)),
    ...own,
  ].join("\n");
  for (const [name, secret] of Object.entries(canary)) {
    for (const form of [
      secret,
      encodeURIComponent(secret),
      new URLSearchParams({ "": secret }).toString().slice(1),
    ]) {
      expect(shown.includes(form), `${name} in ${shown}`).toBe(false);
    }
  }
}

interface Setup {
  byInstance?: boolean;
  script?: Script;
  tokenStore?: unknown;
  verify?: (login: RetailPosLogin) => unknown;
  told?: unknown[];
}

async function logIn(setup: Setup) {
  const begun = await begin(setup);
  await begun.person.open(begun.back);
  return begun;
}

async function begin({ byInstance, script, tokenStore, verify, told }: Setup) {
  const service = fakeService();
  service.always(script ?? (() => json(tokens)));
  const site = await loginSite(
    new Passport(),
    (callbackURL) =>
      new RetailPosStrategy(
        {
          ...APPLICATION,
          clientSecret: canary.clientSecret,
          fetch: service.fetch,
          callbackURL,
          ...(tokenStore !== undefined && { tokenStore: tokenStore as never }),
        },
        (verify ?? ((login: RetailPosLogin) => ({ domainPrefix: login.domainPrefix }))) as () => Express.User,
      ),
    {
      ...(byInstance && { authenticate: (strategy, passport) => passport.authenticate(strategy) }),
      ...(told && {
        authenticate: (_, passport) => (req, res, next) =>
          passport.authenticate("retail-pos", {}, (error: unknown, user: unknown, info: unknown) => {
            if (error) return next(error);
            if (user === false) told.push(info);
            res.end();
          })(req, res, next),
      }),
    },
  );
  const person = browser();
  const back = approval((await person.open(site.loginUrl)).location, "shop", canary.code);
  return { site, person, back };
}
