import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filesIn } from "./support/files.js";
import { root } from "./support/sources.js";

// The formatter breaks code at 110 columns but never a comment, and a comment is what people read. Texts stay whole:
// a message is searched for as it is written.

const MOST = 120;

test(`no comment is wider than ${MOST} columns`, () => {
  const files = ["packages", "examples", "test", "scripts", "bench"].flatMap(sourcesIn);
  expect(files.length).toBeGreaterThan(200);
  expect(files.flatMap(wideComments)).toEqual([]);
});

test.each([
  `${" ".repeat(100)}// a comment of its own`,
  `/** ${"A docstring. ".repeat(10)}*/`,
  `const value = 1; // ${"a comment behind code, ".repeat(6)}`,
])("%s would be noticed", (line) => {
  expect(isWideComment(line)).toBe(true);
});

test.each([`const text = "${"a text ".repeat(20)}";`, `see("https://${"a".repeat(120)}");`])(
  "%s would not",
  (line) => {
    expect(isWideComment(line)).toBe(false);
  },
);

function wideComments(file: string): string[] {
  const lines = readFileSync(root + file, "utf8").split("\n");
  return lines.flatMap((line, index) => (isWideComment(line) ? [`${file}:${index + 1}`] : []));
}

function isWideComment(line: string): boolean {
  return line.length > MOST && /^\s*(?:\/\/|\/\*|\*)|[;,{(})\]] \/\/ /.test(line);
}

function sourcesIn(folder: string): string[] {
  return filesIn(folder).filter((file) => /\.(?:ts|mts|js|mjs)$/.test(file));
}
