import { parseArgs } from "node:util";
import { isRetailPosError } from "@retail-pos/core";
import type { World } from "../world.js";
import { isWebAddress } from "./checks/redirect-uri.js";
import { examine, type Patient } from "./doctor.js";
import { count, jsonReport, textReport } from "./report.js";
import { shown } from "./shown-address.js";

const help = `Usage: retail-pos doctor <address of the login route> [options]

Looks at a running application's login the way a browser meets it, and says what would break.
It logs nobody in, and uses up no code and no token.

  --callback <url>            the callback address registered with the service, to be compared
  --auth-url <url>            the consent server (default: wherever the login leads)
  --client-id <text>          the application's client_id, to be compared

To have the client secret tried, by one token request with a made-up code:

  --store <domain_prefix>     a store to ask; the secret is taken from the environment
  --client-secret-env <name>  the variable it is in (default RETAIL_POS_CLIENT_SECRET)
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

/** Runs the command; the result is its exit code. */
export async function doctor(args: string[], { env, stdout, stderr }: World): Promise<number> {
  try {
    const { values, positionals } = parseArgs({ args, options: flags, strict: true, allowPositionals: true });
    if (values.help) {
      stdout.write(help);
      return 0;
    }
    const patient = patientOf(values, positionals, env);
    const address = shown(patient.url);
    const groups = await examine(patient);
    const colour = stdout.isTTY === true && stdout.hasColors?.() === true;
    const columns = Math.min(stdout.columns ?? 100, 100);
    stdout.write(values.json ? jsonReport(groups) : textReport(address, groups, { colour, columns }));
    return count(groups, "problem") > 0 ? 1 : 0;
  } catch (error) {
    if (!(error instanceof TypeError) && !isRetailPosError(error)) throw error;
    stderr.write(`retail-pos doctor: ${error.message}\nTry doctor --help.\n`);
    return 2;
  }
}

function patientOf(values: Values, positionals: string[], env: World["env"]): Patient {
  if (values["client-secret"] !== undefined) {
    throw new TypeError(
      "the client secret is not taken as an argument, where others can read it: put it into the environment variable RETAIL_POS_CLIENT_SECRET",
    );
  }
  const [url, ...more] = positionals;
  if (url === undefined) throw new TypeError("the address of the login route is missing");
  if (more.length > 0) throw new TypeError("only one address is taken");
  const { callback, "auth-url": authUrl } = values;
  if (callback !== undefined) webAddress("--callback", callback);
  return {
    url: webAddress("the address of the login route", url),
    callback, // as it was typed: it is compared letter by letter
    authUrl: authUrl === undefined ? undefined : webAddress("--auth-url", authUrl),
    clientId: values["client-id"],
    clientSecret: secretFrom(values, env),
    baseUrl: values["base-url"] ?? env["RETAIL_POS_BASE_URL"],
    domainPrefix: values.store,
    timeoutMs: secondsIn("--timeout", values.timeout ?? "") * 1000,
  };
}

/** Whoever names a store or a variable wants the secret tried; not trying it must not pass for a good one. */
function secretFrom(values: Values, env: World["env"]): string | undefined {
  const name = values["client-secret-env"] ?? "RETAIL_POS_CLIENT_SECRET";
  const isWanted = values["client-secret-env"] !== undefined || values.store !== undefined;
  const secret = env[name];
  if (isWanted && !secret)
    throw new TypeError(`the environment variable ${name} does not hold a client secret`);
  return secret;
}

function webAddress(what: string, text: string): URL {
  if (!isWebAddress(text))
    throw new TypeError(`${what} must be a whole address, from http:// or https:// on`);
  const url = new URL(text);
  if (url.username || url.password) throw new TypeError(`${what} must not contain a user name or password`);
  return url;
}

function secondsIn(flag: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new TypeError(`${flag} must be a whole number of seconds, 1 or more`);
  return Number(text);
}
