import { afterEach, describe, expect, test, vi } from "vitest";
import { site, webBrowser } from "../../testing/site.js";
import { failureLog } from "./failure-log.js";

afterEach(() => {
  vi.unstubAllGlobals();
});

const failure = { code: "state_unknown", message: "No login is under way in this browser" };

describe("why a login failed is on the console", () => {
  test.each([
    ["development", true],
    ["", true],
    [undefined, true],
    ["production", false],
    ["test", false],
    ["staging", false],
  ])("with NODE_ENV %j: %j", (env, isTold) => {
    const lines = onConsole();
    logIn(env)(failure);
    expect(lines).toHaveLength(isTold ? 1 : 0);
    logIn(env, false)(failure);
    expect(lines).toHaveLength(isTold ? 1 : 0);
    logIn(env, true)(failure);
    expect(lines).toHaveLength(isTold ? 2 : 1);
  });

  test("but not under node --test, which sets no NODE_ENV", () => {
    const lines = onConsole();
    logIn(undefined, undefined, "child-v8")(failure);
    expect(lines).toEqual([]);
  });

  test("as one line, which has the code, the message, the page to read, and how to switch it off", () => {
    const lines = onConsole();
    logIn("development")({ ...failure, message: "one\ntwo" });
    expect(lines).toEqual([
      "A login failed (state_unknown): one two. This is said once; logFailures: false switches it off. More: " +
        "https://github.com/retail-pos/auth/blob/main/docs/troubleshooting.md#a-login-fails-infocode",
    ]);
  });

  test("once for each reason, and twenty of one code", () => {
    const lines = onConsole();
    const log = logIn("development");
    for (let times = 0; times < 3; times += 1) log(failure);
    expect(lines).toHaveLength(1);
    for (let count = 0; count < 50; count += 1) log({ ...failure, message: `the service's word ${count}` });
    expect(lines).toHaveLength(20);
    log({ ...failure, code: "state_expired" });
    expect(lines).toHaveLength(21);
  });
});

test("a logger of the application's gets the line instead, and may throw or reject", async () => {
  const lines = onConsole();
  const own: string[] = [];
  failureLog((line) => own.push(line))(failure);
  expect(own).toEqual([expect.stringContaining("state_unknown")]);
  const throwing = failureLog(() => {
    throw new Error("the log is full");
  });
  expect(() => throwing(failure)).not.toThrow();
  failureLog(() => Promise.reject(new Error("the log is away")))(failure); // unhandled, it would fail the test
  await Promise.resolve();
  expect(lines).toEqual([]);
});

test.each(["yes", 1, null, {}])("%j is a TypeError", (wrong) => {
  expect(() => failureLog(wrong as never)).toThrow(
    new TypeError("logFailures must be true, false or a function"),
  );
});

test("webLogin tells of each failed login; none of its secrets", async () => {
  const lines: string[] = [];
  const one = site({ login: { logFailures: (line) => lines.push(line) } });
  const person = webBrowser();
  const back = await person.begin(one);
  await webBrowser().open(one.callback, back);
  await person.open(one.callback, `${back.origin}${back.pathname}?error=access_denied`);
  expect(await person.open(one.callback, back)).toMatchObject({ status: 200 });
  expect(lines.map((line) => /\((\w+)\)/.exec(line)?.[1])).toEqual(["state_unknown", "access_denied"]);
  expect(lines.join()).not.toContain(back.searchParams.get("code"));
  expect(lines.join()).not.toContain(back.searchParams.get("state"));
});

function onConsole(): string[] {
  const lines: string[] = [];
  vi.stubGlobal("console", { ...console, warn: (line: string) => void lines.push(line) });
  return lines;
}

/** A log in a program with this environment. */
function logIn(NODE_ENV: string | undefined, logFailures?: boolean, NODE_TEST_CONTEXT?: string) {
  return failureLog(logFailures, () => ({ NODE_ENV, NODE_TEST_CONTEXT }));
}
