import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { interleaved, median, ratioTo } from "../lib/rounds.mjs";

const run = promisify(execFile);
const { dependencies } = JSON.parse(await readFile(new URL("../package.json", import.meta.url)));
const PACKAGES = fileURLToPath(new URL("../../packages/", import.meta.url));
/** Ours by folder, in the order in which they need each other; others by name, at the version of package.json. */
const INSTALLED = {
  ours: { import: "@retail-pos/core", packed: ["core"] },
  oauth4webapi: { import: "oauth4webapi" },
  "openid-client": { import: "openid-client" },
  "@badgateway/oauth2-client": { import: "@badgateway/oauth2-client" },
  "simple-oauth2": { import: "simple-oauth2" },
  "google-auth-library": { import: "google-auth-library" },
  "@slack/oauth": { import: "@slack/oauth" },
  "ours, login": { import: "@retail-pos/login", packed: ["core", "login"], within: { ms: 5, of: "ours" } },
  "ours, strategy": {
    import: "passport-retail-pos",
    packed: ["core", "login", "passport-retail-pos"],
    within: { ms: 15, of: "passport-oauth2" },
  },
  "passport-oauth2": { import: "passport-oauth2" },
};
const TIMED_IMPORT = `const timed = async (name) => {
  const startedAt = performance.now();
  await import(name);
  console.log(performance.now() - startedAt);
};
timed`;

export default {
  id: "cold",
  title: "cold: one import, and what an installation brings",
  floor: "an empty start of Node, which is in no figure",
  figures: {
    added: "import time, of oauth4webapi's",
    packages: "packages",
    kib: "KiB on disk",
    within: "login within 5 ms of core, strategy within 15 ms of passport-oauth2",
  },
  targets: [
    { figure: "added", atMost: 1 },
    { figure: "packages", exactly: 1 },
    { figure: "within", exactly: "yes", row: "ours, login" },
    { figure: "within", exactly: "yes", row: "ours, strategy" },
  ],
  rounds: 21,
  quickRounds: 5,
  async run({ rounds, note }) {
    const folder = await mkdtemp(join(tmpdir(), "retail-pos-bench-"));
    try {
      const sizes = {};
      for (const row of Object.keys(INSTALLED)) {
        sizes[row] = await install(join(folder, row.replace(/\W/g, "-")), INSTALLED[row]);
        note(`${row} installed`);
      }
      const imports = await interleaved(Object.keys(INSTALLED), rounds, (row) => importOf(sizes[row]));
      return rowsOf(imports, sizes);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function rowsOf(imports, sizes) {
  const over = (row, base) =>
    median(imports.get(row).map((tookMs, round) => tookMs - imports.get(base)[round]));
  const isWithin = (row) => {
    const { within } = INSTALLED[row];
    return within ? yesOrNo(over(row, within.of) <= within.ms) : null;
  };
  const added = ratioTo(imports, "oauth4webapi");
  return Object.fromEntries(
    Object.entries(sizes).map(([row, { packages, kib }]) => [
      row,
      {
        added: added.get(row),
        packages,
        kib,
        within: isWithin(row),
      },
    ]),
  );
}

const yesOrNo = (is) => (is ? "yes" : "no");

/** In a fresh process, from inside: how long Node itself takes to start is in nobody's figure. */
async function importOf({ main }) {
  const { stdout } = await run(process.execPath, [main], { env: { ...process.env, NODE_ENV: "production" } });
  return Number(stdout);
}

/** What users get: `npm install` of the packed package into an empty folder. */
async function install(folder, { import: name, packed }) {
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true }));
  const what = packed
    ? await Promise.all(packed.map((directory) => pack(directory, folder)))
    : [`${name}@${dependencies[name]}`];
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--omit=dev"];
  await run("npm", ["install", ...options, ...what], { cwd: folder });
  const main = join(folder, "main.mjs");
  await writeFile(main, `${TIMED_IMPORT}(${JSON.stringify(name)});\n`);
  const { bytes, packages } = await contents(join(folder, "node_modules"));
  return { main, packages, kib: Math.round(bytes / 1024) };
}

/** `pnpm pack` puts versions in the place of `workspace:*`. */
async function pack(directory, destination) {
  const options = ["-y", "pnpm", "pack", "--json", "--pack-destination", destination];
  const { stdout } = await run("npx", options, { cwd: join(PACKAGES, directory) });
  return JSON.parse(stdout.slice(stdout.indexOf("{"))).filename;
}

async function contents(folder) {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  let bytes = 0;
  let packages = 0;
  for (const file of files) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    if (!path.includes("/node_modules/.")) bytes += (await stat(path)).size;
    if (/node_modules\/(@[^/]+\/)?[^/@.][^/]*\/package\.json$/.test(path)) packages += 1;
  }
  return { bytes, packages };
}
