import { loadApplication } from "../stores/application-module.js";
import { asWrongUse } from "../stores/fleet.js";
import { printSum } from "../stores/tally.js";
import {
  APPLICATION_FLAGS,
  expectFlagsOnly,
  lengthIn,
  readArguments,
  wholeNumberIn,
} from "../terminal/arguments.js";
import { jsonOf, print } from "../terminal/output.js";
import { progressOn } from "../terminal/progress.js";
import { lengthOf } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";

export const help = `Usage: retail-pos renew-due --client <module> [options]

Renews the tokens of all retailers that are due, for a job that runs now and then. Runs in many
processes at once renew each retailer once. Ctrl-C stops it: what is under way ends first.

  --client <module>   your application's module, which exports client, what retailPos() gave
  --within <length>   what ends within that time: 30s, 45m, 1h, 2d, or today, until midnight, local
                      time (default: what a call would renew early)
  --concurrency <n>   how many at a time, 1 to 1000 (default 8)
  --json              the report as one line of JSON
  --help              show this

Exit code: 1 if a renewal failed or the run was stopped. A refused retailer is no failure: it has to
log in again, and retail-pos list --refused names it. The report only counts: the client's observe
says which renewals failed, and why. If the service does not answer in time, the command waits for
20 seconds more by default: a late answer has tokens that must not be lost.
`;

const flags = {
  ...APPLICATION_FLAGS,
  within: { type: "string" },
  concurrency: { type: "string" },
} as const;

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, flags);
  expectFlagsOnly(positionals);
  const { signal, clock } = terminal;
  const startedAt = clock();
  const ask = {
    signal,
    ...(values.within !== undefined && { withinMs: lengthIn("--within", values.within, startedAt) }),
    ...(values.concurrency !== undefined && {
      concurrency: wholeNumberIn("--concurrency", values.concurrency, 1000),
    }),
  };
  const { client } = await loadApplication(values.client, terminal.signal, "client");
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
  if (values.json) await print(terminal, jsonOf(report));
  else {
    await printSum(terminal, false, [
      ["retailers seen", report.seen],
      ["of these due", report.due],
      ["renewed", report.renewed],
      ["refused: must log in again", report.refused],
      ["failed", report.failed],
      ["renewed meanwhile by another process", report.elsewhere],
    ]);
  }
  if (report.stopped) terminal.stderr.write("Stopped before the end: the next run renews what is left.\n");
  return report.failed > 0 || report.stopped ? 1 : 0;
}
