import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { found } from "./messages.js";
import texts from "./messages.json" with { type: "json" };

const folder = new URL("../checks/", import.meta.url);
const sources = readdirSync(folder).filter((name) => !name.endsWith(".test.ts"));
const used = new Set(
  sources.flatMap((name) => readFileSync(new URL(name, folder), "utf8").match(/"[^"\n]*"/g) ?? []),
);

test("the checks say all that the table has", () => {
  expect(Object.keys(texts.findings).filter((key) => !used.has(`"${key}"`))).toEqual([]);
});

test.each(Object.entries(texts.findings))("%s has what its level needs", (_key, row) => {
  const needs = { ok: [], skipped: ["mend"], warning: ["effect", "mend"], problem: ["effect", "mend"] };
  expect(Object.keys(row)).toEqual(["level", "message", ...(needs[row.level as keyof typeof needs] ?? [])]);
});

test("every shared text is used, and none that is not there is named", () => {
  const named = JSON.stringify(texts.findings).match(/(?<=\{)[A-Z_]+(?=\})/g);
  expect(new Set([...(named ?? []), "LOGGED_OUT"])).toEqual(new Set(Object.keys(texts.shared)));
});

test("a value stands where the row names it, and is not searched for names itself", () => {
  expect(found("session-cookie", { name: "{name}" }).message).toBe(
    "The cookie {name} comes back to the callback.",
  );
  expect(found("login-route elsewhere", { consent: "c" }).message).toContain(
    "the consent page is {expected}.",
  );
});
