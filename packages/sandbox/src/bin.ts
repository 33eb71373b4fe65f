#!/usr/bin/env node
import { lookup } from "node:dns/promises";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { SandboxOptions } from "./options.js";
import { type Sandbox, startSandbox } from "./sandbox.js";

const help = `Usage: retail-pos-sandbox [options]

The retail point-of-sale service to run offline, on 127.0.0.1.

  --port <number>          port to listen on, 0 for any (default 4010)
  --rotation <how>         refresh tokens rotate: always, never, sometimes (default always)
  --lifetime <seconds>     how long access tokens live (default 86400)
  --refuses-early          a refresh is refused while the access token lives
  --rate-limit <n/seconds> token requests per store and window (default 300/300)
  --api-rate-limit <n/seconds>
                           API calls per store and window (default no limit)
  --host-per-store         a host for each store, as in life: {domain_prefix}.localhost
  --tls <file>             https, with a certificate made at start and written to this file (PEM):
                           start the application with NODE_EXTRA_CA_CERTS=<file>
  --tls-key <file>         with --tls-cert: https, with your own key and certificate (PEM)
  --tls-cert <file>
  --scopes <list>          scopes there are, like "products:read sales:read": a login has
                           to name some (default none)
  --approved               the application is approved: no limit of 30 stores
  --stores <number>        how many stores there are, 1 to 1000 (default 6)
  --redirect-uri <url>     the application's callback address
                           (default http://localhost:3000/auth/retail-pos/callback)
  --client-id <text>       (default sandbox-application)
  --client-secret <text>   (default sandbox-application-secret)
  --help                   show this
`;

const flags = {
  port: { type: "string", default: "4010" },
  rotation: { type: "string" },
  lifetime: { type: "string" },
  "refuses-early": { type: "boolean" },
  "rate-limit": { type: "string" },
  "api-rate-limit": { type: "string" },
  "host-per-store": { type: "boolean" },
  tls: { type: "string" },
  "tls-key": { type: "string" },
  "tls-cert": { type: "string" },
  scopes: { type: "string" },
  approved: { type: "boolean" },
  stores: { type: "string" },
  "redirect-uri": { type: "string" },
  "client-id": { type: "string" },
  "client-secret": { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** Longer lines of /etc/hosts are cut by some systems. */
const HOSTS_IN_A_LINE = 8;

type Values = {
  [name in keyof typeof flags]?: (typeof flags)[name]["type"] extends "boolean" ? boolean : string;
};

if (process.argv[2] === "doctor")
  fail(
    "the doctor is in a package of its own now: npx @retail-pos/cli doctor <address of the login route>",
    2,
  );
await main();

async function main(): Promise<void> {
  const asked = readArguments();
  if (asked === "help") {
    process.stdout.write(help);
    return;
  }
  const { options, certificateFile } = asked;
  const sandbox = await startSandbox(options).catch((error: Error) => {
    // A wrong option is the caller's mistake; anything else (a port in use) is the machine's.
    fail(error.message, error instanceof TypeError ? 2 : 1);
  });
  if (certificateFile !== undefined) writeCertificate(certificateFile, sandbox.certificate ?? "");
  process.stdout.write(welcome(sandbox, options, certificateFile));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void sandbox.close());
  if (options.hostPerStore) await warnOfUnknownHosts(sandbox);
}

interface Asked {
  readonly options: SandboxOptions;
  /** Where the certificate goes that is made at start. */
  readonly certificateFile: string | undefined;
}

function readArguments(): Asked | "help" {
  try {
    const { values } = parseArgs({ options: flags, strict: true, allowPositionals: false });
    return values.help ? "help" : { options: optionsOf(values), certificateFile: values.tls };
  } catch (error) {
    return fail((error as Error).message, 2);
  }
}

function optionsOf(values: Values): SandboxOptions {
  const { rotation, approved } = values;
  const redirectUri = values["redirect-uri"];
  const clientId = values["client-id"];
  const clientSecret = values["client-secret"];
  return {
    port: wholeNumber("--port", values.port ?? ""),
    ...(values.stores !== undefined && { stores: wholeNumber("--stores", values.stores) }),
    ...(values.lifetime !== undefined && { lifetimeMs: wholeNumber("--lifetime", values.lifetime) * 1000 }),
    ...(values["refuses-early"] !== undefined && { refusesEarly: values["refuses-early"] }),
    ...(values["rate-limit"] !== undefined && {
      rateLimit: readRateLimit("--rate-limit", values["rate-limit"]),
    }),
    ...(values["api-rate-limit"] !== undefined && {
      apiRateLimit: readRateLimit("--api-rate-limit", values["api-rate-limit"]),
    }),
    ...(values["host-per-store"] !== undefined && { hostPerStore: values["host-per-store"] }),
    ...readTls(values),
    // startSandbox knows which words it takes, and says so.
    ...(rotation !== undefined && { rotation: rotation as NonNullable<SandboxOptions["rotation"]> }),
    ...(values.scopes !== undefined && { scopes: values.scopes.split(/[ ,]+/).filter(Boolean) }),
    ...(approved !== undefined && { approved }),
    ...(redirectUri !== undefined && { redirectUri }),
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret !== undefined && { clientSecret }),
  };
}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new TypeError(`${flag} must be a whole number, not "${text}"`);
  return Number(text);
}

