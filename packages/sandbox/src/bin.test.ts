import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { startClient } from "../testing/client.js";
import { loginApp, loginByHand } from "../testing/login-app.js";

// What is published is what people run.
const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url));

test.each(["SIGINT", "SIGTERM"] as const)(
  "it says where everything is, answers, and ends cleanly on %s",
  async (signal) => {
    const { child, output, ended, printed } = run("--port", "0", "--stores", "2", "--lifetime", "60");
    const url = await printed(/http:\/\/127\.0\.0\.1:\d+/);
    expect(output()).toContain("sandbox-application-secret");
    expect((await fetch(url)).status).toBe(200);
    child.kill(signal);
    expect(await ended).toBe(0);
  },
);

test("its settings are lines of an .env file", async () => {
  const { output, printed } = run("--port", "0");
  await printed(/Ctrl-C/);
  const env = parseEnv(output());
  expect(env).toMatchObject({
    RETAIL_POS_AUTH_URL: await printed(/http:\/\/127\.0\.0\.1:\d+/),
    RETAIL_POS_BASE_URL: expect.stringContaining("{domain_prefix}"),
    RETAIL_POS_CLIENT_ID: "sandbox-application",
    RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret",
    RETAIL_POS_REDIRECT_URI: "http://localhost:3000/auth/retail-pos/callback",
  });
});

test("a secret of your own is not printed", async () => {
  const { output, printed } = run("--port", "0", "--client-secret", "canary-client-secret");
  await printed(/Ctrl-C/);
  expect(output()).not.toContain("canary-client-secret");
});

test("--help lists every flag", async () => {
  const { output, ended } = run("--help");
  expect(await ended).toBe(0);
  for (const flag of ["port", "rotation", "lifetime", "rate-limit", "approved", "redirect-uri"]) {
    expect(output()).toContain(`--${flag}`);
  }
});

test.each([
  [["--port", "x"], /--port/],
  [["--port", "70000"], /port/],
  [["--rotation", "often"], /rotation/],
  [["--lifetime", "-1"], /--lifetime/],
  [["--rate-limit", "5"], /--rate-limit/],
  [["--redirect-uri", "callback"], /redirectUri/],
  [["--bogus"], /--bogus/],
  [["extra"], /extra/],
])("%j: exit code 2 and a word about why", async (flags, words) => {
  const { output, ended } = run(...flags);
  expect(await ended).toBe(2);
  expect(output()).toMatch(words);
});

test("a port in use: exit code 1 and a word about why", async () => {
  const { sandbox } = await startClient();
  const { output, ended } = run("--port", new URL(sandbox.url).port);
  expect(await ended).toBe(1);
  expect(output()).toMatch(/is in use/);
});

describe("doctor", () => {
  const secret = "canary-client-secret";

  test("a login that is right: exit code 0, in plain text where nobody looks at a terminal", async () => {
    const { url, callback } = await loginApp();
    const { output, ended } = run("doctor", url.href, "--callback", callback);
    expect(await ended).toBe(0);
    expect(output()).toContain("Nothing found that would break a login");
    expect(output()).not.toContain("\u001b");
  });

  test("a login that is broken: exit code 1 and what to do", async () => {
    const { url, callback } = await loginApp({ cookie: { sameSite: "strict" } });
    const { output, ended } = run("doctor", "--callback", callback, url.href);
    expect(await ended).toBe(1);
    expect(output()).toMatch(/problem .*SameSite=Strict/);
    expect(output()).toContain("Mend: Set sameSite to lax.");
  });

  test("a wrong client secret, from the variable that was named; the secret is not printed", async () => {
    const { url, callback } = await loginApp();
    const { output, ended } = runWith(
      { MY_SECRET: secret },
      ...["doctor", url.href, "--callback", callback, "--store", "harbour-coffee"],
      ...["--client-secret-env", "MY_SECRET", "--json"],
    );
    expect(await ended).toBe(1);
    expect(JSON.parse(output())).toMatchObject({ url: url.href, problems: 1, warnings: 0 });
    expect(output()).not.toContain("canary");
  });

  test("the right one, from RETAIL_POS_CLIENT_SECRET, at the stores of RETAIL_POS_BASE_URL", async () => {
    const { url, callback, sandbox } = await loginApp();
    const { output, ended } = runWith(
      { RETAIL_POS_CLIENT_SECRET: sandbox.application.clientSecret, RETAIL_POS_BASE_URL: sandbox.baseUrl },
      ...["doctor", url.href, "--callback", callback, "--store", "harbour-coffee"],
    );
    expect(await ended).toBe(0);
    expect(output()).toContain("The service takes the client secret");
    expect(output()).not.toContain(sandbox.application.clientSecret);
  });

  test("no state, cookie or query of the application is printed", async () => {
    const state = "canary-state-of-one-login";
    const { url, callback } = await loginApp({
      configure: (app) => {
        app.use((_req, res, next) => {
          res.cookie("sid", "canary-cookie");
          next();
        });
      },
      login: loginByHand(() => ({ state })),
    });
    const { output, ended } = run("doctor", `${url.href}?from=canary-query`, "--callback", callback);
    expect(await ended).toBe(1);
    expect(output()).toContain("Two logins were sent the same state");
    expect(output()).not.toContain("canary");
  });

  test("a command that makes no sense: exit code 2", async () => {
    const { output, ended } = run("doctor");
    expect(await ended).toBe(2);
    expect(output()).toMatch(/address of the login route is missing/);
  });
});

function run(...flags: string[]) {
  return runWith({}, ...flags);
}

function runWith(env: Record<string, string>, ...flags: string[]) {
  const child = spawn(process.execPath, [bin, ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const printed = (words: RegExp) =>
    new Promise<string>((resolve) => {
      const look = () => {
        const found = words.exec(text);
        if (found) resolve(found[0]);
      };
      for (const stream of [child.stdout, child.stderr]) stream.on("data", look);
      look();
    });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      text += String(chunk);
    });
  }
  return { child, ended, printed, output: () => text };
}
