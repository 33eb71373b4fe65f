import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

// No public name is without a docstring, and docs/api says what the docstrings say.

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "retail-pos-api-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the API reference is written without a complaint, and is the one in docs/api: else `pnpm api`", async () => {
  await promisify(execFile)(process.execPath, [join(root, "scripts/api/generate.mjs"), folder]);
  expect(pagesIn(folder)).toEqual(pagesIn(join(root, "docs/api")));
}, 300_000);

/** The text of each page, by its name. */
function pagesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(
    names
      .filter((name) => name.endsWith(".md"))
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
}
