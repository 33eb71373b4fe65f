import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packAll } from "../scripts/pack.mjs";
import { programsIn, tablesOf } from "./support/docs/documents.js";
import { type Compilers, installCompilers } from "./support/packed/compilers.js";
import { outputOf, problemsOf } from "./support/packed/project.js";
import { newStarter, type Starter } from "./support/packed/starter.js";
import { newest } from "./support/packed/versions.js";
import { root } from "./support/sources.js";

// docs/typescript.md says which compilers and which settings work. Its programs are compiled here in each of them,
// against our tarballs.

const document = "docs/typescript.md";
const patience = 240_000; // npm fetches what is missing

const folder = mkdtempSync(join(tmpdir(), "retail-pos-typescript-"));
const programs = programsIn(document, "test/typescript.long.test.ts");
const [[, , ...heads] = [], ...rows] = tablesOf(document)[0] ?? [];
const versions = heads.map((head) => head.split(" ").at(-1) ?? "");
/** Its programs have another `User`. */
const accounts = new Map(
  [...programsIn("docs/accounts.md", "test/accounts.test.ts")].map(([path, text]) => [basename(path), text]),
);
const nodenext = { settings: settingsIn('"module": "nodenext"'), type: "module" };
let compilers: Compilers;
let starter: Starter;
let withExpress4: Starter;
const compilations = new Map<string, Promise<Map<string, string[]>>>();

beforeAll(async () => {
  const packed = await packAll(folder);
  const ours = Object.fromEntries([...packed].map(([name, file]) => [name, `file:${file}`]));
  const needed = Object.fromEntries(Object.entries({ ...newest, ...ours }).filter(isNeeded));
  const express4 = { express: "^4.21.0", "@types/express": "^4.17.0" };
  [compilers, starter, withExpress4] = await Promise.all([
    installCompilers(versions),
    newStarter(join(folder, "express-5"), needed),
    newStarter(join(folder, "express-4"), { ...needed, ...express4 }),
  ]);
}, patience);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the document has the programs, and a table of settings and versions", () => {
  expect([...programs.keys()]).toEqual(["express.ts", "koa.ts"]);
  expect(versions).toEqual(["5.6", "5.9", "6.0", "7.0"]);
  expect(rows.length).toBeGreaterThan(5);
});

describe.each(rows)("with %s in a package of type %s", (options, type, ...cells) => {
  test.each(versions.map((version, index) => [version, cells[index]] as const))(
    "TypeScript %s compiles the programs: %s",
    async (version, word) => {
      expect(["yes", "no"]).toContain(word);
      const problems = (await compiledBy(version)).get(placeOf(version, options ?? "", type ?? ""));
      if (word === "no") expect(problems).not.toEqual([]);
      else expect(problems).toEqual([]);
    },
    patience,
  );
});

test.each([versions[0], versions.at(-1)])(
  "TypeScript %s compiles the programs of examples/frameworks that Node runs",
  async (version) => {
    const compile = (name: string) =>
      problemsOf(
        outputOf(compilers.get(version ?? ""), ["--noEmit"], join(root, "examples/frameworks", name)),
      );
    for (const name of ["fastify", "hono", "nestjs", "node-http"]) expect(await compile(name)).toEqual([]);
  },
  patience,
);

test.each([versions[0], versions.at(-1)])(
  "TypeScript %s compiles them with @types/express 4",
  async (version) => {
    const setup = { place: `${version}`, programs, ...nodenext };
    const problems = await withExpress4.compile(compilers.get(version ?? ""), [setup]);
    expect(problems.get(setup.place)).toEqual([]);
  },
  patience,
);

test.each(versions)(
  "TypeScript %s compiles the programs of docs/accounts.md",
  async (version) => {
    expect((await compiledBy(version)).get(`${version}-accounts`)).toEqual([]);
  },
  patience,
);

test.each([
  ['"module": "nodenext"', "module"],
  ['"module": "commonjs"', "commonjs"],
])(
  "what the oldest TypeScript makes of them with %s runs",
  async (options, type) => {
    const version = versions[0] ?? "";
    await compiledBy(version);
    const settings = settingsIn(options);
    const setup = { place: placeOf(version, options, type), programs, settings, type };
    expect(await starter.run(setup)).toBe("express.js koa.js\n");
  },
  patience,
);

/** Each row's programs and those of docs/accounts.md, compiled once. */
function compiledBy(version: string): Promise<Map<string, string[]>> {
  const setups = rows.map(([options = "", type = "", ...cells]) => {
    // To check all packages' declarations takes the most time: by the oldest and by the newest compiler, if at all.
    const isChecking = cells[versions.indexOf(version)] === "yes";
    const checksPackages = isChecking && [versions[0], versions.at(-1)].includes(version);
    const settings = { ...settingsIn(options), skipLibCheck: !checksPackages };
    return { place: placeOf(version, options, type), programs, settings, type };
  });
  const all = [...setups, { place: `${version}-accounts`, programs: accounts, ...nodenext }];
  const compilation = compilations.get(version) ?? starter.compile(compilers.get(version), all);
  compilations.set(version, compilation);
  return compilation;
}

function placeOf(version: string, options: string, type: string): string {
  return [version, ...Object.values(settingsIn(options)), type].join("-");
}

/** What a program imports, its types, and what our packages import of each other. */
function isNeeded([name]: [name: string, version: string]): boolean {
  const imports = [...programs.values(), ...accounts.values()].join("").matchAll(/ from "(.+)"/g);
  const imported = [...imports].map(([, from]) => from);
  return [...imported, "@retail-pos/login", "node"].includes(name.replace("@types/", ""));
}

function settingsIn(options: string): Record<string, unknown> {
  return JSON.parse(`{${options}}`);
}
