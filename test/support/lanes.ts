import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { filesIn } from "./files.js";
import { root, sources } from "./sources.js";

/**
 * Whoever imports one of these, itself or by way of another file, may start a server, a browser or another process,
 * or talk to one. `in-process.ts` catches what slips through.
 */
export const REAL_PARTS: readonly RegExp[] = [
  /^node:(http|https|http2|net|tls|dgram|child_process|cluster|worker_threads)$/,
  /^(express|koa|fastify|@nestjs\/core|@hono\/node-server)\d?$/,
  /^(pg|ioredis|redis|playwright-core)\d*$/,
];

export interface Lanes {
  /** Test files that need no server, no browser and no other process. */
  readonly fast: readonly string[];
  /** Those that need them. */
  readonly real: readonly string[];
  /** Those named `*.long.test.ts`, whatever they need: only `pnpm test:all` runs them. */
  readonly long: readonly string[];
  /** Those of the examples. `pnpm test:all` runs them where `test/copied-out.long.test.ts` has copied them. */
  readonly examples: readonly string[];
}

/** Every test file of the repository, in the lane where it belongs by what it imports. Paths from the root. */
export function lanes(): Lanes {
  const files = ["packages", "test", "scripts"].flatMap(testFilesIn);
  const imports = new Map<string, readonly string[]>();
  const isReal = (file: string) => reached(resolve(root, file), imports).some(isRealPart);
  const [long, short] = [files.filter(isLong), files.filter((file) => !isLong(file))];
  return {
    fast: short.filter((file) => !isReal(file)),
    real: short.filter(isReal),
    long,
    examples: testFilesIn("examples"),
  };
}

function testFilesIn(folder: string): string[] {
  return filesIn(folder).filter((file) => /\.test\.[jt]s$/.test(file));
}

const isLong = (file: string) => file.includes(".long.test.");
const isRealPart = (name: string) => REAL_PARTS.some((pattern) => pattern.test(name));

/** The modules outside the repository that a file imports, itself or by way of others. */
function reached(file: string, imports: Map<string, readonly string[]>): string[] {
  const files = new Set([file]);
  const modules = new Set<string>();
  for (const each of files) {
    const named = imports.get(each) ?? importsOf(each);
    imports.set(each, named);
    for (const name of named) {
      const source = sourceOf(name, each);
      if (source === undefined) modules.add(name);
      else files.add(source);
    }
  }
  return [...modules];
}

/** What a file imports at run time: `import type` is gone by then. */
function importsOf(file: string): string[] {
  const statement = /^\s*(?:import|export) (?!type )(?:[^"';]*? from )?"([^"]+)"|\bimport\("([^"]+)"\)/gm;
  return [...readFileSync(file, "utf8").matchAll(statement)].map(([, name, later]) => name ?? later ?? "");
}

/** The file behind an import of ours. */
function sourceOf(name: string, importer: string): string | undefined {
  if (!name.startsWith(".")) return sources.get(name);
  const path = resolve(dirname(importer), name);
  return [path, path.replace(/\.js$/, ".ts")].find((candidate) => existsSync(candidate));
}
