#!/usr/bin/env node
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type SandboxOptions, schema } from "./options.js";
import { type Sandbox, startSandbox } from "./sandbox.js";

const flags = Object.entries(schema).flatMap(([option, { help, usage, parse }]) =>
  help === undefined ? [] : [{ option, flag: flagOf(option), help, usage, parse }],
);

const help = `Usage: retail-pos-sandbox [options]

The retail point-of-sale service to run offline, on 127.0.0.1.

${flags.map(({ flag, usage = "", help }) => `  ${`--${flag} ${usage}`.padEnd(28)} ${help}`).join("\n")}
  --tls-key <file>             https, with your own key and certificate (PEM)
  --tls-cert <file>
  --help                       show this
`;

/** Longer lines of /etc/hosts are cut by some systems. */
const HOSTS_IN_A_LINE = 8;

await main();

async function main(): Promise<void> {
  const options = readArguments();
  if (options === "help") {
    process.stdout.write(help);
    return;
  }
  const sandbox = await startSandbox(options).catch((error: Error) => {
    // A wrong option is the caller's mistake; anything else (a port in use) is the machine's.
    fail(error.message, error instanceof TypeError ? 2 : 1);
  });
  process.stdout.write(welcome(sandbox, options));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void sandbox.close());
  if (options.hostPerStore) await warnOfUnknownHosts(sandbox);
}

/** `lifetimeMs` is `--lifetime`, `rateLimit` is `--rate-limit`. */
function flagOf(option: string): string {
  return option.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function readArguments(): SandboxOptions | "help" {
  const known = flags.map(({ flag, usage }) => [flag, { type: usage ? "string" : "boolean" } as const]);
  const file = { type: "string" } as const;
  const help = { type: "boolean", short: "h" } as const;
  try {
    const options = { ...Object.fromEntries(known), "tls-key": file, "tls-cert": file, help };
    const values: Record<string, unknown> = parseArgs({ options }).values;
    if (values["help"]) return "help";
    const given = flags.filter(({ flag }) => values[flag] !== undefined);
    const settings = given.map(({ option, flag, usage, parse }) => {
      const value = parse ? parse(String(values[flag])) : values[flag];
      if (value === undefined) throw new TypeError(`--${flag} must be ${usage}, not "${values[flag]}"`);
      return [option, value];
    });
    return { port: 4010, ...Object.fromEntries(settings), ...readTls(values) };
  } catch (error) {
    return fail((error as Error).message, 2);
  }
}

function readTls({ "tls-key": key, "tls-cert": cert }: Record<string, unknown>): SandboxOptions {
  if (key === undefined && cert === undefined) return {};
  if (key === undefined || cert === undefined)
    throw new TypeError("--tls-key and --tls-cert belong together");
  return { tls: { key: readFileSync(String(key)), cert: readFileSync(String(cert)) } };
}

function welcome({ url, authUrl, baseUrl, application }: Sandbox, { clientSecret, scopes }: SandboxOptions) {
  // A secret that somebody set is not shown: others may look at the screen.
  const secret = clientSecret === undefined ? application.clientSecret : "# the one you gave";
  return `
  Retail POS sandbox

  Console        ${url}

  Your application's settings, for a .env, which node --env-file=.env app.js reads

RETAIL_POS_AUTH_URL=${authUrl}
RETAIL_POS_BASE_URL=${baseUrl}
RETAIL_POS_CLIENT_ID=${application.clientId}
RETAIL_POS_CLIENT_SECRET=${secret}
RETAIL_POS_REDIRECT_URI=${application.redirectUri}${scopes ? `\nRETAIL_POS_SCOPE="${scopes.join(" ")}"` : ""}

  Ctrl-C ends it.

`;
}

/** Browsers resolve these names by themselves, many systems do not: an application would only see `ENOTFOUND`. */
async function warnOfUnknownHosts({ stores }: Sandbox): Promise<void> {
  const all = stores.map(({ domainPrefix }) => `${domainPrefix}.localhost`);
  const found = await Promise.allSettled(all.map((host) => lookup(host)));
  const hosts = all.filter((_, index) => found[index]?.status === "rejected");
  const [first] = hosts;
  if (first === undefined) return;
  const lines: string[] = [];
  for (let at = 0; at < hosts.length; at += HOSTS_IN_A_LINE)
    lines.push(`127.0.0.1 ${hosts.slice(at, at + HOSTS_IN_A_LINE).join(" ")}`);
  process.stderr.write(`  This system does not resolve ${first}. Browsers do, applications on it cannot, until
  these lines are in /etc/hosts:

${lines.join("\n")}

`);
}

function fail(message: string, exitCode: number): never {
  process.stderr.write(`retail-pos-sandbox: ${message}\n${exitCode === 2 ? "Try --help.\n" : ""}`);
  process.exit(exitCode);
}
