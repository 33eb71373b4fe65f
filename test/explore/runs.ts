import { type Core, coreLoader, type Surroundings } from "./core.js";
import { Place } from "./process.js";
import type { Violation } from "./promises.js";
import type { Scenario } from "./scenario.js";
import type { Schedule } from "./schedule.js";
import { type Chooser, play } from "./world/play.js";
import { World } from "./world/world.js";

/** A violation, and how to see it again. */
export interface Found {
  readonly scenario: Scenario;
  readonly schedule: Schedule;
  readonly violation: Violation;
}

export interface Ran {
  readonly world: World;
  readonly schedule: Schedule;
  /** Whether the run came to its end; else the chooser had enough. */
  readonly isWhole: boolean;
}

/** Runs schedules of one core: one after the other in the same places. */
export class Runs {
  readonly #load: (around: Surroundings) => typeof Core;
  readonly #places: Place[] = [];

  constructor(coreText: string) {
    this.#load = coreLoader(coreText);
  }

  /** One run by these choices; who chooses is asked from there on, by default for the straight way. */
  run(scenario: Scenario, schedule: Schedule, beyond: Chooser = straightOn, trace?: string[]): Ran {
    const world = new World(scenario, this.#placesFor(scenario.processes), trace);
    const made: [number, number][] = [];
    let [at, next] = [0, 0];
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0; // core makes an error for every fault, and nobody reads where
    const isWhole = play(world, (options) => {
      const here = at;
      at += 1;
      const planned = schedule[next];
      let chosen: number | undefined = 0;
      if (planned?.[0] === here) {
        next += 1;
        chosen = Math.min(planned[1], options.length - 1);
      } else if (next >= schedule.length) chosen = beyond(options, world, here);
      if (chosen !== undefined && chosen > 0) made.push([here, chosen]);
      return chosen;
    });
    Error.stackTraceLimit = stackTraceLimit;
    return { world, schedule: made, isWhole };
  }

  #placesFor(processes: number): Place[] {
    while (this.#places.length < processes) this.#places.push(new Place(this.#places.length, this.#load));
    return this.#places.slice(0, processes);
  }
}

const straightOn = () => 0;
