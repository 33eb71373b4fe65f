import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

// Each example works outside the repository: its folder is copied, the packages are installed from their
// tarballs by plain npm, and its own build and tests run there.

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "retail-pos-copied-"));
const tarballs = new Map<string, string>();

beforeAll(async () => {
  const pnpm = process.env["npm_execpath"] ?? "pnpm";
  const [command, ...first] = /\.[cm]?js$/.test(pnpm) ? [process.execPath, pnpm] : [pnpm];
  for (const name of readdirSync(join(root, "packages"))) {
    const cwd = join(root, "packages", name);
    await run(command, [...first, "pack", "--pack-destination", folder], { cwd });
    const manifest = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
    const file = `${manifest.name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`;
    tarballs.set(manifest.name, `file:${join(folder, file)}`);
  }
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
    for (const group of [manifest.dependencies, manifest.devDependencies]) {
      for (const dependency of Object.keys(group))
        group[dependency] = tarballs.get(dependency) ?? group[dependency];
    }
    // What our packages depend on among themselves is not published yet either.
    manifest.overrides = { "@retail-pos/core": "$@retail-pos/core" };
    writeFileSync(file, JSON.stringify(manifest));

    const npm = (...args: string[]) => run("npm", args, { cwd: copy });
    await npm("install", "--no-audit", "--no-fund", "--ignore-scripts");
    if (manifest.scripts.build) await npm("run", "build");
    const { stdout } = await npm("test");
    expect(stdout).toMatch(/Tests.*passed/);
  },
  300_000, // one that runs on Redis and PostgreSQL starts some dozens of processes
);
