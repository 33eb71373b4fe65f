import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/sources.js";

// Whoever makes a starter their own finds in its README each place that has our name; a page that keeps it would tell
// their customers somebody else's.

const OUR_NAME = "Shelfview";
const examples = readdirSync(`${root}examples`).filter((name) => filesWithOurName(name).length > 0);

test("the starters with pages have our name in them", () => {
  expect(examples).toEqual([
    "express-cluster",
    "express-login",
    "fastify-login",
    "hono-login",
    "many-stores",
    "nest-login",
  ]);
});

test.each(examples)("%s says where to put another name", (example) => {
  const readme = readFileSync(`${root}examples/${example}/README.md`, "utf8");
  const [, places = ""] = new RegExp(`Its name.*"${OUR_NAME}" in ([^;]+);`).exec(readme) ?? [];
  const named = [...places.matchAll(/`([^`]+)`/g)].map(([, place = ""]) => place);
  const isNamed = (file: string) => named.some((place) => file === place || file.startsWith(place));
  expect(filesWithOurName(example).filter((file) => !isNamed(file))).toEqual([]);
  // And none in vain.
  for (const place of named)
    expect(filesWithOurName(example), place).toContainEqual(expect.stringContaining(place));
});

/** What people get to see of an example. */
function filesWithOurName(example: string): string[] {
  const folder = join(root, "examples", example);
  return ["src", "views", "public"]
    .filter((part) => readdirSync(folder).includes(part))
    .flatMap((part) => readdirSync(join(folder, part)).map((name) => `${part}/${name}`))
    .filter((file) => !file.endsWith(".test.ts"))
    .filter((file) => readFileSync(join(folder, file), "utf8").includes(OUR_NAME));
}
