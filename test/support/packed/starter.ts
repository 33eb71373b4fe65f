import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { outputOf, problemsOf } from "./project.js";

/** Programs with settings of their own. */
export interface Setup {
  /** Where they are compiled: a folder of this name. */
  readonly place: string;
  readonly programs: ReadonlyMap<string, string>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly type: string;
}

/** A folder with our packages, where programs of documents are compiled in many ways. */
export interface Starter {
  /**
   * What this compiler says about each setup's programs, and about our declarations. It starts once for all setups,
   * because to start and to read the packages takes it longer than to compile.
   */
  compile(compiler: string, setups: readonly Setup[]): Promise<Map<string, string[]>>;
  /** Loads what was compiled. Answers the files, when all of them are loaded. */
  run(setup: Setup): Promise<string>;
}

/** What a careful user switches on. */
const careful = {
  target: "es2022",
  lib: ["es2022"],
  types: ["node"],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  esModuleInterop: true,
  skipLibCheck: false,
  outDir: "out",
};

const env = {
  RETAIL_POS_AUTH_URL: "https://login.example.com",
  RETAIL_POS_BASE_URL: "https://{domain_prefix}.example.com",
  RETAIL_POS_CLIENT_ID: "the-application",
  RETAIL_POS_CLIENT_SECRET: "the-client-secret",
  RETAIL_POS_REDIRECT_URI: "https://app.example.net/callback",
};

/** Makes the folder with plain npm. */
export async function newStarter(folder: string, dependencies: Record<string, string>): Promise<Starter> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  await outputOf("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], folder);

  return {
    async compile(compiler, setups) {
      for (const setup of setups) write(folder, setup);
      const places = setups.map(({ place }) => place);
      const args = [compiler, "--build", "--force", "--verbose", ...places];
      const problems = problemsByPlace(await problemsOf(outputOf(process.execPath, args, folder)));
      expect([...problems.keys()]).toEqual(places);
      return problems;
    },
    async run({ place, programs }) {
      const names = [...programs.keys()].map((file) => file.replace(/\.ts$/, ".js"));
      const out = join(folder, place, "out");
      const loaded = names.map((name) => `import(${JSON.stringify(join(out, name))})`).join(", ");
      const program = `Promise.all([${loaded}]).then(() => console.log(${JSON.stringify(names.join(" "))}))`;
      return outputOf(process.execPath, ["--eval", program], folder, env);
    },
  };
}

function write(folder: string, { place, programs, settings, type }: Setup): void {
  mkdirSync(join(folder, place));
  const add = (file: string, text: string) => writeFileSync(join(folder, place, file), text);
  for (const [file, text] of programs) add(file, text);
  add("package.json", JSON.stringify({ type }));
  const files = [...programs.keys()];
  add("tsconfig.json", JSON.stringify({ compilerOptions: { ...careful, ...settings }, files }));
}

/** `--verbose` says before each project's problems which project it is. */
function problemsByPlace(lines: readonly string[]): Map<string, string[]> {
  const problems = new Map<string, string[]>();
  let current: string[] | undefined;
  for (const line of lines) {
    const [, place] = /Building project '(?:.*\/)?([^/]+)\/tsconfig\.json'\.\.\.$/.exec(line) ?? [];
    if (place !== undefined) {
      current = [];
      problems.set(place, current);
    } else if (/(: |^)error TS/.test(line)) {
      if (!current) throw new Error(line);
      current.push(line);
    }
  }
  return problems;
}
