import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { found, MESSAGES } from "./messages.js";

const folder = new URL("../checks/", import.meta.url);
const sources = readdirSync(folder).filter((name) => !name.endsWith(".test.ts"));
const texts = sources.flatMap(
  (name) => readFileSync(new URL(name, folder), "utf8").match(/"[^"\n]*"/g) ?? [],
);
const used = new Set(texts.map((text) => text.slice(1, -1)));
const checks = new Set(Object.keys(MESSAGES).map((key) => key.split(" ")[0]));

test("the checks say what the table has, and the table has nothing else", () => {
  const keys = [...used].filter((text) => /^[a-z-]+ [\w-]+$/.test(text) && checks.has(text.split(" ")[0]));
  expect(keys.filter((key) => !(key in MESSAGES))).toEqual([]);
  expect(Object.keys(MESSAGES).filter((key) => !used.has(key))).toEqual([]);
});

test("a value stands where the row names it, and is not searched for names itself", () => {
  expect(found("session-cookie", { name: "{name}" }).message).toBe(
    "The cookie {name} comes back to the callback.",
  );
  expect(found("login-route elsewhere", { consent: "c" }).message).toContain(
    "the consent page is {expected}.",
  );
});
