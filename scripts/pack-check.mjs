// Packs every package as it would be published, and lets publint and attw look at the tarballs.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packAll } from "./pack.mjs";

const folder = mkdtempSync(join(tmpdir(), "retail-pos-pack-"));
const run = (command, ...args) => execFileSync(`node_modules/.bin/${command}`, args, { stdio: "inherit" });

try {
  for (const [name, tarball] of await packAll(folder)) {
    console.log(`\n${name}`);
    run("publint", "run", "--strict", tarball);
    run("attw", "--profile", "esm-only", tarball);
  }
} finally {
  rmSync(folder, { recursive: true });
}
