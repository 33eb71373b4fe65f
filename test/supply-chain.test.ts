import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";

// What somebody gets who installs our packages: these files, these dependencies, and no code that runs by itself.

const root = fileURLToPath(new URL("..", import.meta.url));

interface Manifest {
  name: string;
  license?: string;
  type?: string;
  sideEffects?: boolean;
  engines?: { node?: string };
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  bundledDependencies?: string[];
  bundleDependencies?: string[];
  bin?: Record<string, string>;
  private?: boolean;
}

/** Reviewed: whatever is installed along with a package. A new line here is a new stranger's code at every user's. */
const DEPENDENCIES: Record<string, string[]> = {
  cli: ["@retail-pos/core", "tough-cookie"],
  core: [],
  "express-bearer": ["@retail-pos/core"],
  "fastify-bearer": ["@retail-pos/core"],
  fetch: ["@retail-pos/core", "undici"],
  "hono-bearer": ["@retail-pos/core"],
  "koa-bearer": ["@retail-pos/core"],
  login: ["@retail-pos/core"],
  opentelemetry: ["@retail-pos/core"],
  "passport-retail-pos": [
    "@retail-pos/core",
    "@retail-pos/login",
    "@types/express",
    "@types/passport",
    "@types/passport-oauth2",
    "passport-oauth2",
  ],
  sandbox: [],
  "sealed-store": ["@retail-pos/core", "jose"],
  "store-contracts": ["@retail-pos/core"],
  "store-postgres": ["@retail-pos/core"],
  "store-redis": ["@retail-pos/core"],
  "store-sqlite": ["@retail-pos/core"],
};

/** What every package holds besides its code. */
const BESIDES = ["LICENSE", "README.md", "package.json"];
const BESIDES_OF: Record<string, string[]> = {
  opentelemetry: ["alerts.yml", "dashboard.json"],
  cli: ["dist", "src"].flatMap((from) =>
    ["browser/silences", "findings/messages"].map((name) => `${from}/doctor/${name}.json`),
  ),
  sandbox: ["demo-stores.json", "sandbox.css", "sandbox.js"],
  "store-postgres": ["schema.sql"],
};

/** npm runs these, of its own accord, where a package is installed. */
const INSTALL_SCRIPTS = [
  "preinstall",
  "install",
  "postinstall",
  "preprepare",
  "prepare",
  "postprepare",
  "prepublish",
];

const folders = readdirSync(`${root}/packages`);
let packed: Map<string, string[]>;

beforeAll(async () => {
  packed = await contentsOf(folders);
}, 300_000); // npm reads a whole tree for each package: 15 seconds alone, a minute beside other tests

test("every package that is published was reviewed", () => {
  expect(folders.filter((folder) => !manifestOf(folder).private)).toEqual(Object.keys(DEPENDENCIES).sort());
});

