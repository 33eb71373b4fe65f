import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

// Every record is made when it is asked for (testing/million.mjs), so what would grow is the command's own memory: it
// is looked at, garbage collected, at each twentieth of the list. A command that kept one number of each retailer would
// be seen. To run in a small heap instead would show names at best, and collecting garbage would take half of the time.

const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url));
const module = fileURLToPath(new URL("../testing/million.mjs", import.meta.url));
const MB = 1024 * 1024;
/** Eight bytes for each of a hundred thousand. */
const GROWTH = 0.75 * MB;
const patience = 600_000;

test.each([
  ["list", 1_000_000, { lines: 1_000_000, said: /^500,000 connected, .* 500,000 must log in again$/m }],
  ["copy", 100_000, { lines: 4, said: /^100,000 copied$/m }],
  ["reseal", 100_000, { lines: 8, said: /^Everything is under the key "new"/m }],
  ["disconnect --refused --yes", 200_000, { lines: 2, said: /^100,000 disconnected$/m }],
  ["renew-due", 100_000, { lines: 6, said: /^100,000 retailers seen$/m }],
])(
  "%s goes through %d retailers, and its memory does not grow",
  async (command, count, expected) => {
    const { exitCode, lines, said, heaps } = await run(command.split(" "), count);
    expect(said).toMatch(expected.said);
    expect({ exitCode, lines }).toEqual({ exitCode: 0, lines: expected.lines });
    expect(Math.max(...heaps)).toBeLessThan(20 * MB);
    expect(growthOf(heaps)).toBeLessThan(GROWTH);
  },
  patience,
);

test(
  "the names of a hundred thousand retailers would be seen",
  async () => {
    const { exitCode, heaps } = await run(["list"], 100_000, { HOARD: "1" });
    expect(exitCode).toBe(0);
    expect(growthOf(heaps)).toBeGreaterThan(3 * GROWTH);
  },
  patience,
);

/** After the first twentieth everything is compiled and at work. */
function growthOf([, atWork = 0, ...heaps]: readonly number[]): number {
  expect(heaps).toHaveLength(18);
  return Math.max(...heaps) - atWork;
}

async function run(args: string[], count: number, env: Record<string, string> = {}) {
  // Into a file, which costs nothing here: a pipe would bring a million pieces.
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-million-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const printed = join(folder, "stdout");
  const stdout = openSync(printed, "w");
  const child = spawn(process.execPath, ["--expose-gc", bin, ...args, "--client", module], {
    stdio: ["ignore", stdout, "pipe"],
    env: { ...process.env, ...env, COUNT: String(count) },
  });
  closeSync(stdout);
  onTestFinished(() => void child.kill("SIGKILL"));
  let warned = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    warned = (warned + chunk).slice(-10_000); // the end of it
  });
  const exitCode = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const output = readFileSync(printed);
  let lines = 0;
  for (let at = output.indexOf(10); at >= 0; at = output.indexOf(10, at + 1)) lines += 1;
  const heaps = /^Heap: (.*)$/m.exec(warned)?.[1]?.split(" ").map(Number) ?? [];
  return { exitCode, lines, said: output.subarray(-10_000) + warned, heaps };
}
