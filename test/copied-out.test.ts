import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packAll } from "../scripts/pack.mjs";

// Each example works outside the repository: its folder is copied, the packages are installed from their
// tarballs by plain npm, and its own build and tests run there.

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "retail-pos-copied-"));
let tarballs: Map<string, string>;

beforeAll(async () => {
  tarballs = await packAll(folder);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }), 60_000);

test.each(readdirSync(join(root, "examples")))(
  "%s",
  async (name) => {
    const copy = join(folder, name);
    cpSync(join(root, "examples", name), copy, {
      recursive: true,
      filter: (source) => !["node_modules", "dist"].includes(basename(source)),
    });
    const file = join(copy, "package.json");
    const manifest = JSON.parse(readFileSync(file, "utf8"));
    // Also what a package of ours brings along: the registry knows another version of it, or none yet.
    manifest.overrides = {};
    for (const [ours, tarball] of tarballs) {
      const groups = [manifest.dependencies, manifest.devDependencies].filter((group) => ours in group);
      for (const group of groups.length > 0 ? groups : [manifest.overrides]) group[ours] = `file:${tarball}`;
    }
    writeFileSync(file, JSON.stringify(manifest));

    const npm = (...args: string[]) => run("npm", args, { cwd: copy });
    await npm("install", "--no-audit", "--no-fund", "--ignore-scripts");
    if (manifest.scripts.build) await npm("run", "build");
    const { stdout } = await npm("test");
    expect(stdout).toMatch(/Tests.*passed/);
  },
  300_000, // one that runs on Redis and PostgreSQL starts some dozens of processes
);
