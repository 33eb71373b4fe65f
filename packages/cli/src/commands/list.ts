import { isRetailPosError, type RetailerStatus, type RetailPos } from "@retail-pos/core";
import { loadApplication } from "../stores/application-module.js";
import { retailersOf } from "../stores/fleet.js";
import { statusTable } from "../stores/status-table.js";
import { printSum } from "../stores/tally.js";
import { APPLICATION_FLAGS, lengthIn, readFlags, scopesIn } from "../terminal/arguments.js";
import { wordsOf } from "../terminal/error-message.js";
import { jsonOf, print } from "../terminal/output.js";
import { progressOn } from "../terminal/progress.js";
import { closeTime, grouped } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";

export const help = `Usage: retail-pos list --client <module> [options]

Lists the connected retailers, with what the store knows of their tokens. No token is shown. Each
record is read, so that one that cannot be read is not called connected: its key is missing, say.

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

Exit code: 1 if a record cannot be read.
`;

const none = { stored: 0, shown: 0, unreadable: 0, refused: 0, ended: 0, ending: 0, missing: 0, unsaid: 0 };
type Counts = typeof none;

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
  const values = readFlags(args, flags);
  const now = terminal.clock();
  const withinMs = values.due === undefined ? undefined : lengthIn("--due", values.due, now);
  const endsBy = withinMs === undefined ? undefined : now + withinMs;
  const missing = values["missing-scope"];
  const scopes = missing === undefined ? undefined : scopesIn("--missing-scope", missing);
  const wanted: Wanted = { isRefused: values.refused === true, endsBy, scopes };
  const { client } = await loadApplication(values.client, terminal.signal, "client");

  const table = statusTable(terminal, now);
  const progress = terminal.stdout.isTTY ? undefined : progressOn(terminal, terminal.clock);
  const counts = { ...none };
  for await (const { status, unreadable } of eachRead(client, terminal.signal)) {
    terminal.signal.throwIfAborted();
    for (const name of countedAs(status, unreadable, now, wanted)) counts[name] += 1;
    progress?.show(() => `${grouped(counts.stored)} retailers`);
    if (unreadable && !values.json) terminal.stderr.write(`${wordsOf(unreadable)}\n`);
    if (!isWanted(status, wanted)) continue;
    counts.shown += 1;
    const error = unreadable && wordsOf(unreadable);
    await (values.json ? print(terminal, jsonOf({ ...status, error })) : table.row(status, error));
  }
  await table.end();
  progress?.clear();
  if (!values.json) await sum(terminal, counts, wanted, now);
  return counts.unreadable > 0 ? 1 : 0;
}

/** A retailer as it is listed, and why its record cannot be read, if so. */
interface Read {
  readonly status: RetailerStatus;
  readonly unreadable?: Error | undefined;
}

/** So many records are read at a time. */
const AT_A_TIME = 16;

/** A list does not tell whether a record can be read: it may be sealed with a key that is not given here. */
async function* eachRead(client: RetailPos, signal: AbortSignal): AsyncGenerator<Read, void, void> {
  const listed: RetailerStatus[] = [];
  const readThem = () => Promise.all(listed.splice(0).map((status) => read(client, status)));
  for await (const status of retailersOf(client, signal))
    if (listed.push(status) === AT_A_TIME) yield* await readThem();
  yield* await readThem();
}

async function read(client: RetailPos, status: RetailerStatus): Promise<Read> {
  try {
    await client.status(status.domainPrefix);
    return { status };
  } catch (error) {
    if (isRetailPosError(error) && error.code === "bad_stored_tokens") return { status, unreadable: error };
    throw error;
  }
}

function countedAs(
  status: RetailerStatus,
  unreadable: Error | undefined,
  now: number,
  { endsBy, scopes }: Wanted,
): (keyof Counts)[] {
  if (unreadable) return ["stored", "unreadable"];
  const counted: (keyof Counts)[] = ["stored"];
  if (status.refusedAt !== undefined) counted.push("refused");
  else if (endsUntil(status, now)) counted.push("ended");
  else if (endsUntil(status, endsBy)) counted.push("ending");
  if (lacks(status, scopes)) counted.push(status.scope === undefined ? "unsaid" : "missing");
  return counted;
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
  { stored, shown, unreadable, refused, ended, ending, missing, unsaid }: Readonly<Counts>,
  { endsBy, scopes }: Wanted,
  now: number,
): Promise<void> {
  const { isTTY } = terminal.stdout;
  if (isTTY && shown > 0) await print(terminal, "");
  await printSum(terminal, isTTY !== true, [
    ...(shown === stored ? [] : [["shown", shown] as const]),
    ["connected", stored - refused - unreadable],
    ...(endsBy === undefined ? [] : [[`of these end by ${closeTime(endsBy, now)}`, ending] as const]),
    ["of these with an access token that has ended", ended],
    ["must log in again", refused],
    ...(unreadable === 0 ? [] : [["cannot be read: not connected for this process", unreadable] as const]),
    ...(scopes === undefined ? [] : [["without these scopes", missing] as const]),
    ...(scopes === undefined ? [] : [["whose service said no scope", unsaid] as const]),
  ]);
}