function readTls({ tls, "tls-key": key, "tls-cert": cert }: Values): Pick<SandboxOptions, "tls"> {
  if (tls !== undefined && (key ?? cert) !== undefined)
    throw new TypeError("--tls makes a certificate: leave out --tls-key and --tls-cert");
  if (tls !== undefined) return { tls: true };
  if (key === undefined && cert === undefined) return {};
  if (key === undefined || cert === undefined)
    throw new TypeError("--tls-key and --tls-cert belong together");
  return { tls: { key: readFileSync(key), cert: readFileSync(cert) } };
}

/** Writes it over the one of the last start, and over nothing else. */
function writeCertificate(file: string, certificate: string): void {
  try {
    if (existsSync(file) && !readFileSync(file, "latin1").startsWith("-----BEGIN CERTIFICATE-----"))
      fail(`--tls would overwrite ${file}, which is no certificate`, 2);
    writeFileSync(file, certificate);
  } catch (error) {
    fail(`The certificate cannot be written: ${(error as Error).message}`, 1);
  }
}

function readRateLimit(flag: string, text: string): { limit: number; windowMs: number } {
  const [, limit, seconds] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? [];
  if (!limit || !seconds)
    throw new TypeError(`${flag} must look like 300/300 (requests/seconds), not "${text}"`);
  return { limit: Number(limit), windowMs: Number(seconds) * 1000 };
}

function welcome(
  { url, authUrl, baseUrl, application }: Sandbox,
  options: SandboxOptions,
  certificateFile: string | undefined,
): string {
  const isOwn = options.clientSecret !== undefined;
  const scope = options.scopes?.join(" ");
  const secret = isOwn ? "(as you gave it)" : application.clientSecret;
  return `
  Retail POS sandbox

  Console        ${url}${certificateFile === undefined ? "" : trustedBy(certificateFile)}

  Your application's settings
    authUrl      ${authUrl}
    baseUrl      ${baseUrl}
    clientId     ${application.clientId}
    clientSecret ${secret}
    redirectUri  ${application.redirectUri}${scope ? `\n    scope        ${scope}` : ""}

  The same for a .env, which node --env-file=.env app.js reads

RETAIL_POS_AUTH_URL=${authUrl}
RETAIL_POS_BASE_URL=${baseUrl}
RETAIL_POS_CLIENT_ID=${application.clientId}
RETAIL_POS_CLIENT_SECRET=${isOwn ? "" : secret}
RETAIL_POS_REDIRECT_URI=${application.redirectUri}${scope ? `\nRETAIL_POS_SCOPE="${scope}"` : ""}

  Ctrl-C ends it.

`;
}

/** Browsers resolve these names by themselves, many systems do not: an application would only see `ENOTFOUND`. */
async function warnOfUnknownHosts({ stores }: Sandbox): Promise<void> {
  const all = stores.map(({ domainPrefix }) => `${domainPrefix}.localhost`);
  const known = await Promise.all(all.map(isKnown));
  const hosts = all.filter((_, index) => !known[index]);
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

async function isKnown(host: string): Promise<boolean> {
  return lookup(host).then(
    () => true,
    () => false,
  );
}

function trustedBy(certificateFile: string): string {
  return `
  Certificate    ${certificateFile}
                 the application trusts it: NODE_EXTRA_CA_CERTS=${certificateFile} node app.js`;
}

function fail(message: string, exitCode: number): never {
  process.stderr.write(`retail-pos-sandbox: ${message}\n${exitCode === 2 ? "Try --help.\n" : ""}`);
  process.exit(exitCode);
}
