import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ATTACKS } from "./support/docs/attacks.js";
import { tablesOf } from "./support/docs/documents.js";
import { root } from "./support/sources.js";

// docs/threat-model.md claims nothing that no test shows: each attack has tests, and they are there under their names.

const read = (path: string) => readFileSync(root + path, "utf8");
const references = Object.entries(ATTACKS).flatMap(([attack, files]) =>
  Object.entries(files).map(([file, titles]) => [attack, file, titles] as const),
);

test.each(references)("%s: %s", (_attack, file, titles) => {
  expect(missing(file, titles)).toEqual([]);
});

test("each attack of the page has tests, and no other has", () => {
  const [, ...rows] = tablesOf("docs/threat-model.md").find(([heads]) => heads?.[0] === "attack") ?? [];
  const attacks = Object.keys(ATTACKS).filter((name) => !name.startsWith("RFC 9700"));
  expect(attacks.length).toBeGreaterThan(10);
  expect(rows.map(([cell = ""]) => attacks.find((name) => cell.startsWith(name)) ?? cell)).toEqual(attacks);
  expect(Object.values(ATTACKS).filter((files) => Object.keys(files).length === 0)).toEqual([]);
});

test("a test that was renamed, or a file that was moved, would be noticed", () => {
  const there = "without a login the API sees no call";
  expect(missing("test/matrix.test.ts", [there, "no such test"])).toEqual(["no such test"]);
  expect(missing("gone.test.ts", [])).toEqual(["gone.test.ts"]);
});

/** Those that are no text literal of the file, nor the beginning of one that goes on with its case. */
function missing(file: string, titles: readonly string[]): readonly string[] {
  if (!existsSync(root + file)) return [file];
  const source = read(file);
  return titles.filter((title) => !['"', "'", "`"].some((quote) => source.includes(quote + title)));
}
