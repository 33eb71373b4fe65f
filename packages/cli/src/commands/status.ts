import type { RetailerStatus } from "@retail-pos/core";
import { loadApplication } from "../stores/application-module.js";
import { tokenOf } from "../stores/status-table.js";
import { APPLICATION_FLAGS, domainPrefixesIn, readArguments } from "../terminal/arguments.js";
import { coloured, jsonOf, print, printable } from "../terminal/output.js";
import { closeTime, lengthOf } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";
import { WrongUse } from "../terminal/wrong-use.js";

export const help = `Usage: retail-pos status <domain prefix> --client <module> [options]

Says what the store knows of one retailer's tokens, as it is now. No token is shown.

  --client <module>  your application's module, which exports client, what retailPos() gave
  --json             one line of JSON; instants are epoch milliseconds
  --help             show this

Exit code: 1 if nothing is stored for the retailer.
`;

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, APPLICATION_FLAGS);
  const [domainPrefix] = domainPrefixesIn(positionals);
  if (domainPrefix === undefined) throw new WrongUse("the domain prefix of a retailer is missing");
  if (positionals.length > 1) throw new WrongUse("only one domain prefix is taken");
  const { client } = await loadApplication(values.client, terminal.signal, "client");
  const found = await client.status(domainPrefix);
  if (!found) {
    const why = "it never logged in, or was disconnected";
    terminal.stderr.write(`retail-pos status: nothing is stored for ${domainPrefix}: ${why}\n`);
    return 1;
  }
  if (values.json) await print(terminal, jsonOf(found));
  else
    for (const [name, text] of linesOf(terminal, found)) await print(terminal, `${name.padEnd(14)}${text}`);
  return 0;
}

/** A token that lives is served meanwhile, so this is no error. */
function limit(until: number, now: number): string {
  return `no token request for ${lengthOf(until - now)}, until ${closeTime(until, now)}`;
}

/** A refused token is tried once an hour: that is no 429. */
const waitOf = ({ refusedAt }: RetailerStatus) => (refusedAt === undefined ? "Rate limited" : "Next try");

type Line = readonly [name: string, text: string];

function linesOf({ stdout, clock }: Terminal, found: RetailerStatus): Line[] {
  const now = clock();
  const { text, colour } = tokenOf(found, now);
  return [
    ["Retailer", found.domainPrefix],
    ["Access token", colour ? coloured(stdout, colour, text) : text],
    ...(found.limitedUntil === undefined ? [] : [[waitOf(found), limit(found.limitedUntil, now)] as const]),
    [
      "Issued",
      `${lengthOf(now - found.issuedAt)} ${found.issuedAt > now ? "ahead" : "ago"} (${closeTime(found.issuedAt, now)})`,
    ],
    ...(found.scope === undefined ? [] : [["Scope", printable(found.scope)] as const]),
  ];
}
