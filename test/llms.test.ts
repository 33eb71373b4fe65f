import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { llmsText } from "../scripts/llms.mjs";
import { root } from "./support/sources.js";

const read = (name: string) => readFileSync(`${root}${name}`, "utf8");

test("llms.txt says what the README says: else `pnpm llms`", () => {
  expect(read("llms.txt")).toBe(llmsText(read("README.md")));
});

test("it names every package, and the groups of documents", () => {
  const text = read("llms.txt");
  expect(text.match(/^## /gm)?.length).toBeGreaterThan(3);
  expect(text.match(/blob\/main\/packages\//g)?.length).toBe(16);
});
