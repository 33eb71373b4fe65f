import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

// Every record is made when it is asked for (testing/million.mjs), so what would grow is the command's own memory. A
// command that kept a name or a status of each retailer would end with "heap out of memory".

const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url));
const module = fileURLToPath(new URL("../testing/million.mjs", import.meta.url));
const patience = 600_000;

test.each([
  ["list", 1_000_000, 32, { lines: 1_000_000, said: /^500,000 connected, .* 500,000 must log in again$/m }],
  ["copy", 300_000, 20, { lines: 3, said: /^300,000 copied$/m }],
  ["reseal", 300_000, 20, { lines: 8, said: /^Everything is under the key "new"/m }],
  // Core remembers 200,000 retailers that somebody asked for in the last minute.
  ["disconnect --refused --yes", 500_000, 96, { lines: 2, said: /^250,000 disconnected$/m }],
  ["renew-due", 300_000, 20, { lines: 6, said: /^300,000 retailers seen$/m }],
])(
  "%s goes through %d retailers in %d MB of memory",
  async (command, count, megabytes, expected) => {
    const { exitCode, lines, said } = await run(command.split(" "), count, megabytes);
    expect(said).toMatch(expected.said);
    expect({ exitCode, lines }).toEqual({ exitCode: 0, lines: expected.lines });
  },
  patience,
);

test(
  "the least of these memories would be too small for the names of a million retailers",
  async () => {
    const { exitCode } = await run(["list"], 1_000_000, 20, { HOARD: "1" });
    expect(exitCode).not.toBe(0);
  },
  patience,
);

async function run(args: string[], count: number, megabytes: number, env: Record<string, string> = {}) {
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${megabytes}`, bin, ...args, "--client", module],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env, COUNT: String(count) } },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  let [lines, said] = [0, ""];
  const readAlong = (chunk: Buffer) => {
    said = (said + chunk).slice(-10_000); // the end of it
  };
  child.stdout.on("data", (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines += 1;
    if (args[0] !== "list") readAlong(chunk);
  });
  child.stderr.on("data", readAlong);
  return { exitCode: await ended, lines, said };
}
