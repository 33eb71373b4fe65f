import express, { type Express } from "express";
import { expect, test } from "vitest";
import { freePort } from "../../../../test/support/listen.js";
import { expressApp, type Patient, patient } from "../../testing/patients.js";
import { run } from "../../testing/terminal.js";
import { cookieJar, startLogin } from "./browser/login.js";

// People of these applications log in with a password, and connect stores afterwards.

const FORM = '<form method="post"><input name="email"><input type="password" name="password"></form>';

test("where people have accounts, nothing is wrong with a login that only they reach", async () => {
  const { exitCode, stdout } = await run(["doctor", (await withAccounts()).login, "--json"]);
  expect(exitCode).toBe(0);
  expect(findingsIn(stdout)).toEqual([
    expect.objectContaining({
      level: "warning",
      check: "login-route",
      message: expect.stringMatching(/^People log in to the application first, at .*\/sign-in\.$/),
      mend: expect.stringMatching(
        /^If people connect stores to accounts of their own, this is as it has to be: .*--cookie-env/,
      ),
    }),
  ]);
});

test("a login page in the place of the login, without a redirect, is the same", async () => {
  const app = await patient(
    expressApp({ between: (app) => app.use((_req, res) => void res.status(401).send(FORM)) }),
  );
  const { exitCode, stdout } = await run(["doctor", app.login]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/People log in to the application first/);
});

test("single sign-on in front of the login is a login of people; another service there is not", async () => {
  const elsewhere = `http://localhost:${await freePort()}/authorize`;
  const leadingTo = (query: string) =>
    patient(expressApp({ between: (app) => app.use((_req, res) => res.redirect(`${elsewhere}?${query}`)) }));
  const signOn = await leadingTo("client_id=us&scope=openid%20email");
  const { exitCode, stdout } = await run(["doctor", signOn.login]);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`People log in to the application first, at ${elsewhere}.`);
  const other = await leadingTo("client_id=us");
  expect(await run(["doctor", other.login])).toMatchObject({ exitCode: 1 });
});

test("a store's login with the scope openid is a login with a wrong scope, and no sign-on", async () => {
  const app = await patient(expressApp({ client: () => ({ scope: "openid" }) }));
  const { stdout } = await run(["doctor", app.login, "--json"]);
  expect(stdout).not.toContain("People log in to the application first");
  expect(findingsIn(stdout)[0]).toMatchObject({ level: "ok", check: "login-route" });
});

test("a newsletter's field on the page of a wrong address is no login of people", async () => {
  const page = '<h1>Welcome</h1><input type="email" name="newsletter">';
  const app = await patient(expressApp({ between: (app) => app.use((_req, res) => void res.send(page)) }));
  expect(await run(["doctor", app.login])).toMatchObject({ exitCode: 1 });
});

test("a callback that fails for people with an account is its own failure, not the session store's", async () => {
  const app = await withAccounts({ callback: () => (_req, res) => void res.sendStatus(500) });
  const { stdout } = await run(["doctor", app.login, "--cookie-env", "PERSON", "--json"], {
    env: { PERSON: await cookieOf(app) },
  });
  const [first] = findingsIn(stdout).filter(({ level }) => level === "problem");
  expect(first).toMatchObject({
    check: "callback-route",
    message: expect.stringMatching(/^A forged callback ends in 500/),
  });
});

test("a cookie that the application sets anew takes the place of the one that was given", async () => {
  const url = new URL("https://app.example.com/login");
  const jar = cookieJar(url, "__Host-x=1; sid=old; other=a b");
  await startLogin(
    async (to) => ({
      ...{ url: to, status: 200, text: "", location: undefined },
      headers: new Headers({ "set-cookie": "sid=new; Domain=example.com; Path=/; Secure" }),
    }),
    url,
    jar,
  );
  expect((await jar.getCookieString(url.href)).split("; ").sort()).toEqual([
    "__Host-x=1",
    "other=a b",
    "sid=new",
  ]);
});

