import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installLines } from "../scripts/install-lines.mjs";
import { packAll } from "../scripts/pack.mjs";
import { documents, root } from "./support/docs/documents.js";
import { outputOf } from "./support/packed/project.js";

// Every line `npm install ...` of a document works in an empty folder, one after the other, with what `pnpm pack:all`
// puts in place of packages that no registry has yet. npm works out the whole tree; nothing is unpacked.

const folder = mkdtempSync(join(tmpdir(), "retail-pos-install-"));
let tarballs: Map<string, string>;

const pages = documents
  .map((document) => [document, readFileSync(join(root, document), "utf8")] as const)
  .filter(([, text]) => installLines(text, new Map()).length > 0);

beforeAll(async () => {
  tarballs = await packAll(folder);
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test("documents have such lines", () => {
  expect(pages.length).toBeGreaterThan(25);
  expect(installLines("x\n  npm install a b  # once\nRun `npm install c`.", new Map())).toEqual([
    "npm install a b",
    "npm install c",
  ]);
});

describe("in an empty folder", () => {
  test.each(pages)(
    "%s",
    async (_document, text) => {
      const application = mkdtempSync(join(folder, "application-"));
      writeFileSync(join(application, "package.json"), "{}");
      for (const line of installLines(text, tarballs)) {
        const [npm = "", ...args] = line.split(" ");
        await outputOf(npm, [...args, "--package-lock-only", "--no-audit", "--prefer-offline"], application);
      }
      // Each name is a dependency now; it was none before.
      const { dependencies, devDependencies } = JSON.parse(
        readFileSync(join(application, "package.json"), "utf8"),
      );
      const asked = installLines(text, new Map()).flatMap((line) =>
        line.split(" ").filter((word) => /^@?[a-z]/.test(word) && !["npm", "install"].includes(word)),
      );
      const names = asked.map((word) => word.replace(/(?<=.)@[\d.]+$/, ""));
      expect(Object.keys({ ...dependencies, ...devDependencies })).toEqual(expect.arrayContaining(names));
    },
    120_000,
  );
});
