// Packs every package as it would be published, and lets publint and attw look at the tarballs.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "retail-pos-pack-"));
const pnpm = process.env.npm_execpath ?? "pnpm";
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: "inherit" });

try {
  for (const name of readdirSync("packages")) {
    const isScript = /\.[cm]?js$/.test(pnpm);
    const args = ["pack", "--pack-destination", folder];
    run(isScript ? process.execPath : pnpm, isScript ? [pnpm, ...args] : args, join("packages", name));
  }
  for (const tarball of readdirSync(folder)) {
    console.log(`\n${tarball}`);
    run("node_modules/.bin/publint", ["run", "--strict", join(folder, tarball)]);
    run("node_modules/.bin/attw", ["--profile", "esm-only", join(folder, tarball)]);
  }
} finally {
  rmSync(folder, { recursive: true });
}
