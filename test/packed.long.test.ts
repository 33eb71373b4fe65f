import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packAll } from "../scripts/pack.mjs";
import { type Modules, newProject, nodeAt, type Project } from "./support/packed/project.js";
import { newest, oldest } from "./support/packed/versions.js";

// Our tarballs, installed by plain npm into an empty project far from the repository: one program logs in,
// calls, renews, and makes every store, as people use the packages (test/support/packed/program).

const folder = mkdtempSync(join(tmpdir(), "retail-pos-packed-"));
const patience = 600_000; // a clean machine fetches everything

const projects = new Map<string, Project>();
const nodes = new Map<string, string>();

beforeAll(async () => {
  const packed = await packAll(folder);
  const ours = Object.fromEntries([...packed].map(([name, file]) => [name, `file:${file}`]));
  const make = async (name: string, others: Record<string, string>) =>
    projects.set(name, await newProject(join(folder, name), { ...others, ...ours }));
  await Promise.all([make("newest", newest), make("oldest", oldest)]);
  for (const version of ["20.19.0", "^22", "^24", "^26"]) nodes.set(version, await nodeAt(version));
}, patience);
afterAll(() => rmSync(folder, { recursive: true, force: true }), patience);

describe.each([
  ["newest", ["20.19.0", "^22", "^24", "^26"]],
  ["oldest", ["20.19.0"]],
])("with the %s frameworks", (name, versions) => {
  test(
    "a strict TypeScript compiles the program, and finds nothing wrong in our declarations",
    async () => expect(await projects.get(name)?.compile()).toEqual([]),
    patience,
  );

  describe.each(versions)("on Node %s", (version) => {
    test.each<[string, Modules]>([
      ["import", "module"],
      ["require()", "commonjs"],
    ])(
      "the program runs by %s",
      async (_how, modules) => {
        expect(await projects.get(name)?.run(nodes.get(version) ?? "", modules)).toBe(
          "coreAlone: well\nexpressLogin: well\nkoaLogin: well\notherBearers: well\nstores: well\n",
        );
      },
      patience,
    );

    test("the command retail-pos runs", async () => {
      const project = projects.get(name);
      const node = nodes.get(version) ?? "";
      expect(await project?.commandBy(node, "retail-pos", "--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect(await project?.commandBy(node, "retail-pos", "copy", "--help")).toContain("--client");
    });
  });
});

test.each([
  ["retail-pos-sandbox", ["--help"], "--port"],
  ["retail-pos", ["--help"], "doctor"],
  ["retail-pos", ["doctor", "--help"], "--callback"],
  ["retail-pos", ["list", "--help"], "--refused"],
])("the command %s is there: %j", async (name, args, words) => {
  expect(await projects.get("newest")?.command(name, ...args)).toContain(words);
});
