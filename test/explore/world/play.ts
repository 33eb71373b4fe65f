import { drain } from "../drain.js";
import type { Call } from "../process.js";
import { DAY_MS } from "../service.js";
import { nameOf, type Option, optionsOf } from "./options.js";
import type { World } from "./world.js";

/** Past so many steps without an end, something goes round in circles. */
const MOST_STEPS = 4_000;
const HOUR_MS = 3_600_000;
/** After this long nothing is under way any more: the deadline of a token request and the tries of a save are over. */
const LONGEST_DEADLINES_MS = 30_000;

/** Says which of several options happens; `undefined` ends the run. */
export type Chooser = (options: readonly Option[], world: World, at?: number) => number | undefined;

/** Runs to the end, until a promise is broken, or until the chooser has enough. Says whether it came to its end. */
export function play(world: World, choose: Chooser): boolean {
  begin(world);
  for (;;) {
    settle(world);
    if (world.judge.violation) return true;
    const options = optionsOf(world);
    const [only] = options;
    if (!only) break;
    const chosen = options.length === 1 ? 0 : choose(options, world);
    if (chosen === undefined) return false;
    happen(world, options[chosen] ?? only);
  }
  everybodySettled(world);
  if (!world.judge.violation) heal(world);
  return true;
}

/** Perhaps every process has a copy of the login; and time has passed since. */
function begin(world: World): void {
  const { retailers, age, isWarm } = world.scenario;
  const { left } = world;
  world.now += age.beforeMs;
  if (isWarm) {
    for (const life of world.lives) for (const retailer of retailers) life.token(retailer);
    straightOn(world);
  }
  world.left = left;
  world.now += age.afterMs;
  world.startActors();
}

function settle(world: World): void {
  drain();
  world.judge.instant();
}

function happen(world: World, option: Option): void {
  const { preemptions, faults } = world.left;
  world.left = {
    preemptions: preemptions - (option.preempts ? 1 : 0),
    faults: faults - (option.fault === undefined ? 0 : 1),
  };
  world.trace?.push(nameOf(option));
  world.seq += 1;
  if (world.seq > MOST_STEPS) world.judge.must(false, "settles", () => "this goes round in circles");
  option.happen();
}

/** Always the first option, and no faults. */
function straightOn(world: World): void {
  for (;;) {
    settle(world);
    if (world.judge.violation) return;
    const [first] = optionsOf(world);
    if (!first) return;
    happen(world, first);
  }
}

function everybodySettled(world: World): void {
  const { judge } = world;
  for (const life of world.lives)
    for (const { retailer } of life.calls)
      judge.must(false, "settles", () => `${life.name} waits for a token of ${retailer} for ever`);
  for (const { isWaiting, name } of world.actors)
    judge.must(!isWaiting, "settles", () => `${name} never ends`);
}

/** No more faults; what was delayed arrives; clocks are right; and when limits and marks are over, everybody asks. */
function heal(world: World): void {
  world.isHealed = true;
  for (const life of world.lives) world.setClock(life, -(world.skews[life.place.number] ?? 0));
  world.restlessUntil = world.now + LONGEST_DEADLINES_MS;
  straightOn(world);
  world.now += DAY_MS + 2 * HOUR_MS;
  world.trace?.push("everything is well again, and a day passes");
  const calls: Call[] = [];
  for (const life of world.lives) {
    for (const retailer of world.scenario.retailers) calls.push(life.token(retailer));
    straightOn(world);
  }
  everybodySettled(world);
  for (const call of calls) world.judge.works(call);
  world.judge.atTheEnd();
}
