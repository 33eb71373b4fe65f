import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CANNOT_BE_OPENED, wordsFor } from "./failure-words.js";
import { LoginFailure, type LoginFailureCode } from "./login-failure.js";

const CODES: Record<LoginFailureCode, true> = {
  access_denied: true,
  state_missing: true,
  state_unknown: true,
  state_expired: true,
  invalid_domain_prefix: true,
  invalid_callback: true,
  code_refused: true,
  retailer_not_accepted: true,
  authorization_failed: true,
  login_refused: true,
};
const codes = Object.keys(CODES) as LoginFailureCode[];
const wordsOf = (code: LoginFailureCode) => wordsFor(new LoginFailure(code, "for developers"));

describe.each(codes)("%s", (code) => {
  test("has words that need no developer, and end in what is so or what to do", () => {
    expect(wordsOf(code)).toMatch(/^[A-Z].+\.$/);
    expect(wordsOf(code)).not.toMatch(
      /_|token|callback|state\b|code|domain|prefix|secret|developers|\b\d{3}\b/,
    );
  });
});

test("each reason has words of its own, so that a developer finds it by them", () => {
  const sealed = wordsFor({ code: "state_unknown", status: 403, message: CANNOT_BE_OPENED });
  const all = [...codes.map(wordsOf), sealed];
  expect(new Set(all).size).toBe(all.length);
});

test("the README quotes them", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const quoted = [...readme.matchAll(/^\| `(\w+)` \| "([^"]+) …"/gm)];
  expect(quoted.map(([, code]) => code)).toEqual(codes.filter((code) => code !== "authorization_failed"));
  for (const [, code, words] of quoted) expect(wordsOf(code as LoginFailureCode)).toContain(words);
});

test.each([
  ["from 500 on", { code: "store_failed", status: 503 }],
  ["with a code that is none of a login's", { code: "toString", status: 401 }],
])("%s nothing is told", (_case, failure) => {
  expect(wordsFor({ ...failure, message: "the store is away" })).toBe(
    "The login did not work. Start it again in a while.",
  );
});
