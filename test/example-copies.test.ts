import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "./support/sources.js";

// An example is copied whole by those who start from it, so the shops share no file; what they have in common has to be
// changed in all of them.

const login = (file: string) => readFileSync(`${root}examples/express-login/${file}`, "utf8");
const cluster = (file: string) => readFileSync(`${root}examples/express-cluster/${file}`, "utf8");

test.each([
  "src/login.ts",
  "src/show-problem.ts",
  "public/icon.svg",
  "public/pictures.svg",
  "public/shelf.svg",
  "public/times.js",
  "views/disconnect.ejs",
  "views/head.ejs",
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

/** How each starts, stops, says whether it is ready, and logs; and what it refuses. */
const ofAll = ["graceful-stop", "ready", "environment", "event-log", "same-origin"];
/** What helmet is told. */
const ofThoseWithHelmet = [...ofAll, "secure-headers"];

test.each([
  ["express-cluster", [...ofThoseWithHelmet, "protection"]],
  ["hono-login", ofAll],
  ["fastify-login", ofThoseWithHelmet],
  ["nest-login", [...ofThoseWithHelmet, "protection", "settings", "database", "session-store"]],
])("%s does as express-login does", (example, names) => {
  for (const name of names) {
    const file = `src/${name}.ts`;
    expect(readFileSync(`${root}examples/${example}/${file}`, "utf8"), file).toBe(login(file));
  }
});

test.each([["fastify-login", ["settings", "database"]]] as const)(
  "%s has its settings and its file as hono-login has",
  (example, names) => {
    for (const name of names) {
      const [one, other] = [example, "hono-login"].map((each) =>
        readFileSync(`${root}examples/${each}/src/${name}.ts`, "utf8"),
      );
      expect(one).toBe(other);
    }
  },
);

test.each(["express-cluster", "hono-login", "fastify-login", "nest-login"])(
  "%s reads a store's shelves, and chooses a page for what went wrong, as express-login does",
  (example) => {
    for (const file of ["src/shelves.ts", "src/problems.ts", "src/plain-time.ts"]) {
      const text = readFileSync(`${root}examples/${example}/${file}`, "utf8");
      const withPassport = text.replace('from "@retail-pos/login"', 'from "passport-retail-pos"');
      expect(withPassport).toBe(login(file));
    }
  },
);

const looks = ["icon.svg", "pictures.svg", "shelf.svg", "style.css", "times.js"].map(
  (name) => `public/${name}`,
);
const pages = ["head", "foot", "welcome", "products", "disconnect", "problem"].map(
  (name) => `views/${name}.ejs`,
);

test.each([
  ...looks.map((file) => ["hono-login", file]),
  ...[...looks, ...pages].map((file) => ["fastify-login", file]),
  ...[...looks, ...pages, "src/show-problem.ts"].map((file) => ["nest-login", file]),
])("%s: %s is that of express-login", (example, file) => {
  expect(readFileSync(`${root}examples/${example}/${file}`, "utf8")).toBe(login(file));
});

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
