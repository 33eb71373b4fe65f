import { domainPrefixesIn, readArguments, wholeNumberIn } from "../terminal/arguments.js";
import type { Terminal } from "../terminal/world.js";
import { WrongUse } from "../terminal/wrong-use.js";
import { isReadableOnTheWay, isWebAddress, shown } from "./browser/shown-address.js";
import { diagnose } from "./doctor.js";
import { count, jsonReport, textReport } from "./findings/report.js";
import type { Target } from "./probe.js";

export const help: string = `Usage: retail-pos doctor <address of the login route> [options]

Looks at a running application's login the way a browser meets it, and says what would break.
It logs nobody in, uses up no code and no token, and asks nobody but the application and the consent page.

  --callback <url>        the callback address registered with the service, to be compared
                          (default: RETAIL_POS_REDIRECT_URI; RETAIL_POS_AUTH_URL and RETAIL_POS_CLIENT_ID
                          are compared, too, where they are set)
  --store <domain_prefix> has one login come back with a made-up code, at most one a run: the application sends
                          one token request to that store, whose answer shows whether the client secret and
                          the base URL are right
  --cookie-env <name>     if people log in to accounts of their own before they connect a store: the variable
                          that holds the Cookie header of a browser which is logged in; it goes to the
                          application's host alone, and is never printed
  --timeout <seconds>     patience for each answer (default 10)
  --json                  for machines: one line of JSON for each finding, with level (ok, warning,
                          problem, skipped), message, effect, mend
  --help                  show this

Exit code: 0 if nothing would break, 1 if there are problems, 2 if the command makes no sense.
`;

const flags = {
  callback: { type: "string" },
  store: { type: "string" },
  "cookie-env": { type: "string" },
  timeout: { type: "string", default: "10" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/**
 * Runs the command; the result is its exit code.
 *
 * @throws {WrongUse} the command makes no sense; nothing was sent.
 */
export function run(args: string[], terminal: Terminal): Promise<number> {
  return Promise.race([doctor(args, terminal), stopped(terminal.signal)]);
}

async function doctor(args: string[], { env, stdout, time }: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, flags);
  const [address, ...more] = positionals;
  if (address === undefined) throw new WrongUse("the address of the login route is missing");
  if (more.length > 0) throw new WrongUse("only one address is taken");
  const url = webAddress("the address of the login route", address);
  const fromEnv = (name: string) => addressIn(name, env[name] || undefined);
  const target: Target = {
    url,
    callback: addressIn("--callback", values.callback) ?? fromEnv("RETAIL_POS_REDIRECT_URI"),
    authUrl: fromEnv("RETAIL_POS_AUTH_URL"),
    clientId: env["RETAIL_POS_CLIENT_ID"] || undefined,
    cookies: cookiesFrom(values["cookie-env"], env, url),
    domainPrefix: values.store === undefined ? undefined : domainPrefixesIn([values.store])[0],
    timeoutMs: wholeNumberIn("--timeout", values.timeout, 9999) * 1000,
    time,
  };
  // Before it is done, since it counts towards the store's rate limit. Machines find it among the findings.
  if (target.domainPrefix !== undefined && !values.json)
    stdout.write(
      `At most one token request with a made-up code goes to the token endpoint of ${target.domainPrefix} now.\n`,
    );
  const groups = await diagnose(target);
  stdout.write(values.json ? jsonReport(groups) : textReport(shown(url), groups, stdout));
  return count(groups, "problem") > 0 ? 1 : 0;
}

/** Rejects when the signal comes: a command that changes nothing has nothing to end. */
function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** As developer tools copy it, with or without the header's name. */
function cookiesFrom(named: string | undefined, env: Terminal["env"], url: URL): string | undefined {
  if (named === undefined) return undefined;
  if (!/^[A-Za-z_]\w*$/.test(named))
    // a cookie in the place of the name is not repeated
    throw new WrongUse("--cookie-env takes the name of an environment variable, not what it holds");
  if (isReadableOnTheWay(url))
    throw new WrongUse("--cookie-env wants an https address: over http others could read the cookie");
  const cookies = (env[named] ?? "")
    .replace(/^cookie:/i, "")
    .trim()
    .replace(/;$/, "");
  if (!cookies.split(/; ?/).every((pair) => COOKIE.test(pair)))
    throw new WrongUse(
      `the environment variable ${named} does not hold a Cookie header: name=value; name=value`,
    );
  return cookies;
}

/** What stands between semicolons (RFC 6265, 4.2.1, with the wider alphabet that browsers send). */
const COOKIE = /^[!-:<>-~]+=[ -:<-~]*$/;

/** As it was typed: it is compared letter by letter. */
function addressIn(what: string, text: string | undefined): string | undefined {
  if (text !== undefined) webAddress(what, text);
  return text;
}

function webAddress(what: string, text: string): URL {
  if (!isWebAddress(text)) throw new WrongUse(`${what} must be a whole address, from http:// or https:// on`);
  const url = new URL(text);
  if (url.username || url.password) throw new WrongUse(`${what} must not contain a user name or password`);
  return url;
}
