import { readFileSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";
import { analyse } from "scslre";
import { expect, test } from "vitest";
import { filesIn } from "./support/files.js";
import { root } from "./support/sources.js";

// A stranger's text may be long. On every text, an expression takes a time that grows as its length does, no faster:
// scslre finds those that go back over what they have read, or begin anew at each letter.

const sources = filesIn("packages").filter(
  (file) => /\/src\/.*\.ts$/.test(file) && !/\.test\.ts$/.test(file),
);
const expressions = sources.flatMap((file) =>
  expressionsIn(parseAst(readFileSync(`${root}${file}`, "utf8"), { lang: "ts" })).map(
    (one) => [file, one] as const,
  ),
);

test.each([
  ["goes back over what it has read", /^(a+)(a*)b$/],
  ["begins anew at each letter", /\/+$/],
  ["takes an exponential time", /^(a+)+b$/],
  ["looks ahead to the end at each letter", /a(?!.*b)/],
])("an expression that %s is found", (_, expression) => {
  expect(reportsOf(expression)).not.toEqual([]);
});

test("no expression of ours takes a time that grows faster than a text", () => {
  expect(expressions.length).toBeGreaterThan(100);
  expect(expressions.filter(([, one]) => reportsOf(one).length > 0)).toEqual([]);
});

function reportsOf(expression: RegExp): readonly unknown[] {
  const { source } = expression;
  // scslre skips assertions. One that looks far ahead is read once if it begins at the beginning only.
  return /^[^^].*\(\?<?[!=][^()]*[*+]/.test(source) ? [source] : analyse(expression).reports;
}

/** The literals of a syntax tree. */
function expressionsIn(node: unknown): RegExp[] {
  if (typeof node !== "object" || node === null) return [];
  const { type, regex } = node as { type?: string; regex?: { pattern: string; flags: string } };
  if (type === "Literal" && regex) return [new RegExp(regex.pattern, regex.flags)];
  return Object.values(node).flatMap(expressionsIn);
}
