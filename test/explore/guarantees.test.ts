import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../support/sources.js";
import { MUTANTS } from "./mutants.js";
import { PROMISES } from "./promises.js";
import { SCENARIOS } from "./stories.js";

const document = readFileSync(`${root}docs/guarantees.md`, "utf8");
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  scripts: Record<string, string>;
};

test("it makes the promises by which schedules are judged, and no other", () => {
  const [, section = ""] = document.split("## What is guaranteed");
  const [list = ""] = section.split("\n## ");
  const promises = [...list.matchAll(/^- (.*?)(?: \(`([^`]+)`\))?$/gm)];
  expect(promises.map(([, sentence]) => sentence)).toEqual(Object.values(PROMISES));
  for (const [, , name = ""] of promises) expect(SCENARIOS.some((one) => one.name.includes(name))).toBe(true);
});

test("each command that it names is there", () => {
  const named = [...document.matchAll(/`pnpm ([\w:]+)/g)].map(([, name]) => name ?? "");
  expect(named.length).toBeGreaterThan(4);
  for (const name of named) expect(scripts).toHaveProperty([name]);
});

test("it counts the mutants, and names those that the search need not show", () => {
  const argued = MUTANTS.filter(({ equivalent }) => equivalent !== undefined).map(({ name }) => `"${name}"`);
  const caught = MUTANTS.length - argued.length;
  expect(document).toContain(`${MUTANTS.length} mistakes in core, ${caught} caught, ${argued.length} not.`);
  expect(document.match(/^- \*\*Mutants\*\*.*/m)?.[0].match(/"[^"]+"/g)).toEqual(argued);
});
