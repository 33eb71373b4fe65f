import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { outputOf, problemsOf } from "./project.js";

/** Programs of a document, in a folder with our packages, to be compiled in many ways. */
export interface Starter {
  /** What this compiler says about the programs, and about our declarations. */
  compile(compiler: string, settings: Readonly<Record<string, unknown>>, type: string): Promise<string[]>;
  /** Loads what was compiled last with these settings. Answers the files, when all of them are loaded. */
  run(settings: Readonly<Record<string, unknown>>, type: string): Promise<string>;
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
export async function newStarter(
  folder: string,
  programs: ReadonlyMap<string, string>,
  dependencies: Record<string, string>,
): Promise<Starter> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  await outputOf("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], folder);
  const placeOf = (settings: object, type: string) => `${Object.values(settings).join("-")}-${type}`;
  const names = [...programs.keys()].map((file) => file.replace(/\.ts$/, ".js"));

  return {
    async compile(compiler, settings, type) {
      const place = placeOf(settings, type);
      mkdirSync(join(folder, place), { recursive: true });
      const write = (file: string, text: string) => writeFileSync(join(folder, place, file), text);
      for (const [file, text] of programs) write(file, text);
      write("package.json", JSON.stringify({ type }));
      const files = [...programs.keys()];
      write("tsconfig.json", JSON.stringify({ compilerOptions: { ...careful, ...settings }, files }));
      return problemsOf(outputOf(process.execPath, [compiler, "--project", place], folder));
    },
    async run(settings, type) {
      const out = join(folder, placeOf(settings, type), "out");
      const loaded = names.map((name) => `import(${JSON.stringify(join(out, name))})`).join(", ");
      const program = `Promise.all([${loaded}]).then(() => console.log(${JSON.stringify(names.join(" "))}))`;
      return outputOf(process.execPath, ["--eval", program], folder, env);
    },
  };
}
