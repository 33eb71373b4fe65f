import { domainPrefixesIn, readArguments } from "../terminal/arguments.js";
import type { Terminal, World } from "../terminal/world.js";
import { WrongUse } from "../terminal/wrong-use.js";
import { isReadableOnTheWay, shown } from "./browser/shown-address.js";
import { checkBaseUrl } from "./callback/client-secret.js";
import { isWebAddress } from "./consent/redirect-uri.js";
import { examine, type Patient } from "./doctor.js";
import { count, jsonReport, textReport } from "./findings/report.js";

export const help: string = `Usage: retail-pos doctor <address of the login route> [options]

Looks at a running application's login the way a browser meets it, and says what would break.
It logs nobody in, and uses up no code and no token.

  --callback <url>            the callback address registered with the service, to be compared
  --auth-url <url>            the consent server (default: wherever the login leads)
  --client-id <text>          the application's client_id, to be compared

If people log in to accounts of their own before they connect a store:

  --cookie-env <name>         the variable that holds the Cookie header of a browser which is logged in; it goes
                              to the application's host alone, and is never printed

To have one login come back with a made-up code, which costs one token request at that store:

  --store <domain_prefix>     shows whether the application knows its own logins, and whether its client
                              secret and base URL are right

To have a client secret of the environment tried instead, by the doctor's own token request:

  --client-secret-env <name>  the variable it is in; without this flag RETAIL_POS_CLIENT_SECRET is tried
                              if the application cannot be
  --base-url <template>       "https://{domain_prefix}.<service host>"
                              (default: RETAIL_POS_BASE_URL, else that of a sandbox on this machine)

  --timeout <seconds>         patience for each answer (default 10)
  --json                      for machines: one line of JSON for each finding, with level (ok, warning,
                              problem, skipped), message, effect, mend
  --help                      show this

Exit code: 0 if nothing would break, 1 if there are problems, 2 if the command makes no sense.
`;

const flags = {
  callback: { type: "string" },
  "auth-url": { type: "string" },
  "client-id": { type: "string" },
  "client-secret-env": { type: "string" },
  "cookie-env": { type: "string" },
  // Taken only to be refused with a reason.
  "client-secret": { type: "string" },
  "base-url": { type: "string" },
  store: { type: "string" },
  timeout: { type: "string", default: "10" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

type Values = {
  [name in keyof typeof flags]?: (typeof flags)[name]["type"] extends "boolean" ? boolean : string;
};

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
  const patient = patientOf(values, positionals, env);
  // Before it is done, since it counts towards the store's rate limit. Machines find it among the findings.
  if (patient.domainPrefix !== undefined && !values.json) stdout.write(announcement(patient.domainPrefix));
  const groups = await examine({ ...patient, time });
  const colour = stdout.isTTY === true && stdout.hasColors?.() === true;
  const columns = Math.min(stdout.columns ?? 100, 100);
  stdout.write(
    values.json ? jsonReport(groups) : textReport(shown(patient.url), groups, { colour, columns }),
  );
  return count(groups, "problem") > 0 ? 1 : 0;
}

function announcement(domainPrefix: string): string {
  return `At most one token request with a made-up code goes to the token endpoint of ${domainPrefix} now.\n`;
}

/** Rejects when the signal comes: a command that changes nothing has nothing to end. */
function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

function patientOf(values: Values, positionals: string[], env: World["env"]): Patient {
  if (values["client-secret"] !== undefined) {
    throw new WrongUse(
      "the client secret is not taken as an argument, where others can read it: put it into the environment variable RETAIL_POS_CLIENT_SECRET",
    );
  }
  const [url, ...more] = positionals;
  if (url === undefined) throw new WrongUse("the address of the login route is missing");
  if (more.length > 0) throw new WrongUse("only one address is taken");
  const { callback, "auth-url": authUrl } = values;
  if (callback !== undefined) webAddress("--callback", callback);
  const address = webAddress("the address of the login route", url);
  return {
    url: address,
    callback, // as it was typed: it is compared letter by letter
    authUrl: authUrl === undefined ? undefined : webAddress("--auth-url", authUrl),
    clientId: values["client-id"],
    cookies: cookiesFrom(values, env, address),
    clientSecret: secretFrom(values, env),
    isSecretWanted: values["client-secret-env"] !== undefined,
    baseUrl: baseUrlFrom(values, env),
    domainPrefix: values.store === undefined ? undefined : domainPrefixesIn([values.store])[0],
    timeoutMs: secondsIn("--timeout", values.timeout ?? "") * 1000,
  };
}

/** A secret in the place of the name is not repeated. */
function variableIn(flag: string, named: string): string {
  if (/^[A-Za-z_]\w*$/.test(named)) return named;
  throw new WrongUse(`${flag} takes the name of an environment variable, not what it holds`);
}

/** Whoever names a variable wants the secret in it tried; not trying it must not pass for a good one. */
function secretFrom(values: Values, env: World["env"]): string | undefined {
  const named = values["client-secret-env"];
  const secret =
    env[named === undefined ? "RETAIL_POS_CLIENT_SECRET" : variableIn("--client-secret-env", named)];
  if (named !== undefined && !secret)
    throw new WrongUse(`the environment variable ${named} does not hold a client secret`);
  return secret;
}

/** As developer tools copy it, with or without the header's name. */
function cookiesFrom(values: Values, env: World["env"], url: URL): string | undefined {
  const flag = values["cookie-env"];
  if (flag === undefined) return undefined;
  const named = variableIn("--cookie-env", flag);
  if (isReadableOnTheWay(url))
    throw new WrongUse("--cookie-env wants an https address: over http others could read the cookie");
  const cookies =
    env[named]
      ?.replace(/^cookie:/i, "")
      .replace(/;?\s*$/, "")
      .trim() ?? "";
  if (!cookies.split(/; ?/).every((pair) => COOKIE.test(pair)))
    throw new WrongUse(
      `the environment variable ${named} does not hold a Cookie header: name=value; name=value`,
    );
  return cookies;
}

/** What stands between semicolons (RFC 6265, 4.2.1, with the wider alphabet that browsers send). */
const COOKIE = /^[!-:<>-~]+=[ -:<-~]*$/;

function baseUrlFrom(values: Values, env: World["env"]): string | undefined {
  const flag = values["base-url"];
  const baseUrl = flag ?? env["RETAIL_POS_BASE_URL"];
  const problem = baseUrl === undefined ? undefined : checkBaseUrl(baseUrl);
  if (problem === undefined) return baseUrl;
  throw new WrongUse(`${flag === undefined ? "RETAIL_POS_BASE_URL" : "--base-url"}: ${problem}`);
}

function webAddress(what: string, text: string): URL {
  if (!isWebAddress(text)) throw new WrongUse(`${what} must be a whole address, from http:// or https:// on`);
  const url = new URL(text);
  if (url.username || url.password) throw new WrongUse(`${what} must not contain a user name or password`);
  return url;
}

function secondsIn(flag: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new WrongUse(`${flag} must be a whole number of seconds, 1 or more`);
  return Number(text);
}
