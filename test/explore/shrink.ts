import type { Found, Runs } from "./runs.js";
import type { Schedule } from "./schedule.js";

/** The shortest schedule that can be made of one and breaks the same promise: choices are left out while it does. */
export function shrunk(runs: Runs, found: Found): Found {
  let best = found;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const smaller of smallerThan(best.schedule)) {
      const { world, schedule } = runs.run(best.scenario, smaller);
      const { violation } = world.judge;
      if (violation?.promise !== found.violation.promise || schedule.length > smaller.length) continue;
      best = { ...best, schedule, violation };
      isSmaller = true;
      break;
    }
  }
  return best;
}

function* smallerThan(schedule: Schedule): Generator<Schedule> {
  for (let at = schedule.length - 1; at >= 0; at -= 1) yield schedule.toSpliced(at, 1);
  for (const [at, [, chosen]] of schedule.entries())
    if (chosen > 1) yield schedule.with(at, [schedule[at]?.[0] ?? 0, chosen - 1]);
}
