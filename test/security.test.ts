import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { filesIn } from "./support/files.js";

// docs/threat-model.md claims nothing that no test shows: every test it names is there, under that name.

const root = fileURLToPath(new URL("..", import.meta.url));
const document = read("docs/threat-model.md");

interface Reference {
  readonly file: string;
  /** The beginning of the test's name; absent where the file as a whole is meant. */
  readonly title?: string;
}

test.each(referencesIn(document).map((reference) => [nameOf(reference), reference] as const))(
  "%s",
  (_name, reference) => {
    expect(isThere(reference)).toBe(true);
  },
);

test.each(attacksIn(document))("%s: something shows that it is stopped", (_attack, shownBy) => {
  expect(referencesIn(shownBy)).not.toEqual([]);
});

test("the page was read: it has rows, and tests by name and by file", () => {
  const references = referencesIn(document);
  expect(attacksIn(document).length).toBeGreaterThan(10);
  expect(references.filter(({ title }) => title).length).toBeGreaterThan(20);
  expect(references.filter(({ title }) => !title).length).toBeGreaterThan(3);
});

test("it counts the property tests", () => {
  const files = ["packages", "test"].flatMap(filesIn).filter((file) => file.endsWith("property.test.ts"));
  expect(document).toContain(` ${files.length} property tests`);
});

test("a test that was renamed, or a file that was moved, would be noticed", () => {
  const page =
    '`test/matrix.test.ts` › "without a login the API sees no call"; › "no such test"; `gone.test.ts`';
  const references = referencesIn(page);
  expect(references).toEqual([
    { file: "test/matrix.test.ts", title: "without a login the API sees no call" },
    { file: "test/matrix.test.ts", title: "no such test" },
    { file: "gone.test.ts" },
  ]);
  expect(references.map(isThere)).toEqual([true, false, false]);
});

/**
 * `` `file.test.ts` › "title" ``, with further titles of the same file behind further `›`. A file's base name
 * alone means the last full path before it that ends so.
 */
function referencesIn(text: string): Reference[] {
  const paths = new Map<string, string>();
  const references: Reference[] = [];
  let file = "";
  for (const [, path, next, title] of text.matchAll(/`([\w./-]+\.test\.[jt]s)`(?=( ›)?)|› "([^"]+)"/g)) {
    if (path?.includes("/")) paths.set(basename(path), path);
    if (path !== undefined) file = paths.get(basename(path)) ?? path;
    if (path === undefined || next === undefined)
      references.push(title === undefined ? { file } : { file, title });
  }
  return references;
}

function nameOf({ file, title }: Reference): string {
  return title === undefined ? `${file} is there` : `${file} has "${title}"`;
}

/** The title as a text literal of the file, or as the beginning of one that goes on with its case. */
function isThere({ file, title }: Reference): boolean {
  if (!existsSync(`${root}/${file}`)) return false;
  if (title === undefined) return true;
  const source = read(file);
  return ['"', "'", "`"].some((quote) => source.includes(quote + title));
}

/** The rows of the table under "Attacks": attack, what stops it, shown by. */
function attacksIn(text: string): [attack: string, shownBy: string][] {
  const [, section = ""] = text.split(/^## Attacks$/m);
  const [table = ""] = section.split(/^## /m);
  const rows = table.split("\n").filter((line) => /^\| (?!attack|---)/.test(line.replace(/^\|---/, "| ---")));
  return rows.map((row) => {
    const [, attack = "", , shownBy = ""] = row.split(/(?<!\\)\|/);
    return [/\*\*(.+?)\*\*/.exec(attack)?.[1] ?? attack.trim(), shownBy];
  });
}

function read(path: string): string {
  return readFileSync(`${root}/${path}`, "utf8");
}
