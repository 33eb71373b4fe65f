import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tablesOf } from "./support/docs/documents.js";
import { filesIn } from "./support/files.js";
import { root } from "./support/sources.js";

// What docs/troubleshooting.md quotes as our message stands in a source, or no reader finds the row by it.

/** Texts that go over several lines in the sources, as they are shown. */
const shown = filesIn("packages")
  .filter((file) => /\/src\/.*\.ts$/.test(file) && !file.includes(".test."))
  .map((file) =>
    readFileSync(root + file, "utf8")
      .replace(/["'`] \+\s+["'`]/g, "")
      .replaceAll("\\`", "`"),
  )
  .join("\n");

const quoted = tablesOf("docs/troubleshooting.md").flatMap(([heads = [], ...rows]) => {
  const column = heads.indexOf("its message");
  return column < 0
    ? []
    : rows.flatMap((row) => [...String(row[column]).matchAll(/"([^"]+)"/g)].map(([, text = ""]) => text));
});

test("there are such messages", () => expect(quoted.length).toBeGreaterThan(20));

test.each(quoted)("%s", (message) => {
  expect(shown.includes(message)).toBe(true);
});
