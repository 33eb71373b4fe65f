import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { minVersion, satisfies } from "semver";
import { describe, expect, test } from "vitest";
import { oldest } from "./support/packed/versions.js";

// What our packages say they work with is what the tests run: each major version that a range names, and the
// lowest version of all. The tests have them side by side under other names, as `express4` beside `express`;
// the lowest of the frameworks are in test/packed.long.test.ts.

const root = fileURLToPath(new URL("..", import.meta.url));
const packages = readdirSync(`${root}/packages`).map((folder) => `packages/${folder}`);
const tested = testedVersions();

const peers = packages.flatMap((path) => {
  const { name, peerDependencies = {} } = manifestAt(path);
  return Object.entries(peerDependencies).map(([peer, range]) => [name, peer, range] as const);
});

describe.each(peers)("%s with %s %s", (_name, peer, range) => {
  const versions = tested.filter(({ name }) => name === peer).map(({ version }) => version);

  test.each(range.split(" || "))("some version of %s is tested", (major) => {
    expect(versions.filter((version) => satisfies(version, major))).not.toEqual([]);
  });

  test("the lowest version is tested", () => {
    expect(versions).toContain(String(minVersion(range)));
  });

  test("every version that is tested may be installed", () => {
    expect(versions.filter((version) => !satisfies(version, range))).toEqual([]);
  });
});

interface Manifest {
  name: string;
  version: string;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

function testedVersions(): { name: string; version: string }[] {
  const installed = [".", ...packages].flatMap((path) =>
    Object.keys(manifestAt(path).devDependencies ?? {})
      .map((alias) => `${path}/node_modules/${alias}`)
      .map(manifestAt),
  );
  const lowest = Object.entries(oldest).map(([name, version]) => ({ name, version }));
  return [...installed, ...lowest.filter(({ version }) => /^\d/.test(version))];
}

function manifestAt(path: string): Manifest {
  return JSON.parse(readFileSync(`${root}/${path}/package.json`, "utf8"));
}
