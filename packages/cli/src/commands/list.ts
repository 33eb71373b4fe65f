import type { RetailerStatus } from "@retail-pos/core";
import { loadApplication } from "../stores/application-module.js";
import { retailersOf } from "../stores/fleet.js";
import { statusTable } from "../stores/status-table.js";
import { printSum } from "../stores/tally.js";
import {
  APPLICATION_FLAGS,
  expectFlagsOnly,
  lengthIn,
  readArguments,
  scopesIn,
} from "../terminal/arguments.js";
import { jsonOf, print } from "../terminal/output.js";
import { progressOn } from "../terminal/progress.js";
import { grouped, localTime } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";

export const help = `Usage: retail-pos list --client <module> [options]

Lists the connected retailers, with what the store knows of their tokens. No token is shown.

  --client <module>  your application's module, which exports client, what retailPos() gave
  --refused          only those who have to log in again: the service refused their refresh token
  --due <length>     only those whose access token ends within that time, or has ended, and that are
                     not refused: 30s, 45m, 1h, 2d, or today (until midnight, local time). With
                     --refused: those as well
  --missing-scope <scopes>
                     only those whose login does not show all of these scopes, with spaces between:
                     those who have to log in again after your application asks for more. A service
                     that says no scope may have granted them: such retailers are shown and counted.
                     With --refused or --due: those as well
  --json             one line of JSON for each retailer; instants are epoch milliseconds
  --help             show this
`;

type CountName = "stored" | "shown" | "refused" | "ended" | "ending" | "missing" | "unsaid";

const flags = {
  ...APPLICATION_FLAGS,
  refused: { type: "boolean" },
  due: { type: "string" },
  "missing-scope": { type: "string" },
} as const;

/** Who is shown: with several of these, those of each; with none of them, all. */
interface Wanted {
  readonly isRefused: boolean;
  /** Access tokens that end by this instant, of retailers who are not refused. */
  readonly endsBy: number | undefined;
  /** Scopes of which the login lacks one. */
  readonly scopes: readonly string[] | undefined;
}

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, flags);
  expectFlagsOnly(positionals);
  const now = terminal.clock();
  const withinMs = values.due === undefined ? undefined : lengthIn("--due", values.due, now);
  const endsBy = withinMs === undefined ? undefined : now + withinMs;
  const missing = values["missing-scope"];
  const scopes = missing === undefined ? undefined : scopesIn("--missing-scope", missing);
  const wanted: Wanted = { isRefused: values.refused === true, endsBy, scopes };
  const { client } = await loadApplication(values.client, terminal.signal, "client");

  const table = statusTable(terminal, now);
  const progress = terminal.stdout.isTTY ? undefined : progressOn(terminal, terminal.clock);
  const counts = { stored: 0, shown: 0, refused: 0, ended: 0, ending: 0, missing: 0, unsaid: 0 };
  for await (const status of retailersOf(client, terminal.signal)) {
    counts.stored += 1;
    if (status.refusedAt !== undefined) counts.refused += 1;
    else if (endsUntil(status, now)) counts.ended += 1;
    else if (endsUntil(status, endsBy)) counts.ending += 1;
    if (lacks(status, scopes)) counts[status.scope === undefined ? "unsaid" : "missing"] += 1;
    progress?.show(() => `${grouped(counts.stored)} retailers`);
    if (!isWanted(status, wanted)) continue;
    counts.shown += 1;
    await (values.json ? print(terminal, jsonOf(status)) : table.row(status));
  }
  await table.end();
  progress?.clear();
  if (!values.json) await sum(terminal, counts, wanted);
  return 0;
}

function isWanted(status: RetailerStatus, { isRefused, endsBy, scopes }: Wanted): boolean {
  if (!isRefused && endsBy === undefined && scopes === undefined) return true;
  if (lacks(status, scopes)) return true;
  return status.refusedAt === undefined ? endsUntil(status, endsBy) : isRefused;
}

/** Letter by letter, as scopes are compared (RFC 6749, 3.3). */
function lacks({ scope = "" }: RetailerStatus, scopes: readonly string[] = []): boolean {
  const granted = scope.split(" ");
  return scopes.some((one) => !granted.includes(one));
}

function endsUntil({ expiresAt }: RetailerStatus, instant: number | undefined): boolean {
  return instant !== undefined && expiresAt !== undefined && expiresAt <= instant;
}

/** Below the table on a terminal; on the other stream if the table goes into a pipe. */
async function sum(
  terminal: Terminal,
  { stored, shown, refused, ended, ending, missing, unsaid }: Readonly<Record<CountName, number>>,
  { endsBy, scopes }: Wanted,
): Promise<void> {
  const { isTTY } = terminal.stdout;
  if (isTTY && shown > 0) await print(terminal, "");
  await printSum(terminal, isTTY !== true, [
    ...(shown === stored ? [] : [["shown", shown] as const]),
    ["connected", stored - refused],
    ...(endsBy === undefined ? [] : [[`of these end by ${localTime(endsBy)}`, ending] as const]),
    ["of these with an access token that has ended", ended],
    ["must log in again", refused],
    ...(scopes === undefined ? [] : [["without these scopes", missing] as const]),
    ...(scopes === undefined ? [] : [["whose service said no scope", unsaid] as const]),
  ]);
}
