import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { blocksOf, codeSpansOf, root } from "./documents.js";

interface Manifest {
  name?: string;
  bin?: Record<string, string>;
  scripts?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/**
 * Each command line of the shell blocks, and each `code` that begins with npx, npm or pnpm. A block that says which
 * test runs it is left to that test.
 */
export function commandsOf(document: string): string[] {
  const lines = blocksOf(document)
    .filter(({ language, mark }) => language === "sh" && !mark.startsWith("run by "))
    .flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, "").split("\n"));
  const spans = codeSpansOf(document).filter((code) => /^(npx|p?npm) (?!-y$)/.test(code));
  return [...lines, ...spans].map(withoutComment).filter((command) => command !== "");
}

/** What keeps a reader's command from doing something: a script, program, file or flag that is not there. */
export function problemWithCommand(command: string, document: string): string | undefined {
  const [program = "", ...args] = wordsOf(command.replace(/^([A-Z_]+=("[^"]*"|\S*)\s+)+/, ""));
  if (program === "npx") return problemWithNpx(args, document);
  if (program === "pnpm") return problemWithPnpm(args);
  if (program === "npm") return problemWithNpm(args, document);
  if (program === "node") return problemWithNode(args, document);
  return undefined; // somebody else's
}

/** Run from the root, or from the document's folder. */
function problemWithNode([file = ""]: readonly string[], document: string): string | undefined {
  const isThere = ["", dirname(document)].some((folder) => existsSync(join(root, folder, file)));
  return isThere ? undefined : `there is no ${file}`;
}

function problemWithNpx(args: readonly string[], document: string): string | undefined {
  const [name = "", ...rest] = args.filter((word) => word !== "-y");
  if (name === "pnpm") return problemWithPnpm(rest);
  const ours = packages.get(name);
  if (!ours) return `${document} runs ${name}, which is not ours`;
  const [program, ...others] = Object.values(ours.manifest.bin ?? {});
  if (program === undefined || others.length > 0) return `npx does not know what to run of ${name}`;
  return problemWithFlags(join(ours.folder, program), rest);
}

/** Every `--flag` is in the help of the program, or of its command. */
function problemWithFlags(program: string, args: readonly string[]): string | undefined {
  const flags = args.filter((word) => word.startsWith("--"));
  if (flags.length === 0) return undefined;
  const command = args[0]?.startsWith("-") ? [] : args.slice(0, 1);
  const help = execFileSync(process.execPath, [program, ...command, "--help"], { encoding: "utf8" });
  const unknown = flags.find((flag) => !new RegExp(`^ +${flag} `, "m").test(help));
  return unknown && `there is no ${unknown}`;
}

function problemWithPnpm(args: readonly string[]): string | undefined {
  if (args[0] === "--filter") return problemWithScript(packages.get(args[1] ?? "")?.manifest, args[2]);
  if (["install", "exec", "pack"].includes(args[0] ?? "")) return undefined;
  return problemWithScript(manifestIn(root), args[0]);
}

function problemWithNpm([command, ...args]: readonly string[], document: string): string | undefined {
  // npm's own, for the reader's package.json
  if (["ci", "init", "pkg", "prune"].includes(command ?? "")) return undefined;
  if (command !== "install") {
    const script = command === "run" ? args[0] : command;
    const problems = foldersOf(document).map((folder) =>
      problemWithScript(manifestIn(join(root, folder)), script),
    );
    return problems.find((problem) => problem !== undefined);
  }
  // What a reader is told to install is ours, or what the tests run with.
  const tested = manifestIn(root)?.devDependencies ?? {};
  const names = args.filter((arg) => !arg.startsWith("-")).map(withoutVersion);
  const unknown = names.find((name) => !packages.has(name) && !(name in tested));
  return unknown && `nothing is known of ${unknown}`;
}

/** Where a document's npm commands are run: in its own folder, or in those of the examples that it is about. */
function foldersOf(document: string): string[] {
  if (!document.startsWith("docs/frameworks")) return [dirname(document)];
  const name = /^docs\/frameworks\/(.+)\.md$/.exec(document)?.[1];
  const names = name === undefined ? readdirSync(join(root, "examples/frameworks")) : [name];
  return names.map((each) => `examples/frameworks/${each}`);
}

/** "@scope/name@2" without its version. */
function withoutVersion(name: string): string {
  return name.replace(/(?<=.)@.*$/, "");
}

function problemWithScript(manifest: Manifest | undefined, script = ""): string | undefined {
  return manifest?.scripts?.[script] === undefined ? `there is no script "${script}"` : undefined;
}

const packages = new Map(
  ["packages", "examples"].flatMap((group) =>
    readdirSync(join(root, group)).flatMap((name) => {
      const folder = join(root, group, name);
      const manifest = manifestIn(folder);
      return manifest?.name === undefined ? [] : [[manifest.name, { folder, manifest }] as const];
    }),
  ),
);

function manifestIn(folder: string): Manifest | undefined {
  const file = join(folder, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

function withoutComment(line: string): string {
  return line
    .replace(/(^|\s)#.*$/, "")
    .replace(/\s&\s*$/, "")
    .trim();
}

/** As the shell parts them, as far as documents go. */
function wordsOf(command: string): string[] {
  return command.match(/"[^"]*"|\S+/g) ?? [];
}
