import { PROMISES } from "./promises.js";
import type { Found, Runs } from "./runs.js";
import { written } from "./schedule.js";

/** What happened, step by step, which promise was broken, and how to see it again. */
export function report(runs: Runs, { scenario, schedule, violation }: Found): string {
  const trace: string[] = [];
  runs.run(scenario, schedule, undefined, trace);
  return [
    ...trace.map((line, at) => `${String(at + 1).padStart(4)}  ${line}`),
    "",
    `Broken: ${PROMISES[violation.promise]}`,
    `        ${violation.what}`,
    "",
    `Again:  pnpm explore --scenario "${scenario.name}" --replay ${written(schedule)}`,
  ].join("\n");
}
