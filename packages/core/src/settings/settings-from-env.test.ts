import { describe, expect, test } from "vitest";
import { retailPos } from "../retail-pos.js";
import { settingsFromEnv } from "./settings-from-env.js";

const complete = {
  RETAIL_POS_AUTH_URL: "https://auth.example",
  RETAIL_POS_BASE_URL: "https://{domain_prefix}.retail.example",
  RETAIL_POS_CLIENT_ID: "the application",
  RETAIL_POS_CLIENT_SECRET: "canary",
  RETAIL_POS_REDIRECT_URI: "https://app.example/callback",
  RETAIL_POS_SCOPE: "products:read",
};

describe("settingsFromEnv", () => {
  test("reads what retailPos needs, exactly as it is written", () => {
    const settings = settingsFromEnv({ ...complete, OTHER: "x", RETAIL_POS_OTHER: "x" });
    expect(settings).toStrictEqual({
      authUrl: "https://auth.example",
      baseUrl: "https://{domain_prefix}.retail.example",
      clientId: "the application",
      clientSecret: "canary",
      redirectUri: "https://app.example/callback",
      scope: "products:read",
    });
    const { searchParams } = retailPos({ ...settings }).authorizationUrl("12345678");
    expect(searchParams.get("scope")).toBe("products:read");
  });

  test("reads the environment of the process if it is given none", () => {
    const before = { ...process.env };
    try {
      Object.assign(process.env, complete);
      expect(settingsFromEnv()).toEqual(settingsFromEnv(complete));
    } finally {
      process.env = before;
    }
  });

  for (const missing of [undefined, "", "  "]) {
    test(`leaves out what may be missing: ${JSON.stringify(missing)}`, () => {
      const env = { ...complete, RETAIL_POS_SCOPE: missing };
      expect(settingsFromEnv(env)).not.toHaveProperty("scope");
      const headless = { ...env, RETAIL_POS_AUTH_URL: missing, RETAIL_POS_REDIRECT_URI: missing };
      expect(Object.keys(settingsFromEnv(headless))).toEqual(["baseUrl", "clientId", "clientSecret"]);
    });
  }

  test("names every variable that is missing, at once", () => {
    expect(() => settingsFromEnv({})).toThrow(TypeError);
    expect(() => settingsFromEnv({})).toThrow(
      /RETAIL_POS_BASE_URL is missing.*RETAIL_POS_CLIENT_ID is missing.*RETAIL_POS_CLIENT_SECRET is missing; if/,
    );
    expect(() => settingsFromEnv({})).not.toThrow(/SCOPE/);
  });

  test("if neither of a login's two is there, it says that a login needs both", () => {
    const headless = { ...complete, RETAIL_POS_AUTH_URL: "", RETAIL_POS_REDIRECT_URI: "" };
    expect(() => settingsFromEnv({ ...headless, RETAIL_POS_CLIENT_ID: "" })).toThrow(
      /RETAIL_POS_CLIENT_ID is missing; if people log in, RETAIL_POS_AUTH_URL and RETAIL_POS_REDIRECT_URI are missing too$/,
    );
    expect(() => settingsFromEnv({ ...headless, RETAIL_POS_CLIENT_ID: "a\n" })).not.toThrow(/people/);
  });

  for (const [one, other] of [
    ["AUTH_URL", "REDIRECT_URI"],
    ["REDIRECT_URI", "AUTH_URL"],
  ]) {
    test(`${one} without ${other} is wrong`, () => {
      const env = { ...complete, [`RETAIL_POS_${other}`]: "" };
      expect(() => settingsFromEnv(env)).toThrow(new RegExp(`RETAIL_POS_${other} is missing$`));
    });
  }

  test.each(["CLIENT_ID", "CLIENT_SECRET", "SCOPE", "REDIRECT_URI", "AUTH_URL", "BASE_URL"])(
    "%s with a line break is wrong, and says what to do",
    (name) => {
      const env: Record<string, string> = { ...complete };
      env[`RETAIL_POS_${name}`] += "\n";
      expect(() => settingsFromEnv(env)).toThrow(
        new RegExp(`RETAIL_POS_${name} must not contain a line break; .* needs .trim\\(\\)$`),
      );
      expect(() => settingsFromEnv(env)).not.toThrow(/canary/);
    },
  );

  test("names every variable that is wrong, at once, and shows no value", () => {
    const wrong = {
      RETAIL_POS_AUTH_URL: "https://canary.example/connect",
      RETAIL_POS_BASE_URL: "https://canary.example",
      RETAIL_POS_CLIENT_ID: "",
      RETAIL_POS_CLIENT_SECRET: "canary",
      RETAIL_POS_REDIRECT_URI: "http://canary.example/callback",
    };
    expect(() => settingsFromEnv(wrong)).toThrow(
      /RETAIL_POS_AUTH_URL must be without \/connect.*RETAIL_POS_REDIRECT_URI must be https.*RETAIL_POS_BASE_URL must be .*RETAIL_POS_CLIENT_ID is missing$/,
    );
    expect(() => settingsFromEnv(wrong)).not.toThrow(/canary/);
  });
});

describe("a value that came with something around it is refused, and its variable named", () => {
  const good = {
    RETAIL_POS_AUTH_URL: "https://login.example.com",
    RETAIL_POS_BASE_URL: "https://{domain_prefix}.example.com",
    RETAIL_POS_CLIENT_ID: "the-application",
    RETAIL_POS_CLIENT_SECRET: "the-client-secret",
    RETAIL_POS_REDIRECT_URI: "https://app.example.net/callback",
  };
  const mistakes: [string, (value: string) => string, string][] = [
    ["double quotes", (value) => `"${value}"`, "have quotes around it"],
    ["single quotes", (value) => `'${value}'`, "have quotes around it"],
    ["a word processor's quotes", (value) => `\u201c${value}\u201d`, "have quotes around it"],
    ["a blank at the end", (value) => `${value} `, "begin or end with a blank"],
    ["a tab before it", (value) => `\t${value}`, "begin or end with a blank"],
    ["a byte-order mark", (value) => `\ufeff${value}`, "contain a byte-order mark"],
    ["a line break", (value) => `${value}\n`, "contain a line break"],
  ];
  for (const name of Object.keys(good) as (keyof typeof good)[]) {
    test.each(mistakes)(`${name} with %s`, (_, spoil, problem) => {
      const env = { ...good, [name]: spoil(good[name]) };
      expect(() => settingsFromEnv(env)).toThrow(new RegExp(`${name} must not ${problem}`));
    });
  }

  test("in an option too, which is named", () => {
    const { authUrl, redirectUri, ...rest } = settingsFromEnv(good);
    for (const [option, value] of Object.entries(rest))
      for (const [, spoil, problem] of mistakes)
        expect(() => retailPos({ ...rest, [option]: spoil(value) })).toThrow(`${option} must not ${problem}`);
  });
});
