import { startSandbox } from "@retail-pos/sandbox";
import { describe, expect, test } from "vitest";
import { settingsFrom } from "./settings.js";

const deployed = {
  RETAIL_POS_AUTH_URL: "https://auth.example",
  RETAIL_POS_BASE_URL: "https://{domain_prefix}.retail.example",
  RETAIL_POS_CLIENT_ID: "ours",
  RETAIL_POS_CLIENT_SECRET: "a client secret of 32 characters",
  RETAIL_POS_REDIRECT_URI: "https://shelfview.example/auth/retail-pos/callback",
  SESSION_SECRET: "a session secret of 32 characters",
};
const KEY = Buffer.alloc(32, "hunter2").toString("base64");

test("without an environment are for the sandbox, one file and four stores at once", async () => {
  for (const env of [{}, { RETAIL_POS_AUTH_URL: "", SESSION_SECRET: " " }])
    expect(settingsFrom(env)).toMatchObject({
      service: { clientId: "sandbox-application" },
      HOST: "127.0.0.1",
      TRUST_PROXY: 0,
      DATABASE_FILE: expect.stringMatching(/many-stores\/data\/stores\.sqlite$/),
      TOKEN_KEYS: [],
      STORES_AT_ONCE: 4,
    });
  const standard = await startSandbox();
  expect(settingsFrom({}).service).toMatchObject(standard.application);
  await standard.close();
  expect(settingsFrom({ PORT: "3001" }).service.redirectUri).toContain("localhost:3001/");
  expect(settingsFrom({ RETAIL_POS_SCOPE: "products:read" }).service.scope).toBe("products:read");
});

test("are the application's own once people come from elsewhere", () => {
  expect(settingsFrom({ ...deployed, STORES_AT_ONCE: "20", TRUST_PROXY: "2" })).toMatchObject({
    service: { clientId: "ours", redirectUri: deployed.RETAIL_POS_REDIRECT_URI },
    HOST: "127.0.0.1",
    TRUST_PROXY: 2,
    STORES_AT_ONCE: 20,
  });
});

test("in production have no default, also if none is given", () => {
  const forgotten = () => settingsFrom({ NODE_ENV: "production" });
  for (const name of Object.keys(deployed)) expect(forgotten).toThrow(`- ${name} is missing`);
  expect(() => settingsFrom({ NODE_ENV: "production", ...deployed })).not.toThrow();
});

test("without a session secret make another one at each start, and refuse a short one here too", () => {
  const secrets = [1, 2].map(() => settingsFrom({ HOST: "0.0.0.0" }).SESSION_SECRET);
  expect(new Set(secrets).size).toBe(2);
  for (const secret of secrets) expect(secret).toMatch(/^[\da-f-]{72}$/);
  expect(() => settingsFrom({ SESSION_SECRET: "x" })).toThrow("must be 32 characters or more");
});

const sandboxs = {
  RETAIL_POS_CLIENT_ID: "sandbox-application",
  RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret",
  SESSION_SECRET: undefined,
};
const at = (address: string) => ({ RETAIL_POS_REDIRECT_URI: `${address}/auth/retail-pos/callback` });

test.each(["localhost:3000", "127.0.0.1", "127.1.2.3:80", "[::1]:3000", "shop.localhost"])(
  "take the sandbox's application for people on this machine: %s",
  (host) => {
    for (const scheme of ["http", "https"])
      expect(() => settingsFrom({ ...deployed, ...sandboxs, ...at(`${scheme}://${host}`) })).not.toThrow();
  },
);

test.each(["localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost", "10.0.0.1", "[::2]"])(
  "take it for nobody else: %s",
  (host) => {
    const attempt = () => settingsFrom({ ...deployed, ...sandboxs, ...at(`https://${host}`) });
    for (const name of [
      "RETAIL_POS_CLIENT_ID is the",
      "RETAIL_POS_CLIENT_SECRET is the",
      "SESSION_SECRET is",
    ])
      expect(attempt).toThrow(name);
  },
);

test.each(["http", "-1", "3.5", "0x10", "1e3", "65536", "3000 "])("take %j for no port", (PORT) => {
  expect(() => settingsFrom({ PORT })).toThrow("PORT must be a whole number from 0 to 65535");
});

test.each([
  "",
  "/",
  "/auth/retail-pos/callback/",
  "/shop/auth/retail-pos/callback",
  "/?to=/auth/retail-pos/callback",
])("take no callback at which there is no page: %j", (path) => {
  const RETAIL_POS_REDIRECT_URI = `https://shelfview.example${path}`;
  expect(() => settingsFrom({ ...deployed, RETAIL_POS_REDIRECT_URI })).toThrow("must have the path");
});

test("have the keys that seal tokens, the first one first", () => {
  const TOKEN_KEYS = `2026-02:${KEY}, 2026-01:${KEY}`;
  expect(settingsFrom({ TOKEN_KEYS }).TOKEN_KEYS).toEqual([
    { id: "2026-02", secret: KEY },
    { id: "2026-01", secret: KEY },
  ]);
});

describe("are refused there:", () => {
  test.each([
    ["no session secret", { SESSION_SECRET: undefined }, "SESSION_SECRET is missing"],
    ["a short session secret", { SESSION_SECRET: "short" }, "SESSION_SECRET must be 32"],
    ["the sandbox's id", { RETAIL_POS_CLIENT_ID: "sandbox-application" }, "_CLIENT_ID is the sandbox's"],
    [
      "the sandbox's secret",
      { RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret" },
      "_CLIENT_SECRET is the sandbox's",
    ],
    ["no service", { RETAIL_POS_AUTH_URL: undefined }, "RETAIL_POS_AUTH_URL is missing"],
    ["a proxy that is not believed", { TRUST_PROXY: "0" }, "TRUST_PROXY must be"],
    ["another path", { RETAIL_POS_REDIRECT_URI: "https://shelfview.example/oauth" }, "must have the path"],
    ["no address", { HOST: "here" }, "HOST must be an IP address"],
    ["no port", { PORT: "hunter2" }, "PORT must be a whole number from 0 to 65535"],
    ["a service that is no address", { RETAIL_POS_BASE_URL: "hunter2" }, "RETAIL_POS_BASE_URL"],
    [
      "the client secret again",
      { SESSION_SECRET: deployed.RETAIL_POS_CLIENT_SECRET },
      "SESSION_SECRET must not",
    ],
    ["a key without an id", { TOKEN_KEYS: KEY }, "TOKEN_KEYS keys[0] must be <id>:"],
    [
      "one short key of two",
      { TOKEN_KEYS: `2026-02:${KEY},2026-01:hunter2` },
      "TOKEN_KEYS keys[1].secret must have 32",
    ],
    ["no store at once", { STORES_AT_ONCE: "0" }, "STORES_AT_ONCE must be a whole number from 1 to 100"],
  ])("%s", (_case, wrong, named) => {
    const attempt = () => settingsFrom({ ...deployed, ...wrong });
    expect(attempt).toThrow(named);
    expect(attempt).not.toThrow(/hunter2/);
    expect(attempt).not.toThrow(KEY);
  });
});
