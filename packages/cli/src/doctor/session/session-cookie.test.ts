import { Cookie } from "tough-cookie";
import { expect, test } from "vitest";
import type { CookieFrom } from "../browser/login.js";
import { sessionCookie } from "./session-cookie.js";

const login = "https://app.example.com/auth/login";
const callback = "https://app.example.com/auth/callback";
const now = Date.parse("2026-01-05T10:00:00Z");

test.each([
  ["nothing but a name", "sid=1"],
  ["as express-session sets it", "connect.sid=s%3Aabc.def; Path=/; HttpOnly; SameSite=Lax"],
  ["Secure over https", "sid=1; Path=/; Secure"],
  ["SameSite=None and Secure", "sid=1; Path=/; SameSite=None; Secure"],
  ["for the whole domain", "sid=1; Path=/; Domain=example.com"],
  ["with a prefix that fits", "__Host-sid=1; Path=/; Secure"],
  ["for a day", "sid=1; Path=/; Expires=Tue, 06 Jan 2026 10:00:00 GMT"],
])("a cookie comes back: %s", async (_name, header) => {
  expect(await found([header])).toEqual(["ok session-cookie"]);
});

test.each([
  ["SameSite=Strict", "sid=1; Path=/; SameSite=Strict", "problem cookie-same-site"],
  ["SameSite=None without Secure", "sid=1; Path=/; SameSite=None", "problem cookie-same-site"],
  ["a path beside the callback", "sid=1; Path=/login", "problem cookie-path"],
  ["another host's Domain", "sid=1; Path=/; Domain=other.com", "problem cookie-domain"],
  ["a public suffix as Domain", "sid=1; Path=/; Domain=com", "problem cookie-domain"],
  ["a prefix that does not fit", "__Host-sid=1; Path=/auth; Secure", "problem cookie-domain"],
  ["half a minute", "sid=1; Path=/; Max-Age=30", "problem cookie-lifetime"],
  ["five minutes", "sid=1; Path=/; Max-Age=300", "warning cookie-lifetime"],
  ["gone already", "sid=1; Path=/; Max-Age=0", "problem session-cookie"],
  ["no cookie at all", "", "problem session-cookie"],
])("a cookie does not come back: %s", async (_name, header, expected) => {
  expect(await found([header])).toEqual([expected]);
});

test.each([
  ["http://app.example.com/login", "problem cookie-secure"],
  ["http://192.168.1.20:3000/login", "problem cookie-secure"],
  ["http://localhost:3000/login", "warning cookie-secure"], // Chromium and Firefox keep it, Safari does not
  ["http://127.0.0.1:3000/login", "warning cookie-secure"],
  ["http://[::1]:3000/login", "warning cookie-secure"],
])("a Secure cookie from %s", async (from, expected) => {
  expect(await found(["sid=1; Path=/; Secure"], from, new URL("/callback", from).href)).toEqual([expected]);
});

test.each([
  ["https://app.example.com/login", "sid=1", "https://www.example.com/callback", "problem cookie-host"],
  [
    "https://app.example.com/login",
    "sid=1; Domain=example.com",
    "https://www.example.com/callback",
    "ok session-cookie",
  ],
  ["http://localhost:3000/login", "sid=1", "http://127.0.0.1:3000/callback", "problem cookie-host"],
  // ports share cookies
  ["http://localhost:3000/login", "sid=1", "http://localhost:3001/callback", "ok session-cookie"],
  ["https://app.example.com/login/start", "sid=1", "https://app.example.com/callback", "problem cookie-path"],
  [
    "https://app.example.com/login",
    "sid=1; Secure",
    "http://app.example.com/callback",
    "problem cookie-secure",
  ],
])("from %s, %s to %s", async (from, header, to, expected) => {
  expect(await found([header], from, to)).toEqual([expected]);
});

test("of several cookies, one that can be no session is only a warning", async () => {
  expect(await found(["sid=1; Path=/; HttpOnly", "theme=dark; Path=/; SameSite=Strict"])).toEqual([
    "ok session-cookie",
    "warning cookie-same-site",
  ]);
});

test("the signature that Koa sets beside its cookie is not told of twice", async () => {
  expect(
    await found(["koa.sess=1; Path=/; SameSite=Strict", "koa.sess.sig=x; Path=/; SameSite=Strict"]),
  ).toEqual(["problem cookie-same-site"]);
});

test("the last of two cookies with one name counts", async () => {
  expect(await found(["sid=1; Path=/; SameSite=Strict", "sid=2; Path=/; SameSite=Lax"])).toEqual([
    "ok session-cookie",
  ]);
});

test.each([
  ["http://localhost:3000/login", "http://localhost:3000/callback", ["skipped session-cookie"]],
  ["http://localhost:3000/login", "http://localhost:4000/callback", ["skipped session-cookie"]], // ports share cookies
  ["http://127.0.0.1:3111/login", "http://localhost:3111/callback", ["problem cookie-host"]],
  ["http://localhost:3111/login", "http://[::1]:3111/callback", ["problem cookie-host"]],
  ["https://192.0.2.1/login", "https://192.0.2.2/callback", ["problem cookie-host"]],
  ["https://app.example.com/login", "https://app.example.org/callback", ["problem cookie-host"]],
  ["https://one.github.io/login", "https://two.github.io/callback", ["problem cookie-host"]],
  ["https://www.example.com/login", "https://example.com/callback", ["warning cookie-host"]],
  ["https://app.example.co.uk/login", "https://www.example.co.uk/callback", ["warning cookie-host"]],
])("with the cookie of an account, %s and %s: %j", async (from, to, expected) => {
  const findings = await sessionCookie([], new URL(to), { now, hasAccount: true, login: new URL(from) });
  expect(findings.map(({ level, check }) => `${level} ${check}`)).toEqual(expected);
});

test("no finding shows a cookie's value", async () => {
  const findings = await sessionCookie(
    cookiesOf(["sid=canary; SameSite=Strict; Path=/x"]),
    new URL(callback),
    { now, hasAccount: false, login: new URL(login) },
  );
  expect(JSON.stringify(findings)).not.toContain("canary");
});

async function found(headers: string[], from = login, to = callback): Promise<string[]> {
  const findings = await sessionCookie(cookiesOf(headers, from), new URL(to), {
    now,
    hasAccount: false,
    login: new URL(from),
  });
  return findings.map(({ level, check }) => `${level} ${check}`);
}

function cookiesOf(headers: string[], from = login): CookieFrom[] {
  return headers.flatMap((header) => {
    const cookie = Cookie.parse(header);
    return cookie ? [{ header, cookie, from: new URL(from) }] : [];
  });
}
