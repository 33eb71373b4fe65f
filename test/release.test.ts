import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

// What a release needs of every package, before anybody publishes it.

const root = fileURLToPath(new URL("..", import.meta.url));
const folders = readdirSync(`${root}/packages`);
const versions = new Map(
  folders.map((folder) => [manifestAt(`packages/${folder}`).name, manifestAt(`packages/${folder}`).version]),
);

describe.each(folders)("%s", (folder) => {
  const manifest = manifestAt(`packages/${folder}`);

  test("says on npm what it is, where it comes from and where to complain", () => {
    expect(manifest).toMatchObject({
      description: expect.stringMatching(/\.$/),
      keywords: expect.arrayContaining(["retail-pos"]),
      homepage: `https://github.com/retail-pos/auth/tree/main/packages/${folder}#readme`,
      bugs: "https://github.com/retail-pos/auth/issues",
      repository: {
        type: "git",
        url: "git+https://github.com/retail-pos/auth.git",
        directory: `packages/${folder}`,
      },
    });
  });

  test("is published for everybody, with a proof of where it was built", () => {
    expect(manifest).toMatchObject({ publishConfig: { access: "public", provenance: true } });
  });

  test("exports modules with their types, and nothing else", () => {
    for (const target of Object.values(manifest.exports ?? {})) {
      expect(Object.keys(target)).toEqual(["types", "default"]); // TypeScript takes the first that fits
    }
  });

  test("has a changelog that begins with this version", () => {
    const [title, latest = ""] = readFileSync(`${root}/packages/${folder}/CHANGELOG.md`, "utf8").split(
      /^## /m,
    );
    expect(title).toBe(`# ${manifest.name}\n\n`);
    expect(latest.split("\n", 1)).toEqual([manifest.version]);
  });
});

test("all packages have one version: what was tested together has the same number", () => {
  expect(new Set(versions.values()).size).toBe(1);
});

test.each(readdirSync(`${root}/examples`))("%s takes this version of our packages from npm", (example) => {
  const { dependencies, devDependencies } = manifestAt(`examples/${example}`);
  const ours = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => versions.has(name));
  expect(ours.length).toBeGreaterThan(0);
  for (const [name, range] of ours) expect(range).toBe(`^${versions.get(name)}`);
});

interface Manifest {
  name: string;
  version: string;
  exports?: Record<string, Record<string, string>>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

function manifestAt(path: string): Manifest {
  return JSON.parse(readFileSync(`${root}/${path}/package.json`, "utf8"));
}
