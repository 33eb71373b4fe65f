import { expect, test } from "vitest";
import { cookieFindings } from "./cookie.js";

const login = "https://app.example.com/auth/login";
const callback = "https://app.example.com/auth/callback";
const now = Date.parse("2026-01-05T10:00:00Z");

test.each([
  ["nothing but a name", "sid=1; Secure"],
  ["as express-session sets it", "connect.sid=s%3Aabc.def; Path=/; HttpOnly; SameSite=Lax; Secure"],
  ["SameSite=None and Secure", "sid=1; Path=/; SameSite=None; Secure"],
  ["for the whole domain", "sid=1; Path=/; Domain=example.com; Secure"],
  ["with a prefix that fits", "__Host-sid=1; Path=/; Secure"],
  ["for a day", "sid=1; Path=/; Expires=Tue, 06 Jan 2026 10:00:00 GMT; Secure"],
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
    "sid=1; Domain=example.com; Secure",
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
  expect(await found(["sid=1; Path=/; HttpOnly; Secure", "theme=dark; Path=/; SameSite=Strict"])).toEqual([
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
  expect(await found(["sid=1; Path=/; SameSite=Strict", "sid=2; Path=/; SameSite=Lax; Secure"])).toEqual([
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
  const none = { login: [], others: [] };
  const findings = await cookieFindings(none, new URL(to), { now, hasAccount: true, start: new URL(from) });
  expect(findings.map(({ level, check }) => `${level} ${check}`)).toEqual(expected);
});

test("no finding shows a cookie's value", async () => {
  const pages = { login: [page(["sid=canary; SameSite=Strict; Path=/x"])], others: [] };
  const findings = await cookieFindings(pages, new URL(callback), {
    now,
    hasAccount: false,
    start: new URL(login),
  });
  expect(JSON.stringify(findings)).not.toContain("canary");
});

const OF_A_LOGIN = "__Host-retail-pos.abcdefgh.abcdefghijklmnop=x; Path=/; HttpOnly; SameSite=Lax; Secure";

test.each([
  ["is well", "sid=1; Path=/; HttpOnly; Secure", []],
  ["is not Secure over https", "sid=1; Path=/; HttpOnly", ["warning cookie-secure"]],
  ["is SameSite=Strict", "sid=1; Path=/; HttpOnly; Secure; SameSite=Strict", ["warning cookie-same-site"]],
  ["is SameSite=None without Secure", "sid=1; Path=/; HttpOnly; SameSite=None", ["warning cookie-same-site"]],
  ["has ended at once", "sid=1; Path=/; HttpOnly; Secure; Max-Age=1", ["warning cookie-lifetime"]],
  ["is for scripts, and so no session", "sid=1; Path=/; SameSite=Strict", []],
])(
  "beside a login's own cookie, a session's cookie that %s ends no login",
  async (_name, header, expected) => {
    for (const pages of [
      { login: [page([OF_A_LOGIN, header])], others: [] },
      { login: [page([OF_A_LOGIN])], others: [page([header])] },
    ]) {
      const circumstances = { now, hasAccount: false, start: new URL(login) };
      const findings = await cookieFindings(pages, new URL(callback), circumstances);
      const troubles = findings.filter(({ level }) => level !== "ok");
      expect(troubles.map(({ level, check }) => `${level} ${check}`)).toEqual(expected);
      for (const { check, effect } of troubles)
        if (check !== "cookie-secure") expect(effect).toMatch(/back at the start, logged in as nobody/);
    }
  },
);

test("a session's cookie without Secure on https is a warning, and comes back", async () => {
  expect(await found(["sid=1; Path=/; HttpOnly"])).toEqual(["warning cookie-secure", "ok session-cookie"]);
});

async function found(headers: string[], from = login, to = callback): Promise<string[]> {
  const pages = { login: [page(headers, from)], others: [] };
  const findings = await cookieFindings(pages, new URL(to), { now, hasAccount: false, start: new URL(from) });
  return findings.map(({ level, check }) => `${level} ${check}`);
}

function page(cookies: string[], from = login) {
  return {
    url: new URL(from),
    headers: new Headers(cookies.filter(Boolean).map((cookie) => ["set-cookie", cookie])),
  };
}
