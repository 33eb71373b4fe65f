import express, { type Express } from "express";
import { expect, test } from "vitest";
import { expressApp, type Patient, patient } from "../../testing/patients.js";
import { run } from "../../testing/terminal.js";

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
    expect.objectContaining({ level: "skipped", check: "client-secret" }),
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
    expect.arrayContaining(["ok login-route", "skipped session-cookie", "ok own-login", "ok callback-route"]),
  );
  expect(checks.filter((check) => /^(?:problem|warning)/.test(check))).toEqual([]);
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
