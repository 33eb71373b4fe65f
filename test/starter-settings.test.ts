import { expect, test } from "vitest";
import { settingsFrom as koaSettings } from "../examples/koa-service/src/settings.js";
import { settingsFrom as manySettings } from "../examples/many-stores/src/settings.js";

// What a starter makes of its environment; for express-login, settings.test.ts lies beside it. A copy that runs with a
// setting forgotten, or with one that everybody knows, is found out by strangers; a program that does not start is found
// out at once.

const starters = {
  "koa-service": koaSettings,
  "many-stores": manySettings,
};
const ofEach = Object.entries(starters);

const service = {
  RETAIL_POS_AUTH_URL: "https://auth.example",
  RETAIL_POS_BASE_URL: "https://{domain_prefix}.retail.example",
  RETAIL_POS_CLIENT_ID: "ours",
  RETAIL_POS_CLIENT_SECRET: "a client secret of 32 characters",
  RETAIL_POS_REDIRECT_URI: "https://shelfview.example/auth/retail-pos/callback",
};
const deployed = { ...service, SESSION_SECRET: "a session secret of 32 characters" };
const onThisMachine = {
  ...service,
  RETAIL_POS_REDIRECT_URI: "http://localhost:3000/auth/retail-pos/callback",
};
const ofSandbox = {
  RETAIL_POS_CLIENT_ID: "sandbox-application",
  RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret",
};
const names = Object.keys(service);
const callback = "/auth/retail-pos/callback";

test.each(ofEach)(
  "%s without any of the service's settings is for the sandbox, and this machine",
  (_, read) => {
    for (const env of [{}, Object.fromEntries(names.map((name) => [name, ""]))])
      expect(read(env)).toMatchObject({
        authUrl: "http://127.0.0.1:4010",
        clientId: "sandbox-application",
        redirectUri: "http://localhost:3000/auth/retail-pos/callback",
        port: 3000,
        host: "127.0.0.1",
      });
    expect(read({ PORT: "3001" }).redirectUri).toBe("http://localhost:3001/auth/retail-pos/callback");
    expect(read({ RETAIL_POS_SCOPE: "products:read" })).toMatchObject({ scope: "products:read" });
  },
);

test.each(ofEach)("%s in production has no default for them, also if none is given", (_, read) => {
  const NODE_ENV = "production";
  expect(problemsOf(read, { NODE_ENV })).toEqual([
    ...names.map((name) => `${name} is missing`),
    "SESSION_SECRET is missing",
  ]);
  expect(problemsOf(read, { NODE_ENV, ...deployed })).toEqual([]);
  // Tried in a container on this machine.
  expect(problemsOf(read, { NODE_ENV, ...onThisMachine, ...ofSandbox })).toEqual([]);
});

test.each(ofEach)("%s takes all of its own", (_, read) => {
  expect(read({ ...deployed, PORT: "8080" })).toMatchObject({
    authUrl: service.RETAIL_POS_AUTH_URL,
    baseUrl: service.RETAIL_POS_BASE_URL,
    clientId: "ours",
    clientSecret: service.RETAIL_POS_CLIENT_SECRET,
    redirectUri: service.RETAIL_POS_REDIRECT_URI,
    sessionSecret: deployed.SESSION_SECRET,
    port: 8080,
    host: "0.0.0.0",
  });
  expect(read({ ...deployed, HOST: "::1" })).toMatchObject({ host: "::1" });
});

test.each(ofEach)("%s takes no setting of the sandbox's beside one of its own", (_, read) => {
  for (const given of [deployed, onThisMachine])
    for (const name of names)
      for (const missing of [undefined, "", " "])
        expect(problemsOf(read, { ...given, SESSION_SECRET: "x".repeat(32), [name]: missing })).toEqual([
          `${name} is missing`,
        ]);
});

