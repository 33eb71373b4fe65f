import { type Explored, explore } from "./explore.js";
import type { Found, Runs } from "./runs.js";
import { SCENARIOS, scenarioNamed } from "./stories.js";

/** A part of a long run, which one process does in some seconds. */
export interface Job {
  /** "two retailers; plain lock, cache", or "walks 17". The same name in the same run means the same schedules. */
  readonly name: string;
  readonly schedules: number;
  /** Of walks. */
  readonly seed?: number;
}

/** What came of it; a schedule that broke a promise is told by the name of its scenario. */
export interface Done extends Pick<Explored, "schedules" | "states"> {
  readonly name: string;
  readonly found?: Omit<Found, "scenario"> & { readonly scenario: string };
}

const SEARCHED = 0.6;
const WALKS_OF_A_JOB = 1_000;

/** Every scenario is searched through; then stories that are made up are walked through. */
export function jobsOf(schedules: number, seed: number): readonly Job[] {
  const ofEach = Math.floor((schedules * SEARCHED) / SCENARIOS.length);
  const jobs: Job[] = SCENARIOS.map(({ name }) => ({ name, schedules: ofEach }));
  for (let left = schedules - ofEach * SCENARIOS.length, nth = 1; left > 0; nth += 1) {
    const walks = Math.min(left, WALKS_OF_A_JOB);
    jobs.push({ name: `walks ${nth}`, schedules: walks, seed: seed * 1_000_003 + nth });
    left -= walks;
  }
  return jobs;
}

export async function doJob(runs: Runs, { name, schedules, seed }: Job): Promise<Done> {
  const explored = await explore(runs, {
    schedules,
    until: Number.POSITIVE_INFINITY,
    ...(seed === undefined ? { searched: 1, scenarios: [scenarioNamed(name)] } : { searched: 0, seed }),
  });
  const { found } = explored;
  return {
    name,
    schedules: explored.schedules,
    states: explored.states,
    ...(found && { found: { ...found, scenario: found.scenario.name } }),
  };
}
