import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../support/sources.js";
import { MUTANTS } from "./mutants.js";
import { PROMISES } from "./promises.js";

const document = readFileSync(`${root}docs/guarantees.md`, "utf8");
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  scripts: Record<string, string>;
};

test.each(Object.values(PROMISES))("docs/guarantees.md says: %s", (sentence) => {
  expect(document).toContain(`| ${sentence} | \`pnpm explore`);
});

test("each command that it names is there", () => {
  const named = [...document.matchAll(/`pnpm ([\w:]+)/g)].map(([, name]) => name ?? "");
  expect(named.length).toBeGreaterThan(20);
  for (const name of named) expect(scripts).toHaveProperty([name]);
});

test("it makes no other promise", () => {
  const rows = document.match(/^\| [A-Z].* \| `pnpm explore/gm);
  expect(rows).toHaveLength(Object.keys(PROMISES).length);
});

test("it counts the mutants, and names those that the search need not show", () => {
  const argued = MUTANTS.filter(({ equivalent }) => equivalent !== undefined).map(({ name }) => `"${name}"`);
  const caught = MUTANTS.length - argued.length;
  expect(document).toContain(`${MUTANTS.length} mistakes in core, ${caught} caught, ${argued.length} not.`);
  expect(document.match(/^- \*\*Mutants\*\*.*/m)?.[0].match(/"[^"]+"/g)).toEqual(argued);
});
