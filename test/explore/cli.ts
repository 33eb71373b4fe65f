// pnpm explore [--seconds N | --schedules N] [--scenario part-of-a-name] [--seed N] [--searched 0.6]
//   [--replay 4:2,11:1]
import { parseArgs } from "node:util";
import { coreText } from "./core.js";
import { ownTurn } from "./drain.js";
import { explore } from "./explore.js";
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
    searched: { type: "string", default: "0.6" },
    replay: { type: "string" },
  },
});

const runs = new Runs(await coreText());
let unhandled: unknown;
process.on("unhandledRejection", (reason) => {
  unhandled ??= reason;
});
if (values.replay !== undefined) await replay(values.scenario ?? "", values.replay);
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

async function exploreAll(): Promise<void> {
  const { seconds, schedules = seconds === undefined ? "20000" : "Infinity", scenario } = values;
  const startedAt = performance.now();
  const named = SCENARIOS.filter(({ name }) => name.includes(scenario ?? ""));
  const explored = await explore(runs, {
    schedules: Number(schedules),
    until: startedAt + Number(seconds ?? Number.POSITIVE_INFINITY) * 1000,
    seed: Number(values.seed),
    searched: Number(values.searched),
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
