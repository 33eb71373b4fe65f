import { expect, test } from "vitest";
import { loginApp } from "../../testing/login-app.js";
import { run as runMain } from "../../testing/terminal.js";

test("--help lists every flag", async () => {
  const { exitCode, stdout } = await run(["--help"]);
  expect(exitCode).toBe(0);
  for (const flag of ["callback", "store", "cookie-env", "timeout", "json"])
    expect(stdout).toContain(`--${flag}`);
});

const login = "http://localhost/login";
test.each([
  [[], /address of the login route is missing/],
  [["localhost:3000/login"], /from http:\/\/ or https:\/\/ on/],
  [["http://user:canary@localhost/login"], /user name or password/],
  [[login, "http://localhost/canary"], /only one address/],
  [[login, "--callback", "/canary"], /--callback/],
  [[login, "--callback", ""], /--callback/],
  [[login, "--timeout", "0"], /--timeout/],
  [[login, "--client-secret", "canary"], /'--client-secret'/],
  [[login, "--cookie-env", "sid=canary"], /--cookie-env takes the name/],
  [["http://app.example.com/login", "--cookie-env", "NOT_SET"], /wants an https address/],
  [[login, "--cookie-env", "NOT_SET"], /NOT_SET does not hold a Cookie header/],
  [[login, "--store", "canary.example/"], /domain prefix/],
  [[login, "--bogus=canary"], /--bogus/],
  [[login, "--json=canary"], /--json/],
  [[login, "--store"], /--store/],
])("%j: exit code 2 and one line about why, which repeats nothing", async (args, words) => {
  const { exitCode, stdout, stderr } = await run(args);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toMatch(/^retail-pos doctor: .+\nTry retail-pos doctor --help\.\n$/);
  expect(stderr).toMatch(words);
  expect(stderr).not.toContain("canary");
});

test.each(["RETAIL_POS_REDIRECT_URI", "RETAIL_POS_AUTH_URL"])(
  "%s that is no address is named",
  async (name) => {
    const { exitCode, stderr } = await run([login], { env: { [name]: "canary" } });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${name} must be a whole address`);
    expect(stderr).not.toContain("canary");
  },
);

test("the settings of the environment are compared, and the client secret in it goes nowhere", async () => {
  const { url, callback, sandbox } = await loginApp({
    login:
      ({ authUrl }) =>
      (_req, res) =>
        res.redirect(`${authUrl}/connect?client_id=another`),
  });
  const seen: string[] = [];
  const secret = "canary-secret";
  const env = {
    RETAIL_POS_AUTH_URL: "https://login.example.com",
    RETAIL_POS_BASE_URL: `${new URL(url).origin}/{domain_prefix}`,
    RETAIL_POS_CLIENT_ID: "ours",
    RETAIL_POS_CLIENT_SECRET: secret,
    RETAIL_POS_REDIRECT_URI: callback,
  };
  const onOutput = (text: string) => void seen.push(text);
  const { exitCode } = await run([url.href, "--store", "harbour-coffee", "--json"], { env, onOutput });
  expect(exitCode).toBe(1);
  expect(seen.join("")).toMatch(/the consent page is https:\/\/login\.example\.com\/connect/);
  expect(seen.join("")).toMatch(/client_id is .{0,2}another.{0,2}, not .{0,2}ours/);
  expect(seen.join("")).not.toContain("canary");
  expect(sandbox.tokenRequests()).toEqual([]);
});

test("with a store's name it says beforehand that a token request goes there", async () => {
  const { url, callback, sandbox } = await loginApp();
  let asked: number | undefined;
  const onOutput = () => {
    asked ??= sandbox.tokenRequests().length;
  };
  const args = [url.href, "--callback", callback, "--store", "harbour-coffee"];
  const { exitCode, stdout } = await run(args, { onOutput });
  expect({ exitCode, asked }).toEqual({ exitCode: 0, asked: 0 });
  expect(stdout).toMatch(/^At most one token request .* of harbour-coffee now\.\n/);
  expect(sandbox.tokenRequests()).toHaveLength(1);
});

test("an application that never answers is given as long as --timeout says", async () => {
  const { url } = await loginApp({ login: () => () => {} });
  const { exitCode, stdout } = await run([url.href, "--timeout", "1", "--json"]);
  expect(exitCode).toBe(1);
  expect(stdout).toContain("/login did not answer within 1 second");
});

test.each([
  ["a terminal", { isTTY: true, hasColors: true }, true],
  ["a terminal whose reader wants none", { isTTY: true }, false],
  ["a pipe", {}, false],
])("colour on %s", async (_name, surroundings, expected) => {
  const { url } = await loginApp();
  const { stdout } = await run([url.href], surroundings);
  expect(stdout.includes("\u001b[")).toBe(expected);
});

function run(args: string[], surroundings?: Parameters<typeof runMain>[1]) {
  return runMain(["doctor", ...args], surroundings);
}