describe.each(folders)("%s", (folder) => {
  const manifest = manifestOf(folder);
  const readme = read(folder, "README.md");

  test("holds its code, compiled and as it was written, and beside it only what was reviewed", () => {
    const files = packed.get(manifest.name) ?? [];
    const code = files.filter((file) =>
      /^(dist\/[\w./-]+\.(js|d\.ts)(\.map)?|src\/[\w./-]+\.ts)$/.test(file),
    );
    expect(code.length).toBeGreaterThan(0);
    expect(files.filter((file) => !code.includes(file)).sort()).toEqual(
      [...BESIDES, ...(BESIDES_OF[folder] ?? [])].sort(),
    );
  });

  test("every file of code comes from a source that is there and is no test", () => {
    const code = (packed.get(manifest.name) ?? []).filter((file) => file.startsWith("dist/"));
    for (const file of code) {
      // What core's two entries share (scripts/bundle.mjs).
      if (folder === "core" && /^dist\/shared\.js/.test(file)) continue;
      const source = file.replace(/^dist\//, "src/").replace(/\.(js|d\.ts)(\.map)?$/, ".ts");
      expect(existsSync(`${root}/packages/${folder}/${source}`), `${file} has no ${source}`).toBe(true);
      expect(source).not.toMatch(/\.test\.ts$|\/testing\//);
    }
  });

  test("an editor finds the source of each of its types", () => {
    const files = packed.get(manifest.name) ?? [];
    const types = files.filter((file) => file.endsWith(".d.ts"));
    for (const file of types) {
      const { sources } = JSON.parse(read(folder, `${file}.map`)) as { sources: string[] };
      for (const source of sources) expect(files, file).toContain(join(dirname(file), source));
    }
    expect(types.length).toBeGreaterThan(0);
    expect(files.filter((file) => /\.test\.|\/testing\//.test(file))).toEqual([]);
  });

  test("its types name no file that is not in it", () => {
    const files = packed.get(manifest.name) ?? [];
    for (const file of files.filter((name) => name.endsWith(".d.ts"))) {
      const named = read(folder, file).matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g);
      for (const [, path = ""] of named) expect(files, file).toContain(`${join(dirname(file), path)}.d.ts`);
    }
  });

  test("what it exports and runs is in it", () => {
    const files = packed.get(manifest.name) ?? [];
    const named = JSON.stringify([manifest.bin, (manifest as { exports?: unknown }).exports]).match(
      /\.\/dist\/[^"]+/g,
    );
    expect(named).not.toBeNull();
    for (const path of named ?? []) expect(files).toContain(path.slice(2));
  });

  test("runs nothing while it is installed", () => {
    const scripts = Object.keys(manifest.scripts ?? {});
    expect(scripts.filter((script) => INSTALL_SCRIPTS.includes(script))).toEqual([]);
    expect(packed.get(manifest.name)).not.toContain("binding.gyp"); // npm would build it
  });

  test("depends on what was reviewed and on nothing else", () => {
    expect(Object.keys(manifest.dependencies ?? {}).sort()).toEqual(DEPENDENCIES[folder]);
    expect(manifest.optionalDependencies).toBeUndefined();
    expect(manifest.bundledDependencies ?? manifest.bundleDependencies).toBeUndefined();
  });

  test("its README gives a reason for each dependency, or says that there is none", () => {
    const names = DEPENDENCIES[folder] ?? [];
    const [, reasons = names.length === 0 ? readme : ""] = readme.split(
      /^## Dependencies$|\bDependenc(?:y|ies): /m,
    );
    if (names.length === 0) expect(reasons).toMatch(/\bno dependencies\./i);
    for (const name of names) expect(reasons).toContain(`\`${name}\``);
  });

  test("is a module for Node 20.19 or newer, free of side effects, under the repository's licence", () => {
    expect(manifest).toMatchObject({
      type: "module",
      sideEffects: false,
      engines: { node: ">=20.19" },
      license: "MIT",
    });
    expect(read(folder, "LICENSE")).toBe(readFileSync(`${root}/LICENSE`, "utf8"));
  });
});

test("in this repository no dependency runs code while it is installed", () => {
  expect(readFileSync(`${root}/pnpm-workspace.yaml`, "utf8")).toMatch(/^ignoreScripts: true$/m);
});

function manifestOf(folder: string): Manifest {
  return JSON.parse(read(folder, "package.json"));
}

function read(folder: string, file: string): string {
  return readFileSync(`${root}/packages/${folder}/${file}`, "utf8");
}

/** What npm would put into each tarball, by the package's name. */
async function contentsOf(folders: readonly string[]): Promise<Map<string, string[]>> {
  const paths = folders.map((folder) => `./packages/${folder}`);
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts", "--offline", ...paths];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: root });
  const answer = JSON.parse(stdout) as { name: string; files: { path: string }[] }[] | Record<string, never>;
  // A list by older npm, by name with newer ones.
  return new Map(Object.values(answer).map(({ name, files }) => [name, files.map(({ path }) => path)]));
}
