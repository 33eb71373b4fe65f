import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// What is published is what people require, so each program is one of its own.
test.each([
  ["the class, as with other strategies", 'const Strategy = require("passport-retail-pos");'],
  ["the class by its name", 'const { RetailPosStrategy: Strategy } = require("passport-retail-pos");'],
  ["the class as Strategy", 'const { Strategy } = require("passport-retail-pos");'],
  ["the class as its default", 'const Strategy = require("passport-retail-pos").default;'],
])("require() gives %s", (_, line) => {
  const program = `
    ${line}
    const passport = require("passport");
    const strategy = new Strategy(
      {
        authUrl: "https://login.example.com",
        baseUrl: "https://{domain_prefix}.example.com",
        clientID: "the-application",
        clientSecret: "the-client-secret",
        callbackURL: "https://app.example.net/callback",
      },
      async ({ domainPrefix }) => ({ domainPrefix }),
    );
    passport.use(strategy);
    import("passport-retail-pos").then((imported) =>
      console.log(strategy instanceof imported.default, Strategy === imported.RetailPosStrategy));
  `;
  const cwd = fileURLToPath(new URL("../../..", import.meta.url));
  expect(execFileSync(process.execPath, ["--eval", program], { cwd, encoding: "utf8" })).toBe("true true\n");
});

test("require() gives failureWords", () => {
  const program = `
    const { failureWords } = require("passport-retail-pos");
    console.log(failureWords({ code: "access_denied" }).action);
  `;
  const cwd = fileURLToPath(new URL("../../..", import.meta.url));
  expect(execFileSync(process.execPath, ["--eval", program], { cwd, encoding: "utf8" })).toBe("log_in\n");
});
