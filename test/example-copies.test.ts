import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "./support/sources.js";

// An example is copied whole by those who start from it, so the two shops share no file; what they have in common has
// to be changed in both.

const login = (file: string) => readFileSync(`${root}examples/express-login/${file}`, "utf8");
const cluster = (file: string) => readFileSync(`${root}examples/express-cluster/${file}`, "utf8");

test.each([
  "src/login.ts",
  "public/icon.svg",
  "public/shelf.svg",
  "views/head.ejs",
  "views/login-failed.ejs",
  "views/problem.ejs",
  "views/welcome.ejs",
])("%s is the same in express-login and express-cluster", (file) => {
  expect(cluster(file)).toBe(login(file));
});

test.each(["public/style.css", "views/products.ejs", "views/foot.ejs"])(
  "%s of express-cluster is that of express-login, with lines added",
  (file) => {
    expect(missing(login(file).trimEnd().split("\n"), cluster(file).split("\n"))).toEqual([]);
  },
);

test("a line that was changed in one of them would be noticed", () => {
  expect(missing(["a", "b", "c"], ["a", "new", "b", "c"])).toEqual([]);
  expect(missing(["a", "b", "c"], ["a", "B", "c"])).toEqual(["b"]);
});

/** The lines that do not follow in the other text, in their order. */
function missing(lines: readonly string[], other: readonly string[]): string[] {
  let from = 0;
  return lines.filter((line) => {
    const found = other.indexOf(line, from);
    if (found >= 0) from = found + 1;
    return found < 0;
  });
}
