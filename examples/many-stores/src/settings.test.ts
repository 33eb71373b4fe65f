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

test("without an environment are for the sandbox, one file and four stores at once", () => {
  expect(settingsFrom({ DATABASE_URL: "" })).toMatchObject({
    clientId: "sandbox-application",
    host: "127.0.0.1",
    databaseFile: expect.stringMatching(/many-stores\/data\/login\.sqlite$/),
    databaseUrl: undefined,
    tokenKeys: undefined,
    storesAtOnce: 4,
  });
});

test("are the application's own once people come from elsewhere", () => {
  const databaseUrl = "postgresql://shelfview@db.example/shelfview";
  expect(settingsFrom({ ...deployed, DATABASE_URL: databaseUrl, STORES_AT_ONCE: "20" })).toMatchObject({
    clientId: "ours",
    host: "0.0.0.0",
    trustProxy: 1,
    databaseUrl,
    storesAtOnce: 20,
  });
});

test("have the keys that seal tokens, the first one first", () => {
  const TOKEN_KEYS = `2026-02:${KEY}, 2026-01:${KEY}`;
  expect(settingsFrom({ TOKEN_KEYS }).tokenKeys).toEqual([
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
    ["another database", { DATABASE_URL: "mysql://root:hunter2@db.example" }, "DATABASE_URL must begin with"],
    ["a key without an id", { TOKEN_KEYS: KEY }, "TOKEN_KEYS must be <id>:"],
    ["one short key of two", { TOKEN_KEYS: `2026-02:${KEY},2026-01:hunter2` }, "TOKEN_KEYS must be <id>:"],
    ["no store at once", { STORES_AT_ONCE: "0" }, "STORES_AT_ONCE must be a whole number from 1 to 100"],
  ])("%s", (_case, wrong, named) => {
    const attempt = () => settingsFrom({ ...deployed, ...wrong });
    expect(attempt).toThrow(named);
    expect(attempt).not.toThrow(/hunter2/);
    expect(attempt).not.toThrow(KEY);
  });
});
