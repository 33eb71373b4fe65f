import { existsSync, readdirSync, readFileSync } from "node:fs";
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
});

test("the changelog begins with this version, or with what comes after it", () => {
  const headings = readFileSync(`${root}/CHANGELOG.md`, "utf8").match(/^## .*$/gm) ?? [];
  const [version] = versions.values();
  expect(headings.filter((heading) => heading !== "## Unreleased")[0]).toBe(`## ${version}`);
});

test("all packages have one version: what was tested together has the same number", () => {
  expect(new Set(versions.values()).size).toBe(1);
});

const examples = ["", "frameworks/"].flatMap((folder) =>
  readdirSync(`${root}/examples/${folder}`)
    .map((name) => folder + name)
    .filter((name) => existsSync(`${root}/examples/${name}/package.json`)),
);
test.each(examples)("%s takes this version of our packages from npm", (example) => {
  const { dependencies, devDependencies } = manifestAt(`examples/${example}`);
  const ours = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => versions.has(name));
  expect(ours.length).toBeGreaterThan(0);
  for (const [name, range] of ours) expect(range).toBe(`^${versions.get(name)}`);
});

describe("the workflows", () => {
  const folder = `${root}/.github/workflows`;
  const workflows = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, "utf8"));
  const [, release = ""] = readFileSync(`${folder}/release.yml`, "utf8").split(/^jobs:\n/m);
  const jobs = new Map(
    [...release.matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n)+)/gm)].map(([, name = "", job = ""]) => [name, job]),
  );
  const jobsWith = (text: string) => [...jobs].filter(([, job]) => job.includes(text)).map(([name]) => name);

  test("take every action of others at a commit, which a moved tag does not change", () => {
    const actions = workflows.flatMap((text) => [...text.matchAll(/\buses: (.*)/g)].map(([, name]) => name));
    const foreign = actions.filter((name) => !name?.startsWith("./"));
    expect(foreign.length).toBeGreaterThan(3);
    for (const action of foreign) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("may read the repository, and no more unless a job says so", () => {
    for (const text of workflows) expect(text).toMatch(/^permissions:\n {2}contents: read\n\n/m);
  });

  test("publish in one job, which waits for an approval and can do nothing else", () => {
    expect([...jobs.keys()]).toEqual(["check", "version", "pack", "publish", "tag"]);
    for (const right of ["npm publish", "id-token:", "NPM_TOKEN", "environment: npm"])
      expect(jobsWith(right)).toEqual(["publish"]);
    expect(permissionsOf("publish")).toEqual(["id-token: write"]);
  });

  test("pack in a job without rights, and publish its tarballs: nothing that was installed runs beside the rights", () => {
    expect(jobsWith("pnpm pack:all")).toEqual(["pack"]);
    expect(permissionsOf("pack")).toEqual(["contents: read"]);
    expect(jobs.get("pack")).not.toContain("secrets.");
    const publish = jobs.get("publish") ?? "";
    expect(publish).toContain("needs: [version, pack]\n");
    // What was approved, and one manifest in each tarball.
    expect(publish).toContain(
      'in @retail-pos/*@"$VERSION" | passport-retail-pos@"$VERSION") ;; *) exit 1 ;;',
    );
    expect(publish).toContain("grep -c '^package/package\\.json$'");
    expect(publish).toContain(
      'npm publish "$tarball" --access public --provenance --ignore-scripts --registry "https:$registry"\n',
    );
    expect([...publish.matchAll(/uses: ([\w/-]+)@/g)].map(([, action]) => action)).toEqual([
      "actions/setup-node",
      "actions/download-artifact",
    ]);
    expect(publish).not.toMatch(/checkout|pnpm|npm (?:ci|install)|npx|node /);
  });

  function permissionsOf(job: string): string[] {
    const [, lines = ""] = /permissions:\n((?: {6}.*\n)+)/.exec(jobs.get(job) ?? "") ?? [];
    return [...lines.matchAll(/^ {6}([^#\n]*?)(?: #.*)?$/gm)].map(([, line]) => line ?? "");
  }
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
