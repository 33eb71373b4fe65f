import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { startSandbox } from "@retail-pos/sandbox";
import { expect, test } from "vitest";
import { settingsFrom } from "./settings.js";

// A copy that runs with a setting forgotten, or with one that everybody knows, is found out by strangers; a program
// that does not start is found out at once.

const service = {
  RETAIL_POS_AUTH_URL: "https://auth.example",
  RETAIL_POS_BASE_URL: "https://{domain_prefix}.retail.example",
  RETAIL_POS_CLIENT_ID: "ours",
  RETAIL_POS_CLIENT_SECRET: "a client secret of 32 characters",
  RETAIL_POS_REDIRECT_URI: "https://shelfview.example/auth/retail-pos/callback",
};
const deployed = { ...service, SESSION_SECRET: "a session secret of 32 characters" };
const forTrying = parseEnv(readFileSync(new URL("../.env.example", import.meta.url), "utf8"));

test("for trying are the sandbox's", async () => {
  const { authUrl, baseUrl, clientId, clientSecret, redirectUri } = settingsFrom(forTrying).service;
  expect({ authUrl, baseUrl }).toEqual({
    authUrl: "http://127.0.0.1:4010",
    baseUrl: "http://127.0.0.1:4010/stores/{domain_prefix}",
  });
  const sandbox = await startSandbox();
  expect({ clientId, clientSecret, redirectUri }).toEqual(sandbox.application);
  await sandbox.close();
});

test("are read as they are given; the rest has defaults", () => {
  const { RETAIL_POS_CLIENT_ID: clientId, RETAIL_POS_REDIRECT_URI: redirectUri } = service;
  const settings = settingsFrom({ ...deployed, RETAIL_POS_SCOPE: "products:read", REDIS_URL: "" });
  expect(settings.service).toMatchObject({ clientId, redirectUri, scope: "products:read" });
  expect(settings).toMatchObject({
    PORT: 3000,
    HOST: "127.0.0.1",
    WORKERS: 1,
    DATABASE_FILE: expect.stringMatching(/data.login\.sqlite$/),
  });
  expect(settings).toMatchObject({ DATABASE_URL: undefined, REDIS_URL: undefined });
  const own = { PORT: "8080", HOST: "::1", WORKERS: "4", DATABASE_URL: "postgresql://db/x" };
  expect(settingsFrom({ ...deployed, ...own })).toMatchObject({ ...own, PORT: 8080, WORKERS: 4 });
  expect(settingsFrom({ ...deployed, REDIS_URL: "rediss://r" })).toMatchObject({ REDIS_URL: "rediss://r" });
});

test("that are missing are all named at once", () => {
  const missing = Object.keys(deployed).map((name) => `${name} is missing`);
  expect(problemsOf({})).toEqual(missing);
  expect(problemsOf({ NODE_ENV: "production" })).toEqual(missing);
  for (const name of Object.keys(deployed))
    for (const value of [undefined, "", " "])
      expect(problemsOf({ ...deployed, [name]: value })).toEqual([`${name} is missing`]);
});

test("that are wrong are named with those that are missing, and no value is shown", () => {
  const problems = problemsOf({
    ...deployed,
    RETAIL_POS_AUTH_URL: undefined,
    RETAIL_POS_BASE_URL: "retail.example",
    SESSION_SECRET: "too short",
    PORT: "eighty",
    REDIS_URL: "http://redis",
  });
  expect(problems.toSorted()).toEqual([
    "PORT must be a whole number from 0 to 65535",
    "REDIS_URL must begin with redis:// or rediss://",
    "RETAIL_POS_AUTH_URL is missing",
    expect.stringMatching(/^RETAIL_POS_BASE_URL must/),
    "SESSION_SECRET must be 32 characters or more",
  ]);
  expect(problems.join()).not.toMatch(/eighty|too short|retail\.example|http:/);
});

test.each([
  ["SESSION_SECRET", "x".repeat(31), "must be 32 characters or more"],
  ["SESSION_SECRET", service.RETAIL_POS_CLIENT_SECRET, "must not be the client secret"],
  ["SESSION_SECRET", forTrying["SESSION_SECRET"], "is the sandbox's"],
  ["RETAIL_POS_CLIENT_ID", forTrying["RETAIL_POS_CLIENT_ID"], "is the sandbox's"],
  ["RETAIL_POS_CLIENT_SECRET", forTrying["RETAIL_POS_CLIENT_SECRET"], "is the sandbox's"],
  ["RETAIL_POS_REDIRECT_URI", "https://shelfview.example/", "must have the path /auth/retail-pos/callback"],
  [
    "RETAIL_POS_REDIRECT_URI",
    `${service.RETAIL_POS_REDIRECT_URI}/`,
    "must have the path /auth/retail-pos/callback",
  ],
  ["WORKERS", "0", "must be a whole number from 1 to 1000"],
  ["WORKERS", "2.5", "must be a whole number from 1 to 1000"],
  ["TRUST_PROXY", "yes", "must be a whole number from 1 to 10"],
  ["TRUST_PROXY", "0", "must be a whole number from 1 to 10"], // no login would be kept: we speak plain HTTP
  ["DATABASE_URL", "mysql://db/x", "must begin with postgresql://"],
  ["NAMESPACE", 'a"; drop table', "must be of a-z, 0-9 and _"],
])("%s=%s is refused", (name, value, problem) => {
  expect(problemsOf({ ...deployed, [name]: value })).toEqual([`${name} ${problem}`]);
});

test.each([
  "http://localhost:3000",
  "https://localhost:3000",
  "https://shop.localhost",
  "https://127.0.0.1:8443",
  "https://[::1]:8443",
])("for trying may be the sandbox's on this machine: %s", (origin) => {
  const redirectUri = `${origin}/auth/retail-pos/callback`;
  expect(settingsFrom({ ...forTrying, RETAIL_POS_REDIRECT_URI: redirectUri }).service).toMatchObject({
    redirectUri,
    clientSecret: forTrying["RETAIL_POS_CLIENT_SECRET"],
  });
});

test("name one place to keep things in, and not two", () => {
  const both = { DATABASE_URL: "postgres://db/x", REDIS_URL: "redis://r" };
  expect(problemsOf({ ...deployed, ...both })).toEqual([
    "REDIS_URL must not stand beside DATABASE_URL: one of them keeps everything",
  ]);
});

test("take a port, and nothing that only looks like one", () => {
  for (const PORT of ["http", "-1", "3.5", "0x10", "1e3", "65536", "3000 "])
    expect(problemsOf({ ...deployed, PORT })).toEqual(["PORT must be a whole number from 0 to 65535"]);
  expect(settingsFrom({ ...deployed, PORT: "0" }).PORT).toBe(0);
});

test("believe one proxy if the address is https, and as many as they say", () => {
  expect(settingsFrom(deployed).TRUST_PROXY).toBe(1);
  expect(settingsFrom({ ...deployed, TRUST_PROXY: "2" }).TRUST_PROXY).toBe(2);
  expect(settingsFrom(forTrying).TRUST_PROXY).toBe(0);
});

/** Each line of what is wrong; none, if nothing is. */
function problemsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    settingsFrom(env);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return [...(error as Error).message.matchAll(/^- (.*)$/gm)].map(([, problem = ""]) => problem);
  }
}
