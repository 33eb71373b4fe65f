// pnpm explore [--seconds N | --schedules N] [--scenario part-of-a-name] [--seed N] [--searched 0.6]
//   [--replay 4:2,11:1]
// With --schedules alone, on all processors: the same command goes on where it was interrupted.
import { parseArgs } from "node:util";
import { coreText } from "./core.js";
import { ownTurn } from "./drain.js";
import { explore } from "./explore.js";
import { longRun, tableOf } from "./long-run.js";
import { report } from "./report.js";
import { type Found, Runs } from "./runs.js";
import { read } from "./schedule.js";
import { shrunk } from "./shrink.js";
import { SCENARIOS, scenarioNamed } from "./stories.js";

const { values } = parseArgs({
  options: {
    seconds: { type: "string" },
    schedules: { type: "string" },
    scenario: { type: "string" },
    seed: { type: "string", default: "1" },
    searched: { type: "string" },
    replay: { type: "string" },
  },
});

const text = await coreText();
const runs = new Runs(text);
let unhandled: unknown;
process.on("unhandledRejection", (reason) => {
  unhandled ??= reason;
});
if (values.replay !== undefined) await replay(values.scenario ?? "", values.replay);
else if (values.seconds === undefined && values.scenario === undefined && values.searched === undefined)
  await exploreOnAllProcessors();
else await exploreAll();
if (unhandled !== undefined) {
  console.error("A promise was rejected and nobody listened:", unhandled);
  process.exitCode = 1;
}

async function replay(name: string, choices: string): Promise<void> {
  const scenario = scenarioNamed(name);
  const trace: string[] = [];
  const { world, schedule } = await ownTurn(() => runs.run(scenario, read(choices), undefined, trace));
  const { violation } = world.judge;
  if (violation) return tell({ scenario, schedule, violation });
  console.log(trace.join("\n"));
  console.log("\nEvery promise was kept.");
}

async function exploreOnAllProcessors(): Promise<void> {
  const run = await longRun(Number(values.schedules ?? 20_000), Number(values.seed), text);
  console.log(`\n${tableOf(run)}\n`);
  if (run.found) await tell(run.found);
  else console.log("Every promise was kept.");
}

async function exploreAll(): Promise<void> {
  const { seconds, schedules = seconds === undefined ? "20000" : "Infinity", scenario } = values;
  const startedAt = performance.now();
  const named = SCENARIOS.filter(({ name }) => name.includes(scenario ?? ""));
  const explored = await explore(runs, {
    schedules: Number(schedules),
    until: startedAt + Number(seconds ?? Number.POSITIVE_INFINITY) * 1000,
    seed: Number(values.seed),
    searched: Number(values.searched ?? 0.6),
    ...(scenario !== undefined && { scenarios: named.length > 0 ? named : [scenarioNamed(scenario)] }),
    told: ({ name }, searched, { preemptions, faults }) => {
      const how = `${preemptions} preemptions, ${faults} faults: ${searched.isComplete ? "all" : "some"}`;
      console.log(`${String(searched.schedules).padStart(8)} schedules  ${name}  (${how})`);
    },
  });
  const took = (performance.now() - startedAt) / 1000;
  const rate = Math.round(explored.schedules / took);
  console.log(
    `${explored.schedules} schedules, ${explored.states} states, ${took.toFixed(0)} s, ${rate} a second`,
  );
  if (explored.found) await tell(explored.found);
  else console.log("Every promise was kept.");
}

async function tell(found: Found): Promise<void> {
  process.exitCode = 1;
  console.log(await ownTurn(() => report(runs, shrunk(runs, found))));
}
