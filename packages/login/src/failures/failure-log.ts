/** Tells a developer why logins fail: `true` on the console, a function to a logger, `false` nowhere. */
export type LogFailures = boolean | ((line: string) => void);

/** Where each code has its row. */
const PAGE = "https://github.com/retail-pos/auth/blob/main/docs/troubleshooting.md";

/** Of one code. A message may have words of the service's in it. Nobody fills a log with them. */
const MOST_LINES = 20;

/**
 * One line for each reason for which logins fail, each once: the browser shows none, Passport's answer is the bare word
 * `Forbidden`. Of a stranger's text a line has an error's name, and the description of a decline whose state is
 * the browser's own. A logger that throws changes nothing.
 *
 * @param logFailures default: `true` while `NODE_ENV` is "development" or not set, and no `node --test` is running.
 * @param environment asked with each failure, because programs set the variable after they load us; default
 * `process.env`. Where there is none, nothing is told by default.
 * @throws {TypeError} naming `logFailures`.
 */
export function failureLog(
  logFailures: LogFailures | undefined,
  environment: () => Readonly<Record<string, string | undefined>> | undefined = () => globalThis.process?.env,
): (failure: { code: string; message: string }) => void {
  if (!["undefined", "boolean", "function"].includes(typeof logFailures))
    throw new TypeError("logFailures must be true, false or a function");
  const say = sayOnce(logFailures, "a-login-fails-infocode");
  return ({ code, message }) => {
    if (logFailures ?? isDevelopment(environment())) say(`A login failed (${code})`, message);
  };
}

/**
 * One line for what is wrong with a session after a login that succeeded, each once: people may be logged out on the
 * next page, unless `what` says something else. So this is said in production, too, unless `logFailures` is `false`.
 */
export function sessionLog(logFailures: LogFailures | undefined): (problem: string, what?: string) => void {
  const say = sayOnce(logFailures, "back-at-the-start");
  return (problem, what = "People who log in may be logged out on the next page") => {
    if (logFailures !== false) say(what, problem);
  };
}

/** @param anchor where the page on troubleshooting has these failures. */
function sayOnce(logFailures: LogFailures | undefined, anchor: string): (what: string, why: string) => void {
  const said = new Set<string>();
  return (what, why) => {
    const line = `${what}: ${why}.`.replace(/\s+/g, " ");
    if (said.has(line) || [...said].filter((one) => one.startsWith(what)).length >= MOST_LINES) return;
    said.add(line);
    const told = `${line} This is said once; logFailures: false switches it off. More: ${PAGE}#${anchor}`;
    try {
      if (typeof logFailures === "function") Promise.resolve(logFailures(told)).catch(() => {});
      else console.warn(told);
    } catch {
      // The login has to be answered all the same.
    }
  };
}

function isDevelopment(environment: Readonly<Record<string, string | undefined>> | undefined): boolean {
  if (!environment) return false;
  const { NODE_ENV, NODE_TEST_CONTEXT } = environment;
  return (!NODE_ENV || NODE_ENV === "development") && NODE_TEST_CONTEXT === undefined;
}
