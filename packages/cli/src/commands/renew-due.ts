import type { RetailPos } from "@retail-pos/core";
import { loadApplication } from "../stores/application-module.js";
import { asWrongUse, retailersOf } from "../stores/fleet.js";
import { printSum } from "../stores/tally.js";
import { APPLICATION_FLAGS, instantIn, lengthIn, readFlags, wholeNumberIn } from "../terminal/arguments.js";
import { wordsOf } from "../terminal/error-message.js";
import { jsonOf, print } from "../terminal/output.js";
import { progressOn } from "../terminal/progress.js";
import { grouped, isoTime, lengthOf } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";
import { WrongUse } from "../terminal/wrong-use.js";

export const help = `Usage: retail-pos renew-due --client <module> [options]

Renews the tokens of all retailers that are due, for a job that runs now and then. Runs in many
processes at once renew each retailer once. Ctrl-C stops it: what is under way ends first.

  --client <module>   your application's module, which exports client, what retailPos() gave
  --within <length>   what ends within that time: 30s, 45m, 1h, 2d, or today, until midnight, local
                      time (default: what a call would renew early)
  --issued-before <instant>
                      instead, after a leak: all tokens issued before that instant, however young:
                      2026-01-31, 2026-01-31T18:00 (local time, if it names no zone) or epoch
                      milliseconds. Says how many are left; run it again until none is
  --concurrency <n>   how many at a time, 1 to 1000 (default 8)
  --json              the report as one line of JSON
  --help              show this

Exit code: 1 if a renewal failed, tokens are left, or the run was stopped. A refused retailer is no failure: it has to
log in again, and retail-pos list --refused names it. The report only counts: the client's observe
says which renewals failed, and why. If the service does not answer in time, the command waits for
20 seconds more by default: a late answer has tokens that must not be lost.
`;

const flags = {
  ...APPLICATION_FLAGS,
  within: { type: "string" },
  "issued-before": { type: "string" },
  concurrency: { type: "string" },
} as const;

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const values = readFlags(args, flags);
  const { signal, clock, stderr } = terminal;
  const startedAt = clock();
  const { within, concurrency, "issued-before": before } = values;
  if (within !== undefined && before !== undefined)
    throw new WrongUse("--within and --issued-before ask for different tokens: give one of them");
  // Nothing was issued later than now. With an instant ahead, the tokens of this run would be left over.
  const issuedBefore =
    before === undefined ? undefined : Math.min(instantIn("--issued-before", before), startedAt);
  const ask = {
    signal,
    ...(within !== undefined && { withinMs: lengthIn("--within", within, startedAt) }),
    ...(issuedBefore !== undefined && { issuedBefore }),
    ...(concurrency !== undefined && { concurrency: wholeNumberIn("--concurrency", concurrency, 1000) }),
  };
  const { client } = await loadApplication(values.client, signal, "client");
  const progress = progressOn(terminal, clock);
  const showing = setInterval(
    () => progress.show(() => `renewing for ${lengthOf(clock() - startedAt)}`),
    1000,
  );
  const report = await client
    .renewDue(ask)
    .catch((error: unknown) => {
      throw asWrongUse(error);
    })
    .finally(() => {
      clearInterval(showing);
      progress.clear();
    });
  const left = report.stopped ? undefined : await countLeft(client, issuedBefore, terminal);
  if (values.json) await print(terminal, jsonOf({ ...report, issuedBefore, left }));
  else {
    await printSum(terminal, false, [
      ["retailers seen", report.seen],
      ["of these due", report.due],
      ["renewed", report.renewed],
      ["refused: must log in again", report.refused],
      ["failed", report.failed],
      ["renewed meanwhile by another process", report.elsewhere],
      ...(left === undefined ? [] : [["left to renew", left] as const]),
    ]);
  }
  const again = issuedBefore === undefined ? "" : `: run it with --issued-before ${isoTime(issuedBefore)}`;
  if (report.stopped) stderr.write(`Stopped before the end: the next run renews what is left${again}.\n`);
  else if (left) stderr.write(`${grouped(left)} left: the next run renews only these${again}.\n`);
  const isDone = issuedBefore === undefined || left === 0;
  return report.failed > 0 || report.stopped || !isDone ? 1 : 0;
}

/**
 * How many retailers have tokens from before the instant and need not log in again, as the store has them after the
 * run: a renewal that failed here may have succeeded in another process.
 */
async function countLeft(
  client: RetailPos,
  issuedBefore: number | undefined,
  { signal, stderr }: Terminal,
): Promise<number | undefined> {
  if (issuedBefore === undefined) return undefined;
  let left = 0;
  try {
    for await (const { issuedAt, refusedAt } of retailersOf(client, signal))
      if (issuedAt < issuedBefore && refusedAt === undefined) left += 1;
  } catch (error) {
    if (!signal.aborted) stderr.write(`What is left could not be counted: ${wordsOf(error)}\n`);
    return undefined;
  }
  return left;
}
