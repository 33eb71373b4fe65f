import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { expect, test } from "vitest";
import { root, sources } from "./support/sources.js";

// The public names of every entry point, and whether each is a value or a type: a wider API is a line that somebody saw
// in review. What the names mean is in docs/api.

const WRITE = "npx -y pnpm exec vitest run --update=all test/public-names.test.ts";

test.each([...sources])("%s has the names in test/public-names", async (name, source) => {
  const text = readFileSync(source, "utf8");
  expect(text, `${relative(root, source)} says which names it exports`).not.toMatch(/^export \*/m);
  const names = namesIn(text);
  expect(names).not.toEqual([]);
  await expect(`${names.join("\n")}\n`, `to take the new list: ${WRITE}`).toMatchFileSnapshot(
    `public-names/${name.replace("@retail-pos/", "").replace("/", "-")}.txt`,
  );
});

test("a name is found however it is exported", () => {
  const text = `
    export { type A, b, c as d, c as default } from "./a.js";
    export type { E };
    export interface F {}
    export type G = string;
    export async function h() {}
    export const i = 1;
    export class J {}
    const notExported = 2;`;
  expect(namesIn(text.replace(/^ {4}/gm, ""))).toEqual([
    "type A",
    "type E",
    "type F",
    "type G",
    "value J",
    "value b",
    "value d",
    "value default",
    "value h",
    "value i",
  ]);
});

function namesIn(source: string): string[] {
  const listed = [...source.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, type = "", list = ""]) =>
    list.split(",").flatMap((entry) => nameOf(type + entry.trim())),
  );
  const declared = [
    ...source.matchAll(/^export (?:async )?(interface|type|function|const|class) (\w+)/gm),
  ].map(([, kind = "", name]) => `${kind === "interface" || kind === "type" ? "type" : "value"} ${name}`);
  return [...listed, ...declared].sort();
}

/** `type A`, `b` or `c as d`, as a list of exports has it. */
function nameOf(entry: string): string[] {
  const [, type, name] = /^(type )?(?:\w+ as )?(\w+)$/.exec(entry) ?? [];
  return name === undefined ? [] : [`${type ? "type" : "value"} ${name}`];
}
