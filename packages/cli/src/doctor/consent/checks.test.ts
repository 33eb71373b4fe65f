import { CookieJar } from "tough-cookie";
import { expect, test } from "vitest";
import { clocks } from "./clocks.js";
import { consentPage } from "./consent-page.js";
import { loginRoute } from "./login-route.js";
import { state } from "./state.js";

const random = "Zy3kQ1r9WmB6t0XcVuNs2A";

test.each([
  ["random", random, "AnotherOneOfTheSameKind", "ok"],
  ["the same", random, random, "problem"],
  ["none", null, null, "problem"],
  ["7 characters", "abcdefg", "1234567", "problem"],
  ["8 characters", "abcdefgh", "12345678", "warning"],
  ["a clock", "1767607200000", "1767607200041", "warning"],
])("states that are %s", (_name, first, second, level) => {
  expect(state(first, second)).toMatchObject([{ check: "state", level }]);
});

test("no finding shows a state", () => {
  expect(JSON.stringify([state(random, random), state(random, "other"), state("secret1", "")])).not.toMatch(
    /Zy3k|secret1/,
  );
});

const seconds = 1000;
test.each([
  [0, 0, ["ok clock", "ok application-clock"]],
  [20 * seconds, 0, ["ok clock", "ok application-clock"]],
  [-60 * seconds, -60 * seconds, ["warning clock", "ok application-clock"]],
  [300 * seconds, 300 * seconds, ["problem clock", "ok application-clock"]],
  [0, -300 * seconds, ["ok clock", "problem application-clock"]],
  [0, undefined, ["ok clock"]],
  [undefined, 0, ["skipped clock"]],
])("the service %j ms ahead, the application %j", (serviceAheadMs, applicationAheadMs, expected) => {
  const findings = clocks({ serviceAheadMs, applicationAheadMs });
  expect(findings.map(({ level, check }) => `${level} ${check}`)).toEqual(expected);
});

test.each([
  [200, "ok consent-page"],
  [302, "ok consent-page"], // to the service's own login
  [400, "problem consent-page"],
  [404, "problem consent-page"],
  [403, "warning consent-page"],
  [429, "warning consent-page"],
  [500, "warning service"],
])("a consent page that answers %i", (status, expected) => {
  const asked = { query: new URLSearchParams(), isWrong: false };
  const findings = consentPage(answer("https://login.example.com/connect", status), asked);
  expect(findings.map(({ level, check }) => `${level} ${check}`)).toEqual([expected]);
});

test.each([
  ["https://app.example.com", "https://login.example.com", []],
  ["http://localhost:3000", "http://127.0.0.1:4010", []],
  ["http://app.example.com", "https://login.example.com", ["login-transport"]],
  ["https://app.example.com", "http://login.example.com", ["service-transport"]],
])("plain http off this machine is a problem: %s, %s", (application, service, expected) => {
  const request = new URL(`${service}/connect`);
  const answers = [answer(`${application}/login`, 302)];
  const login = { answers, request, silence: undefined, cookies: [], jar: new CookieJar() };
  const findings = [
    ...loginRoute(login, {}),
    ...consentPage(answer(request.href, 200), { query: request.searchParams, isWrong: false }),
  ];
  expect(findings.filter(({ level }) => level === "problem").map(({ check }) => check)).toEqual(expected);
});

test.each([
  ["https://app.example.com", /X-Forwarded-Proto: https.* app\.proxy = true.*"trust proxy"/],
  ["http://localhost:3000", /over plain http a cookie marked Secure/],
])("a login route that fails at %s: the mend is for that scheme", (application, mend) => {
  const answers = [answer(`${application}/login`, 500)];
  const login = { answers, request: undefined, silence: undefined, cookies: [], jar: new CookieJar() };
  expect(loginRoute(login, {})).toMatchObject([{ level: "problem", mend: expect.stringMatching(mend) }]);
});

function answer(url: string, status: number) {
  const headers = new Headers();
  return { url: new URL(url), status, headers, text: "", location: undefined, tookMs: 5, aheadMs: 0 };
}
