import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { Group } from "./finding.js";
import { jsonReport, textReport } from "./report.js";

const advice = {
  effect: "The retailer sees this and that.",
  mend: "Do one thing, and then quite another one.",
};
const ok = (check: string, message: string) => ({ check, level: "ok", message }) as const;
const groups: Group[] = [
  {
    title: "One",
    findings: [ok("a", "All is well."), { check: "b", level: "warning", message: "Careful.", ...advice }],
  },
  {
    title: "Two",
    findings: [
      { check: "c", level: "problem", message: "It is broken.", ...advice },
      { check: "d", level: "skipped", message: "Not tried.", mend: "Give --this." },
    ],
  },
];
const address = "https://app.example.com/login";
const terminal = (columns: number, isColoured = false) => ({
  columns,
  isTTY: true,
  hasColors: () => isColoured,
  write: () => true,
});

test("people read groups, sentences, and a sum", () => {
  expect(textReport(address, groups, terminal(44))).toBe(`
The login at https://app.example.com/login

One
  ok        All is well.
  warning   Careful.
            The retailer sees this and that.
            Fix: Do one thing, and then
            quite another one.

Two
  problem   It is broken.
            The retailer sees this and that.
            Fix: Do one thing, and then
            quite another one.
  skipped   Not tried.
            Fix: Give --this.

Problems: 1. Warnings: 1. Skipped: 1.
`);
});

test("where nothing was found, it says what it cannot see", () => {
  const clean: Group[] = [{ title: "One", findings: [ok("a", "All is well.")] }];
  const text = textReport(address, clean, terminal(60));
  const [, closing] = text.split("All is well.\n\n");
  expect(closing).toMatch(/^Nothing found .*\.\nWhat happens after a real approval cannot be seen/);
  expect(closing?.split("\n").every((line) => line.length <= 60)).toBe(true);
});

test("colours add nothing but colours", () => {
  const coloured = textReport(address, groups, terminal(80, true));
  expect(coloured).toContain("\u001b[31mproblem");
  expect(stripVTControlCharacters(coloured)).toBe(textReport(address, groups, terminal(80)));
});

test("a word longer than the line stays whole", () => {
  const text = textReport(address, [{ title: "One", findings: [ok("a", `See ${address}`)] }], terminal(20));
  expect(text).toContain(`\n            ${address}\n`);
});

test("machines read the same, a line for each finding", () => {
  const lines = jsonReport(groups).split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { group: "One", check: "a", level: "ok", message: "All is well." },
    { group: "One", check: "b", level: "warning", message: "Careful.", ...advice },
    { group: "Two", check: "c", level: "problem", message: "It is broken.", ...advice },
    { group: "Two", check: "d", level: "skipped", message: "Not tried.", mend: "Give --this." },
  ]);
});
