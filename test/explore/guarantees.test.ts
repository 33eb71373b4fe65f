import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../support/sources.js";
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
