import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import GithubSlugger from "github-slugger";
import markdownIt, { type Token } from "markdown-it";

/** The repository's folder. */
export const root: string = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/** Every Markdown file that is, or is about to be, in the repository. */
export const documents: readonly string[] = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "*.md"],
  { cwd: root, encoding: "utf8" },
)
  .split("\n")
  .filter((path) => path !== "" && existsSync(join(root, path)));

/** One fenced block. */
export interface Block {
  readonly document: string;
  /** Of its first line of code, from 1. */
  readonly line: number;
  /** The nearest heading above it. */
  readonly heading: string;
  readonly language: string;
  /** What the comment right above it says: `run by test/readme.test.ts`. */
  readonly mark: string;
  readonly text: string;
}

interface Link {
  readonly line: number;
  readonly target: string;
}

const markdown = markdownIt({ html: true });

/** Of a block that shows what not to do: it has to be JavaScript, and no more. */
export function isOnlyParsed({ mark }: Block): boolean {
  return mark.startsWith("only parsed by test/docs.test.ts: ");
}

export function blocksOf(document: string): Block[] {
  let heading = "";
  return tokensOf(document).flatMap((token, index, all) => {
    if (token.type === "heading_open") heading = all[index + 1]?.content ?? "";
    if (token.type !== "fence") return [];
    const above = all[index - 1];
    const mark =
      (above?.type === "html_block" && /^<!--\s*(.*?)\s*-->$/s.exec(above.content.trim())?.[1]) || "";
    const line = (token.map?.[0] ?? 0) + 2;
    return [{ document, line, heading, language: token.info.trim(), mark, text: token.content }];
  });
}

/** The block that is marked as run by a test file; where a document has several, by the heading it is under. */
export function programIn(document: string, testFile: string, heading?: string): string {
  const marked = blocksOf(document).filter((block) => block.mark === `run by ${testFile}`);
  const [program, ...others] = marked.filter((block) => heading === undefined || block.heading === heading);
  if (program === undefined) throw new Error(`${document} has no block that says "run by ${testFile}"`);
  if (others.length > 0) throw new Error(`${document} has several such blocks: say under which heading`);
  return program.text;
}

/** A document's programs that a test runs as files, by their paths: `run by test/accounts.test.ts as src/pos.ts`. */
export function programsIn(document: string, testFile: string): Map<string, string> {
  const start = `run by ${testFile} as `;
  const marked = blocksOf(document).filter(({ mark }) => mark.startsWith(start));
  return new Map(marked.map(({ mark, text }) => [mark.slice(start.length), text]));
}

/** The tables of a document, row by row, the heads first. A cell is its text, without its markup. */
export function tablesOf(document: string): string[][][] {
  const tables: string[][][] = [];
  for (const [index, { type }] of tokensOf(document).entries()) {
    if (type === "table_open") tables.push([]);
    if (type === "tr_open") tables.at(-1)?.push([]);
    if (type === "th_open" || type === "td_open")
      tables
        .at(-1)
        ?.at(-1)
        ?.push(plain(tokensOf(document)[index + 1]));
  }
  return tables;
}

/** Links and pictures to somewhere in the repository. */
export function linksOf(document: string): Link[] {
  let line = 1;
  return tokensOf(document).flatMap(({ children, map }) => {
    if (map) line = map[0] + 1; // a table's cell has none of its own
    return (children ?? [])
      .map((child) => child.attrGet("href") ?? child.attrGet("src"))
      .filter((target) => typeof target === "string" && !/^[a-z]+:/i.test(target))
      .map((target) => ({ line, target: decodeURI(String(target)) }));
  });
}

/** What is in `code` outside of blocks. */
export function codeSpansOf(document: string): string[] {
  return tokensOf(document).flatMap(({ children }) =>
    (children ?? []).filter(({ type }) => type === "code_inline").map(({ content }) => content),
  );
}

/** What is wrong with a link, if anything is. A folder stands for its README, as where the files are shown. */
export function problemWith(document: string, target: string): string | undefined {
  const [path = "", anchor] = target.split("#");
  let file = path === "" ? document : normalize(join(dirname(document), path));
  if (!existsSync(join(root, file))) return "there is no such file";
  if (anchor === undefined) return undefined;
  if (statSync(join(root, file)).isDirectory()) file = join(file, "README.md");
  return anchorsOf(file).has(anchor) ? undefined : "there is no such heading";
}

function anchorsOf(document: string): Set<string> {
  const slugger = new GithubSlugger();
  const text = readFileSync(join(root, document), "utf8");
  const named = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id as string);
  const headings = tokensOf(document).flatMap((token, index, all) =>
    token.type === "heading_open" ? [slugger.slug(plain(all[index + 1]))] : [],
  );
  return new Set([...named, ...headings]);
}

/** A heading's words without its markup. */
function plain(inline: Token | undefined): string {
  return (inline?.children ?? []).map(({ content }) => content).join("");
}

const parsed = new Map<string, Token[]>();

function tokensOf(document: string): Token[] {
  const known = parsed.get(document) ?? markdown.parse(readFileSync(join(root, document), "utf8"), {});
  parsed.set(document, known);
  return known;
}
