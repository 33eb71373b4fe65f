import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { outputOf } from "./project.js";

/** Compilers by their line, like "5.6": the paths of their programs. */
export interface Compilers {
  /** @throws {Error} there is none of this line. */
  get(line: string): string;
}

/** Fetched once for each machine: nothing in them changes. */
export async function installCompilers(lines: readonly string[]): Promise<Compilers> {
  const folder = join(tmpdir(), `retail-pos-compilers-${lines.join("-")}`);
  const programs = new Map(lines.map((line) => [line, join(folder, "node_modules", line, "bin", "tsc")]));
  if (![...programs.values()].every((program) => existsSync(program))) {
    mkdirSync(folder, { recursive: true });
    const dependencies = Object.fromEntries(lines.map((line) => [line, `npm:typescript@~${line}.0`]));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
    await outputOf("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], folder);
  }
  return {
    get(line) {
      const program = programs.get(line);
      if (program === undefined) throw new Error(`TypeScript ${line} was not installed`);
      return program;
    },
  };
}
