import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { root } from "../sources.js";

const vitest = createRequire(createRequire(import.meta.url).resolve("vitest/package.json"));
const viteVersion: string = vitest("vite/package.json").version;

const made = ["node_modules", "dist", "data", "build", ".next", ".react-router"];

/** Copies an example's folder, with the packed packages of this repository in place of those of the registry. */
export function copyOut(example: string, copy: string, tarballs: ReadonlyMap<string, string>): void {
  cpSync(join(root, "examples", example), copy, {
    recursive: true,
    filter: (source) => !made.includes(basename(source)),
  });
  const file = join(copy, "package.json");
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  // Vite as in our lockfile: `npm ci` fails as long as the registry lacks an optional dependency of the newest one.
  // npm refuses to override what an application names itself.
  manifest.overrides = manifest.devDependencies?.vite === undefined ? { vite: viteVersion } : {};
  // Also what a package of ours brings along: the registry knows another version of it, or none yet.
  for (const [ours, tarball] of tarballs) {
    const groups = [manifest.dependencies, manifest.devDependencies].filter((group) => ours in group);
    for (const group of groups.length > 0 ? groups : [manifest.overrides]) group[ours] = `file:${tarball}`;
  }
  writeFileSync(file, JSON.stringify(manifest));
}

/** Gives a folder's files a second place. Whoever deletes them in one keeps them in the other. */
export function linkTree(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkSync(source, target);
  }
}
