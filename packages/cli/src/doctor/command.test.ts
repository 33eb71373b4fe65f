import { expect, test } from "vitest";
import { loginApp } from "../../testing/login-app.js";
import { doctor } from "./command.js";

test("--help lists every flag", async () => {
  const { exitCode, output } = await run(["--help"]);
  expect(exitCode).toBe(0);
  for (const flag of [
    "callback",
    "auth-url",
    "client-id",
    "client-secret-env",
    "base-url",
    "store",
    "json",
  ]) {
    expect(output).toContain(`--${flag}`);
  }
});

test.each([
  [[], /address of the login route is missing/],
  [["localhost:3000/login"], /from http:\/\/ or https:\/\/ on/],
  [["http://user:canary@localhost/login"], /user name or password/],
  [["http://localhost/login", "http://localhost/canary"], /only one address/],
  [["http://localhost/login", "--callback", "/canary"], /--callback/],
  [["http://localhost/login", "--callback", ""], /--callback/],
  [["http://localhost/login", "--auth-url", "canary"], /--auth-url/],
  [["http://localhost/login", "--timeout", "0"], /--timeout/],
  [["http://localhost/login", "--client-secret", "canary"], /environment variable RETAIL_POS_CLIENT_SECRET/],
  [["http://localhost/login", "--store", "harbour-coffee"], /RETAIL_POS_CLIENT_SECRET does not hold/],
  [["http://localhost/login", "--client-secret-env", "NOT_SET"], /NOT_SET does not hold/],
  [["http://localhost/login", "--bogus=canary"], /--bogus/],
])("%j: exit code 2 and a word about why, which repeats nothing", async (args, words) => {
  const { exitCode, output, errors } = await run(args);
  expect({ exitCode, output }).toEqual({ exitCode: 2, output: "" });
  expect(errors).toMatch(words);
  expect(errors).not.toContain("canary");
});

test("a base URL that is none is found out with the client secret, and named", async () => {
  const { url, callback } = await loginApp();
  const args = [url.href, "--callback", callback, "--store", "shop", "--base-url", "https://example.com"];
  const { exitCode, errors } = await run(args, { env: { RETAIL_POS_CLIENT_SECRET: "canary" } });
  expect(exitCode).toBe(2);
  expect(errors).toMatch(/baseUrl .* \{domain_prefix\}/);
});

test.each([
  ["a terminal", { isTTY: true, hasColors: () => true }, true],
  ["a terminal whose reader wants none", { isTTY: true, hasColors: () => false }, false],
  ["a pipe", {}, false],
])("colour on %s", async (_name, stream, expected) => {
  const { url } = await loginApp();
  const { output } = await run([url.href], { stream });
  expect(output.includes("\u001b[")).toBe(expected);
});

interface Surroundings {
  env?: Record<string, string>;
  stream?: { isTTY?: boolean; hasColors?: () => boolean };
}

async function run(args: string[], { env = {}, stream = {} }: Surroundings = {}) {
  const said = { output: "", errors: "" };
  const into = (name: keyof typeof said) => (text: string | Uint8Array) => {
    said[name] += String(text);
    return true;
  };
  const stdout = { columns: 80, ...stream, write: into("output") };
  const exitCode = await doctor(args, { env, stdout, stderr: { write: into("errors") } });
  return { exitCode, ...said };
}