test("a cookie with __Host- is sent to this machine without TLS, as browsers do", async () => {
  const url = new URL("http://localhost:3000/login");
  expect(await cookieJar(url, "__Host-sid=1").getCookieString(url.href)).toBe("__Host-sid=1");
});

test("with the cookie of somebody who is logged in the whole login is looked at", async () => {
  const app = await withAccounts();
  const env = { PERSON: `Cookie: ${await cookieOf(app)}; theme=dark` };
  const { exitCode, stdout } = await run(
    [
      "doctor",
      app.login,
      "--cookie-env",
      "PERSON",
      "--callback",
      app.callback,
      "--store",
      "harbour-coffee",
      "--json",
    ],
    { env },
  );
  expect(exitCode).toBe(0);
  const checks = findingsIn(stdout).map(({ level, check }) => `${level} ${check}`);
  expect(checks).toEqual(
    expect.arrayContaining(["ok login-route", "ok session-cookie", "ok own-login", "ok callback-route"]),
  );
  expect(checks.filter((check) => /^(?:problem|warning)/.test(check))).toEqual([]);
});

test("an application with accounts, opened at 127.0.0.1 and called back at localhost: the hosts are the problem", async () => {
  const app = await withAccounts({ client: ({ callback }) => ({ redirectUri: callback }) });
  const { exitCode, stdout } = await run(
    ["doctor", app.login.replace("localhost", "127.0.0.1"), "--cookie-env", "PERSON", "--json"],
    { env: { PERSON: await cookieOf(app) } },
  );
  const troubles = findingsIn(stdout).filter(({ level }) => level === "problem" || level === "warning");
  expect(troubles).toEqual([
    expect.objectContaining({
      level: "problem",
      check: "cookie-host",
      message: expect.stringMatching(/ belongs to 127\.0\.0\.1; the callback is at localhost\.$/),
      mend: expect.stringMatching(/^Open the login at http:\/\/localhost:\d+: /),
    }),
  ]);
  expect(exitCode).toBe(1);
});

test("what is broken behind the accounts is found with the cookie", async () => {
  const app = await withAccounts({ callback: () => (_req, res) => void res.send("Welcome") });
  const { exitCode, stdout } = await run(["doctor", app.login, "--cookie-env", "PERSON"], {
    env: { PERSON: await cookieOf(app) },
  });
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/answered with 200, as if all were well/);
});

test("a cookie that opens nothing is named, and not shown", async () => {
  const app = await withAccounts();
  const { exitCode, stdout } = await run(["doctor", app.login, "--cookie-env", "PERSON"], {
    env: { PERSON: "connect.sid=canary" },
  });
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/The cookies that were given do not open the login/);
  expect(stdout).not.toContain("canary");
});

test("the cookie goes to the application, and not to the service", async () => {
  const seen: string[] = [];
  const consent = await patient(() => (req, res) => {
    seen.push(req.headers.cookie ?? "none");
    res.end("The consent page");
  });
  const app = await withAccounts({ client: () => ({ authUrl: consent.origin }) });
  await run(["doctor", app.login, "--cookie-env", "PERSON"], { env: { PERSON: await cookieOf(app) } });
  expect(seen.length).toBeGreaterThan(0);
  expect(new Set(seen)).toEqual(new Set(["none"]));
});

function withAccounts(settings: Parameters<typeof expressApp>[0] = {}): Promise<Patient> {
  return patient(expressApp({ ...settings, between: accounts }));
}

/** Whoever opens /welcome has given their password. */
function accounts(app: Express): void {
  const people = express.Router();
  people.get("/sign-in", (_req, res) => void res.send(FORM));
  people.get("/welcome", (req, res) => {
    Object.assign(req.session, { person: "ada" });
    res.send("Welcome");
  });
  people.use((req, res, next) => ("person" in req.session ? next() : res.redirect("/sign-in")));
  app.use(people);
}

async function cookieOf({ origin }: Patient): Promise<string> {
  const [cookie = ""] = (await fetch(`${origin}/welcome`)).headers.getSetCookie();
  return cookie.split(";")[0] ?? "";
}

function findingsIn(stdout: string): Record<string, string>[] {
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, string>);
}
