import { lookup } from "node:dns/promises";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { expect, test } from "vitest";
import { startCommand } from "../../../test/support/command.js";
import { startClient } from "../testing/client.js";

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

test("--host-per-store makes it a host for each store", async () => {
  const { output, printed } = run("--port", "0", "--host-per-store");
  await printed(/Ctrl-C/);
  expect(parseEnv(output())["RETAIL_POS_BASE_URL"]).toMatch(/^http:\/\/\{domain_prefix\}\.localhost:\d+$/);
});

test("--host-per-store says what /etc/hosts needs, if the system does not resolve the stores' names", async () => {
  const isResolved = await lookup("harbour-coffee.localhost").then(
    () => true,
    () => false,
  );
  const { output, printed } = run("--port", "0", "--host-per-store", "--stores", "2");
  await printed(isResolved ? /Ctrl-C/ : /127\.0\.0\.1 .*\n\n/);
  expect(/^127\.0\.0\.1 harbour-coffee\.localhost \S+\.localhost$/m.test(output())).toBe(!isResolved);
});

test("--host-per-store names the hosts that are missing, and no other", async () => {
  const system = `
    import dns from "node:dns/promises";
    import { syncBuiltinESMExports } from "node:module";
    dns.lookup = async (host) => {
      if (host !== "harbour-coffee.localhost") throw new Error("ENOTFOUND");
    };
    syncBuiltinESMExports();`;
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(system)}`;
  const flags = ["--port", "0", "--host-per-store", "--stores", "3"];
  const { output, printed } = startCommand(bin, flags, { env: { NODE_OPTIONS } });
  await printed(/127\.0\.0\.1 .*\n\n/);
  const [line = ""] = /^127\.0\.0\.1 .*$/m.exec(output()) ?? [];
  expect(line).not.toContain("harbour-coffee");
  expect(line.split(" ")).toHaveLength(3);
});

test("--scopes is a line of the .env file, too", async () => {
  const { output, printed } = run("--port", "0", "--scopes", "products:read,sales:read");
  await printed(/Ctrl-C/);
  expect(parseEnv(output())["RETAIL_POS_SCOPE"]).toBe("products:read sales:read");
});

test("a secret of your own is not printed", async () => {
  const { output, printed } = run("--port", "0", "--client-secret", "canary-client-secret");
  await printed(/Ctrl-C/);
  expect(output()).not.toContain("canary-client-secret");
  expect(parseEnv(output())["RETAIL_POS_CLIENT_SECRET"]).toBe("");
});

test("--help lists every flag", async () => {
  const { output, ended } = run("--help");
  expect(await ended).toBe(0);
  for (const flag of [
    "port",
    "rotation",
    "lifetime",
    "rate-limit",
    "api-rate-limit",
    "host-per-store",
    "tls-key",
    "scopes",
    "approved",
    "products",
    "redirect-uri",
  ]) {
    expect(output()).toContain(`--${flag}`);
  }
});

test.each([
  [["--port", "x"], /--port/],
  [["--port", "70000"], /port/],
  [["--rotation", "often"], /rotation/],
  [["--lifetime", "-1"], /--lifetime/],
  [["--lifetime", "soon"], /--lifetime must be <seconds>, not "soon"/],
  [["--products", "1001"], /products must be .*0 to 1000/],
  [["--stores", "1001"], /stores must be .*1 to 1000/],
  [["--rate-limit", "5"], /--rate-limit/],
  [["--api-rate-limit", "5/"], /--api-rate-limit/],
  [["--redirect-uri", "callback"], /redirectUri/],
  [["--scopes", 'products:"read"'], /scopes/],
  [["--tls-key", "key.pem"], /--tls-cert/],
  [["--tls-key", "no-such-file", "--tls-cert", "no-such-file"], /no-such-file/],
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

function run(...flags: string[]) {
  return startCommand(bin, flags);
}
