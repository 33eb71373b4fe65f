import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const program = fileURLToPath(new URL("program", import.meta.url));

/** A folder of somebody who has never seen the repository: our packages are installed, and `program/` is theirs. */
export interface Project {
  /** Compiles the program, once. Answers what is wrong with it, or with declarations of ours. */
  compile(): Promise<string[]>;
  /** Runs the compiled program, as ES modules or as CommonJS, to its end. Answers what it printed. */
  run(node: string, modules: Modules): Promise<string>;
  /** The same for a command that was installed. */
  command(name: string, ...args: string[]): Promise<string>;
  /** The same, by another Node than the one of this process. */
  commandBy(node: string, name: string, ...args: string[]): Promise<string>;
}

export type Modules = "module" | "commonjs";

/** The same program in two folders: in one `import` stays as it is, in the other it becomes `require()`. */
const kinds: readonly Modules[] = ["module", "commonjs"];

/** What a careful user switches on. Declarations in packages are checked too. */
const compilerOptions = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
};

/** A problem in a package that is not ours: our users cannot mend it, and neither can we. */
const ofOthers = /^node_modules\/(?!@retail-pos\/|passport-retail-pos\/)/;

/** Makes the project with plain npm. */
export async function newProject(folder: string, dependencies: Record<string, string>): Promise<Project> {
  mkdirSync(folder);
  write("package.json", { private: true, dependencies });
  write("tsconfig.json", { compilerOptions, include: kinds });
  for (const type of kinds) {
    cpSync(program, join(folder, type), { recursive: true });
    write(join(type, "package.json"), { type });
  }
  await outputOf("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], folder);
  const command = (name: string, ...args: string[]) =>
    outputOf(join(folder, "node_modules/.bin", name), args, folder);
  let compiled: Promise<string[]> | undefined;
  const compile = () => {
    compiled ??= problemsOf(command("tsc", "--project", "."));
    return compiled;
  };
  return {
    command,
    commandBy: (node, name, ...args) => outputOf(node, [join("node_modules/.bin", name), ...args], folder),
    compile,
    async run(node, modules) {
      await compile();
      return outputOf(node, [join(modules, "main.js")], folder);
    },
  };

  function write(file: string, content: unknown): void {
    writeFileSync(join(folder, file), JSON.stringify(content));
  }
}

/** What a compiler wrote about a program, or about our declarations. */
export async function problemsOf(compilation: Promise<string>): Promise<string[]> {
  const output = await compilation.catch((error) => {
    const isFinished = !error.killed && !error.signal && !error.stderr; // and did not crash
    if (error.stdout && isFinished) return error.stdout as string;
    throw error;
  });
  return output.split("\n").filter((line) => /^\S/.test(line) && !ofOthers.test(line));
}

/** The path of a Node; npx fetches it once. */
export async function nodeAt(version: string): Promise<string> {
  return (await outputOf("npx", ["-y", `node@${version}`, "-p", "process.execPath"])).trim();
}

/** A program that does not end by itself fails. */
export async function outputOf(
  command: string,
  args: string[],
  cwd?: string,
  more: Record<string, string> = {},
): Promise<string> {
  const { NODE_OPTIONS: _ofTheTestRunner, ...env } = process.env;
  const { stdout } = await promisify(execFile)(command, args, {
    cwd,
    env: { ...env, ...more },
    timeout: 300_000, // npm fetches everything on a new machine
  });
  return stdout;
}
