import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Block, isOnlyParsed, root } from "./documents.js";

// There, so that the packages are found as an installed application finds them.
const folder = join(root, "node_modules", ".docs");

/** How a block is read: by whom, and with which names around it. */
const readers = {
  express: { strict: false, names: "names-express.d.mts" },
  koa: { strict: false, names: "names-koa.d.mts" },
  fastify: { strict: false, names: "names-fastify.d.mts" },
  hono: { strict: false, names: "names-hono.d.mts" },
  /** TypeScript is for those who want to know. */
  typescript: { strict: true, names: "names-express.d.mts" },
  /** A whole program, whose `User` is another one. */
  accounts: { strict: true, names: "drivers.d.mts" },
} as const;

type Reader = keyof typeof readers;
type Files = ReadonlyMap<string, Block>;

/** What the compiler says about each block, against the built packages; by document and line. */
export function compilerProblems(blocks: readonly Block[]): Map<Block, string[]> {
  rmSync(folder, { recursive: true, force: true });
  const problems = new Map<Block, string[]>(
    blocks.map((block) => [block, isOnlyParsed(block) ? parserProblems(block) : []]),
  );
  const compiled = blocks.filter((block) => !isOnlyParsed(block));
  for (const reader of Object.keys(readers) as Reader[]) {
    const files = new Map(
      compiled.filter((block) => readerOf(block) === reader).map((block) => [fileOf(block), block]),
    );
    if (files.size === 0) continue;
    for (const { file, line, message } of compile(reader, files)) {
      const block = files.get(file);
      if (!block) throw new Error(`${file} ${line}: ${message}`);
      problems.get(block)?.push(`${block.document}:${line}: ${message}`);
    }
  }
  return problems;
}

function readerOf({ document, heading, language }: Block): Reader {
  if (document === "docs/accounts.md") return "accounts";
  if (language === "ts") return "typescript";
  const framework = /koa|fastify|hono/i.exec(document + heading)?.[0].toLowerCase();
  return (framework as Reader | undefined) ?? "express";
}

/** A block may say its path: `run by test/typescript.long.test.ts as express.ts`. */
function fileOf({ document, line, language, mark }: Block): string {
  const [, path] = / as (\S+)$/.exec(mark) ?? [];
  return path ?? `${document.replaceAll("/", "--")}.${line}.m${language}`;
}

function compile(reader: Reader, blocks: Files) {
  const { strict, names } = readers[reader];
  const cwd = join(folder, reader);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ type: "module" }));
  for (const [file, block] of blocks) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true });
    // In the lines it has in the document, for the messages.
    writeFileSync(join(cwd, file), "\n".repeat(block.line - 1) + block.text + sameTypes(block));
  }
  const compilerOptions = {
    ...{ target: "ES2023", lib: ["ES2023"], module: "NodeNext", moduleDetection: "force", types: ["node"] },
    ...{
      strict,
      exactOptionalPropertyTypes: strict,
      noUncheckedIndexedAccess: strict,
      allowJs: true,
      checkJs: !strict,
      experimentalDecorators: true,
    },
    ...{ noEmit: true, skipLibCheck: true, esModuleInterop: true },
  };
  const support = join(root, "test", "support", "docs");
  const files = [
    ...blocks.keys(),
    ...(reader === "accounts" ? [] : [join(support, "names.d.mts")]),
    join(support, names),
    join(support, "drivers.d.mts"),
  ];
  writeFileSync(join(cwd, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const said = tsc(cwd);
  const problems = [
    ...said.matchAll(/^(?:.*\/\.docs\/\w+\/)?([^\n(]+)\((\d+),\d+\): error (TS.*(?:\n {2,}.*)*)$/gm),
  ].map(([, file = "", line, message]) => ({ file, line: Number(line), message }));
  if (problems.length === 0 && said !== "") throw new Error(said); // about the settings, not about a file
  return problems;
}

/** Whether Node can read a block of somebody else's code, whose names nobody here knows. */
function parserProblems(block: Block): string[] {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, fileOf(block));
  writeFileSync(file, "\n".repeat(block.line - 1) + block.text);
  const { status, stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8" });
  if (status === 0) return [];
  const [, line = block.line] = /:(\d+)$/m.exec(stderr) ?? [];
  return [`${block.document}:${line}: ${/^SyntaxError.*/m.exec(stderr)?.[0] ?? stderr}`];
}

function tsc(cwd: string): string {
  try {
    return execFileSync(join(root, "node_modules", ".bin", "tsc"), ["-p", cwd], { cwd, encoding: "utf8" });
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    if (!stdout) throw error;
    return stdout;
  }
}

/** A document that repeats one of core's types repeats it as it is. Both directions, behind the block. */
function sameTypes({ language, mark, text }: Block): string {
  const isProgram = / as \S+\.ts$/.test(mark); // its types are its own
  if (language !== "ts" || isProgram) return "";
  const repeated = [...text.matchAll(/^(?:interface|type) (\w+)/gm)].map(([, name]) => name);
  return repeated
    .map(
      (name) =>
        `{ let here!: ${name}; let there!: import("@retail-pos/core").${name}; here = there; there = here; }`,
    )
    .join("");
}
