import { readFileSync } from "node:fs";
import { parseSync, Visitor } from "rolldown/utils";
import { expect, test } from "vitest";
import { filesIn } from "./support/files.js";
import { root } from "./support/sources.js";

// A closure that holds state grows by one inner function at a time. At this length it has become a file of its own,
// and its parts have names that say so.

const MOST = 80;

test(`no function of a package is longer than ${MOST} lines`, () => {
  const functions = filesIn("packages").filter(isSource).flatMap(functionsIn);
  expect(functions.length).toBeGreaterThan(1000);
  expect(functions.filter(({ lines }) => lines > MOST)).toEqual([]);
});

test.each([
  { kind: "a declaration", before: "function f() {", after: "}" },
  { kind: "a method", before: "const o = { f() {", after: "} };" },
  { kind: "a constructor", before: "class C { constructor() {", after: "} }" },
  { kind: "an arrow function", before: "const f = async <T>(value: T) => {", after: "};" },
])("the lines of $kind are counted, those of its inner functions too", ({ before, after }) => {
  const lines = [before, ...Array.from({ length: MOST - 1 }, () => "(() => {})();"), after];
  const longest = lengthsOf("long.ts", lines.join("\n")).map(({ lines }) => lines)[0];
  expect(longest).toBe(MOST + 1);
});

interface FunctionLength {
  /** `file:line` where it begins. */
  readonly at: string;
  readonly lines: number;
}

function isSource(file: string): boolean {
  return /^packages\/[^/]+\/src\/.*\.ts$/.test(file) && !file.endsWith(".test.ts");
}

function functionsIn(file: string): FunctionLength[] {
  return lengthsOf(file, readFileSync(root + file, "utf8"));
}

function lengthsOf(file: string, code: string): FunctionLength[] {
  const { program, errors } = parseSync(file, code);
  if (errors.length > 0) throw new Error(`${file} cannot be read: ${errors[0]?.message}`);
  const found: FunctionLength[] = [];
  const lineOf = (position: number) => code.slice(0, position).split("\n").length;
  const count = ({ start, end }: { start: number; end: number }) => {
    found.push({ at: `${file}:${lineOf(start)}`, lines: lineOf(end) - lineOf(start) + 1 });
  };
  new Visitor({
    FunctionDeclaration: count,
    FunctionExpression: count, // a method's too
    ArrowFunctionExpression: count,
  }).visit(program);
  return found;
}
