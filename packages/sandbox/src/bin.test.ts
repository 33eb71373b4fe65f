import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
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

function run(...flags: string[]) {
  const child = spawn(process.execPath, [bin, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
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
