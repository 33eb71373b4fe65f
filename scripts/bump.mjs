// Gives all packages the next version, and the examples the range of it: `pnpm bump 0.2.0`. What is in it stands
// under "## Unreleased" of CHANGELOG.md, which gets that version as its heading.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const next = process.argv[2] ?? "";
if (!/^\d+\.\d+\.\d+$/.test(next)) throw new Error("Say the version: pnpm bump 0.2.0");
const { version } = JSON.parse(readFileSync("packages/core/package.json", "utf8"));

const manifests = execFileSync("git", ["ls-files", "packages/*/package.json", "examples/**/package.json"], {
  encoding: "utf8",
});
for (const file of manifests.trim().split("\n"))
  change(file, `"version": "${version}"`, `"version": "${next}"`, `"^${version}"`, `"^${next}"`);
change("CHANGELOG.md", "## Unreleased", `## ${next}`);
execFileSync("npx", ["-y", "pnpm", "install", "--lockfile-only", "--no-frozen-lockfile"], {
  stdio: "inherit",
});

/** Replaces texts, each by the one behind it. */
function change(file, ...texts) {
  let text = readFileSync(file, "utf8");
  for (let at = 0; at < texts.length; at += 2) text = text.replaceAll(texts[at], texts[at + 1]);
  writeFileSync(file, text);
}
