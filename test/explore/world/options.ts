import type { Life } from "../process.js";
import type { WorldFault } from "../scenario.js";
import { DAY_MS } from "../service.js";
import type { Fault, Step } from "../step.js";
import { isAct } from "./step-kinds.js";
import type { World } from "./world.js";

const HOUR_MS = 3_600_000;

/** One of the things that could happen next. */
export interface Option {
  /** What happens, for whoever reads the schedule. */
  readonly step: Pick<Step, "life" | "name">;
  /** Another step was due, and its process could have gone on. */
  readonly preempts: boolean;
  readonly fault?: Fault | WorldFault;
  readonly happen: () => void;
}

/** Everything that could happen next, within what the schedule may still do. The first is the straight way. */
export function optionsOf(world: World): Option[] {
  const enabled = enabledIn(world);
  const [first] = enabled;
  if (!first) return [];
  const goesOn = first.life !== undefined && first.life === world.current && !isAct(first);
  const options: Option[] = [];
  const seen = new Set<Life | Step>();
  for (const step of enabled) {
    const whose = isAct(step) ? step : (step.life ?? step);
    const preempts = step !== first && (goesOn || seen.has(whose));
    seen.add(whose);
    if (preempts && world.left.preemptions === 0) continue;
    options.push({ step, preempts, happen: () => take(world, step) });
    if (world.isHealed) return options;
  }
  if (world.left.faults > 0) {
    addFaults(world, options, first);
    addWorldFaults(world, options, first);
  }
  return options;
}

export function nameOf({ step: { life, name }, fault }: Option): string {
  const what = fault === undefined || WORLD_FAULTS.has(fault) ? name : `${name}: ${fault}`;
  return life ? `${life.name}: ${what}` : what;
}

function take(world: World, step: Step, fault?: Fault): void {
  const at = world.steps.indexOf(step);
  if (at >= 0) world.steps.splice(at, 1);
  if (!isAct(step) && step.life) world.current = step.life;
  step.happen(fault);
}

/** What can happen now, the likeliest first: who ran last goes on. Time passes only if nothing else can happen. */
function enabledIn(world: World): Step[] {
  for (;;) {
    const ready = world.steps.filter(({ delayedUntil = 0 }) => delayedUntil <= world.now);
    for (const life of world.lives) addTimers(life, ready);
    const running = ready.filter(({ life }) => life !== undefined && !life.isPaused);
    const steps = [
      ...running.filter(({ life }) => life === world.current),
      ...running.filter(({ life }) => life !== world.current),
    ];
    for (const { next } of world.actors)
      if (next && !next.life?.isPaused && !(next.movesTime && world.isInATurn)) steps.push(next);
    if (steps.length > 0) return steps;
    if (world.lives.some(({ isPaused }) => isPaused)) {
      for (const life of world.lives) life.isPaused = false;
      continue;
    }
    if (!world.isAnybodyWaiting && world.now >= world.restlessUntil) return [];
    if (!timePasses(world)) return [];
  }
}

/** To the next timer, or to what was delayed. */
function timePasses(world: World): boolean {
  let next = Number.POSITIVE_INFINITY;
  for (const { delayedUntil } of world.steps)
    if (delayedUntil !== undefined) next = Math.min(next, delayedUntil);
  for (const { timers } of world.lives) for (const { due } of timers) next = Math.min(next, due);
  const isIdle = !world.isAnybodyWaiting;
  if (next === Number.POSITIVE_INFINITY || (isIdle && next > world.restlessUntil)) return false;
  world.now = Math.max(world.now, next);
  return true;
}

function addTimers(life: Life, ready: Step[]): void {
  for (const timer of life.timers) {
    if (timer.due > life.world.now) continue;
    ready.push({ life, name: "a timer ends", faults: [], happen: () => life.fire(timer) });
  }
}

function addFaults(world: World, options: Option[], first: Step): void {
  for (const fault of first.faults) {
    if (!world.scenario.faults.has(fault)) continue;
    options.push({ step: first, fault, preempts: false, happen: () => take(world, first, fault) });
  }
}

/** Those that meet the process whose turn it is: the others are met when it is theirs. */
function addWorldFaults(world: World, options: Option[], { life }: Step): void {
  const { faults } = world.scenario;
  const add = (fault: WorldFault, whose: Life, name: string, happen: () => void) => {
    if (faults.has(fault)) options.push({ step: { life: whose, name }, fault, preempts: false, happen });
  };
  for (const [key, owner] of world.locks.owned)
    add("lease", owner, `loses the lock ${key}`, () => world.locks.lose(key));
  if (!life?.isAlive) return;
  add("kill", life, "is killed and starts again", () => world.kill(life));
  add("cut off", life, "cannot reach the store for eight seconds", () => world.cutOff(life));
  if (world.isInATurn) return;
  add("clock", life, "its clock is set back by an hour", () => world.setClock(life, -HOUR_MS));
  add("clock", life, "its clock is set ahead by an hour", () => world.setClock(life, HOUR_MS));
  add("pause", life, "stands still for a minute", () => world.pause(life, 60_000));
  add("pause", life, "stands still for a day", () => world.pause(life, DAY_MS));
}

const WORLD_FAULTS: ReadonlySet<string> = new Set<WorldFault>(["kill", "cut off", "clock", "pause", "lease"]);
