import { CookieJar } from "tough-cookie";
import { expect, test } from "vitest";
import { loginRoute } from "./login-route.js";
import { checkState } from "./request.js";
import { consentPage } from "./service.js";

const random = "Zy3kQ1r9WmB6t0XcVuNs2A";

test.each([
  ["random", random, "AnotherOneOfTheSameKind", "ok"],
  ["the same", random, random, "problem"],
  ["none", null, null, "problem"],
  ["7 characters", "abcdefg", "1234567", "problem"],
  ["8 characters", "abcdefgh", "12345678", "warning"],
  ["a clock", "1767607200000", "1767607200041", "warning"],
])("states that are %s", (_name, first, second, level) => {
  expect(checkState(first, second)).toMatchObject({ check: "state", level });
});

test("no finding shows a state", () => {
  const findings = [checkState(random, random), checkState(random, "other"), checkState("secret1", "")];
  expect(JSON.stringify(findings)).not.toMatch(/Zy3k|secret1/);
});

test.each([
  [200, "ok consent-page"],
  [302, "ok consent-page"], // to the service's own login
  [400, "problem consent-page"],
  [401, "problem consent-page"],
  [404, "problem consent-page"],
  [403, "warning consent-page"],
  [429, "warning consent-page"],
  [500, "warning service"],
])("a consent page that answers %i", (status, expected) => {
  const { level, check } = consentPage(
    answer("https://login.example.com/connect", status),
    new URLSearchParams(),
    false,
  );
  expect(`${level} ${check}`).toBe(expected);
});

test.each([
  ["https://app.example.com", []],
  ["http://localhost:3000", []],
  ["http://app.example.com", ["login-transport"]],
])("plain http off this machine is a problem: %s", (application, expected) => {
  const findings = loginRoute({
    ...{ login: loginAt(application, 302, new URL("https://login.example.com/connect")) },
    ...{ target: { url: new URL(application) }, hasAccount: false },
  });
  expect(findings.filter(({ level }) => level === "problem").map(({ check }) => check)).toEqual(expected);
});

test.each([
  ["https://app.example.com", /X-Forwarded-Proto: https.* app\.proxy = true.*"trust proxy"/],
  ["http://localhost:3000", /over plain http a cookie marked Secure/],
])("a login route that fails at %s: the mend is for that scheme", (application, mend) => {
  const target = { url: new URL(application) };
  const findings = loginRoute({ login: loginAt(application, 500), target, hasAccount: false });
  expect(findings).toMatchObject([{ level: "problem", mend: expect.stringMatching(mend) }]);
});

function loginAt(application: string, status: number, request?: URL) {
  const answers = [answer(`${application}/login`, status)];
  return { answers, request, silence: undefined, jar: new CookieJar() };
}

function answer(url: string, status: number) {
  return { url: new URL(url), status, headers: new Headers(), text: "", location: undefined };
}
