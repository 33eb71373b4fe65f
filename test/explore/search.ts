import type { Found, Runs } from "./runs.js";
import type { Scenario } from "./scenario.js";
import type { Schedule } from "./schedule.js";
import { keyOf } from "./world/key.js";

/** How far a search goes. Both count, whichever comes first. */
export interface Budget {
  readonly schedules: number;
  /** By `performance.now()`, milliseconds. */
  readonly until: number;
}

export interface Searched {
  readonly schedules: number;
  /** Of these, how many were left because they had come to a known state. */
  readonly known: number;
  readonly states: number;
  /** Whether every schedule within the bounds was tried. */
  readonly isComplete: boolean;
  readonly found: Found | undefined;
}

/**
 * Every schedule within the scenario's bounds, those that leave the straight way least often first. No state is kept
 * but its key: each schedule runs from the beginning, and ends where it comes to a state that was seen before with as
 * much left to do.
 */
export function* searchAll(runs: Runs, scenario: Scenario, budget: Budget): Generator<void, Searched> {
  /** The most preemptions that were left in a state. */
  const seen = new Map<number, number>();
  let waiting: Schedule[] = [[]];
  let next: Schedule[] = [];
  let [schedules, known] = [0, 0];

  while (waiting.length > 0) {
    for (const schedule of waiting) {
      if (schedules >= budget.schedules || performance.now() >= budget.until) return result(false);
      const from = (schedule.at(-1)?.[0] ?? -1) + 1;
      const {
        world,
        isWhole,
        schedule: made,
      } = runs.run(scenario, schedule, (options, here, at = 0) => {
        const { preemptions } = here.left;
        const key = keyOf(here);
        if ((seen.get(key) ?? -1) >= preemptions) return undefined;
        seen.set(key, preemptions);
        if (at >= from)
          for (let other = 1; other < options.length; other += 1) next.push([...schedule, [at, other]]);
        return 0;
      });
      schedules += 1;
      if (!isWhole) known += 1;
      const { violation } = world.judge;
      if (violation) return { ...result(false), found: { scenario, schedule: made, violation } };
      yield;
    }
    waiting = next;
    next = [];
  }
  return result(true);

  function result(isComplete: boolean): Searched {
    return { schedules, known, states: seen.size, isComplete, found: undefined };
  }
}

/** Schedules by chance, without bounds on preemptions. The same seed finds the same. */
export function walk(runs: Runs, scenario: Scenario, seed: number, budget: Budget): Searched {
  const chance = chanceOf(seed);
  let schedules = 0;
  while (schedules < budget.schedules && performance.now() < budget.until) {
    const boldness = 0.05 + 0.4 * chance();
    const { world, schedule } = runs.run(scenario, [], (options) => {
      if (chance() > boldness) return 0;
      const isCalm = chance() > 0.3; // faults are many among the options, and few in a life
      const choices = options.flatMap(({ fault }, index) => (fault !== undefined && isCalm ? [] : index));
      return choices[Math.floor(chance() * choices.length)] ?? 0;
    });
    schedules += 1;
    const { violation } = world.judge;
    if (violation) return { ...nothing, schedules, found: { scenario, schedule, violation } };
  }
  return { ...nothing, schedules };
}

const nothing: Searched = { schedules: 0, known: 0, states: 0, isComplete: false, found: undefined };

/** Mulberry32: numbers from 0 to 1 that a seed determines. */
export function chanceOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