test.each(ofEach)("%s names all that is missing or wrong at once, and shows no value", (_, read) => {
  expect(problemsOf(read, { RETAIL_POS_CLIENT_SECRET: "a secret of ours" })).toEqual([
    ...names.filter((name) => name !== "RETAIL_POS_CLIENT_SECRET").map((name) => `${name} is missing`),
    "SESSION_SECRET is missing",
  ]);
  const wrong = {
    RETAIL_POS_BASE_URL: "retail.example",
    RETAIL_POS_AUTH_URL: "",
    PORT: "eighty",
    HOST: "here",
  };
  const problems = problemsOf(read, { ...deployed, ...ofSandbox, ...wrong, SESSION_SECRET: "too short" });
  expect(problems).toEqual([
    "PORT must be a whole number from 0 to 65535",
    "RETAIL_POS_AUTH_URL is missing",
    "RETAIL_POS_CLIENT_ID is the sandbox's",
    "RETAIL_POS_CLIENT_SECRET is the sandbox's",
    expect.stringMatching(/^RETAIL_POS_BASE_URL must/),
    "HOST must be an IP address",
    "SESSION_SECRET must be 32 characters or more",
  ]);
  expect(problems.join()).not.toMatch(/eighty|too short|sandbox-application/);
});

test.each(ofEach)("%s has a session secret of its own for people from elsewhere", (_, read) => {
  for (const [value, problem] of [
    [undefined, "is missing"],
    ["", "is missing"],
    ["x".repeat(31), "must be 32 characters or more"],
    [service.RETAIL_POS_CLIENT_SECRET, "must not be the client secret"],
  ])
    expect(problemsOf(read, { ...deployed, SESSION_SECRET: value })).toEqual([`SESSION_SECRET ${problem}`]);
  // Here the same one at every start: a random one would log everybody out.
  expect(read(onThisMachine).sessionSecret).toBe(read(onThisMachine).sessionSecret);
  expect(read(onThisMachine).sessionSecret).not.toBe(read({}).sessionSecret);
});

test.each(ofEach)("%s takes the sandbox's application for people on this machine alone", (_, read) => {
  for (const host of ["localhost:3000", "127.0.0.1", "127.1.2.3:80", "[::1]:3000", "shop.localhost"])
    for (const scheme of ["http", "https"])
      expect(
        read({ ...service, ...ofSandbox, RETAIL_POS_REDIRECT_URI: `${scheme}://${host}${callback}` }),
      ).toMatchObject({ clientId: "sandbox-application" });
  for (const host of [
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "notlocalhost",
    "10.0.0.1",
    "[::2]",
  ])
    expect(
      problemsOf(read, { ...deployed, ...ofSandbox, RETAIL_POS_REDIRECT_URI: `https://${host}${callback}` }),
    ).toEqual(["RETAIL_POS_CLIENT_ID is the sandbox's", "RETAIL_POS_CLIENT_SECRET is the sandbox's"]);
});

test.each(ofEach)("%s takes no callback address at which it has no page", (_, read) => {
  for (const path of ["", "/", "/oauth/callback", `${callback}/`, `/shop${callback}`, `/?to=${callback}`]) {
    const RETAIL_POS_REDIRECT_URI = `https://shelfview.example${path}`;
    expect(problemsOf(read, { ...deployed, RETAIL_POS_REDIRECT_URI })).toEqual([
      `RETAIL_POS_REDIRECT_URI must have the path ${callback}, where this program answers`,
    ]);
  }
});

test.each(ofEach)("%s takes a port, and nothing that only looks like one", (_, read) => {
  for (const port of ["http", "-1", "3.5", "0x10", "1e3", "65536", "3000 "])
    expect(problemsOf(read, { PORT: port })).toContain("PORT must be a whole number from 0 to 65535");
  expect(read({ PORT: "0" }).port).toBe(0);
});

test.each(ofEach)("%s believes one proxy if its address is https, and as many as it is told", (_, read) => {
  expect(read(deployed)).toMatchObject({ trustProxy: 1 });
  expect(read({ ...deployed, TRUST_PROXY: "2" })).toMatchObject({ trustProxy: 2 });
  expect(read(onThisMachine)).toMatchObject({ trustProxy: 0 });
  for (const value of ["yes", "true", "11", "0"]) // with 0 no login would be kept: we speak plain HTTP
    expect(problemsOf(read, { ...deployed, TRUST_PROXY: value })).toEqual([
      "TRUST_PROXY must be a whole number from 1 to 10",
    ]);
});

/** Each line of what is wrong; none, if nothing is. */
function problemsOf(read: (env: NodeJS.ProcessEnv) => unknown, env: NodeJS.ProcessEnv): string[] {
  try {
    read(env);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return [...(error as Error).message.matchAll(/^- (.*)$/gm)].map(([, problem = ""]) => problem);
  }
}
