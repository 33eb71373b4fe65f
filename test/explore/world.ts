import type { DomainPrefix, TokenSet } from "@retail-pos/core";
import { type Action, type Actor, startActor } from "./actions.js";
import { Digest, digestOf } from "./digest.js";
import { drain } from "./drain.js";
import { Judge } from "./judge.js";
import { type Call, Life, type Place } from "./process.js";
import type { Scenario, WorldFault } from "./scenario.js";
import { DAY_MS, Service } from "./service.js";
import { Leases, Locks, Store } from "./shared.js";
import type { Fault, Step } from "./step.js";

/** When every run begins; a whole second, because the wire knows no smaller ones. */
const START = Date.UTC(2030, 0, 1);
/** Past so many steps without an end, something goes round in circles. */
const MOST_STEPS = 4_000;
const HOUR_MS = 3_600_000;
/** After this long nothing is under way any more: the deadline of a token request and the tries of a save are over. */
const LONGEST_DEADLINES_MS = 30_000;

/** One of the things that could happen next. */
export interface Option {
  /** What happens, for whoever reads the schedule. */
  readonly step: Pick<Step, "life" | "name">;
  /** Another step was due, and its process could have gone on. */
  readonly preempts: boolean;
  readonly fault?: Fault | WorldFault;
  readonly happen: () => void;
}

/** Says which of several options happens; `undefined` ends the run. */
export type Chooser = (options: readonly Option[], world: World, at?: number) => number | undefined;

/** Processes on one store, one lock, one service and one clock, and everything that can happen between them. */
export class World {
  readonly scenario: Scenario;
  readonly places: readonly Place[];
  readonly judge: Judge = new Judge(this);
  readonly store: Store = new Store(this);
  readonly locks: Locks = new Locks(this);
  readonly leases: Leases = new Leases(this);
  readonly service: Service = new Service(this);
  /** How far the clock of each process's machine is off. */
  readonly skews: number[];
  /** The access tokens of logins that somebody connects. */
  readonly logins = new Set<string>();
  now = START;
  /** Steps so far. */
  seq = 0;
  /** Faults so far; and of these, clocks that were set. */
  troubles = 0;
  jumps = 0;
  /** What happened, if somebody wants to read it. */
  readonly trace: string[] | undefined;
  #steps: Step[] = [];
  #current: Life | undefined;
  #isHealed = false;
  /** Until then timers run though nobody waits. */
  #restlessUntil = 0;
  #actors: readonly Actor[] = [];
  #lives: readonly Life[] = [];
  #left: { preemptions: number; faults: number };

  constructor(scenario: Scenario, places: readonly Place[], trace?: string[]) {
    this.scenario = scenario;
    this.places = places;
    this.trace = trace;
    this.skews = places.map((_, place) => scenario.skewsMs[place] ?? 0);
    this.#left = { ...scenario.bounds };
    this.#lives = places.map((place) => new Life(this, place, 1));
    this.#begin();
    this.#actors = scenario.actors.map((actions) => startActor(this, actions));
  }

  get lives(): readonly Life[] {
    return this.#lives;
  }

  get left(): Readonly<{ preemptions: number; faults: number }> {
    return this.#left;
  }

  add(step: Step): void {
    this.#steps.push(step);
  }

  /** Two runs with the same key have the same future. */
  get key(): number {
    const digest = new Digest();
    for (const life of this.lives) {
      digest.add(life.history.key);
      digest.add(life.number * 2 + (life.isPaused ? 1 : 0));
    }
    let sum = 0;
    for (const step of this.#steps) {
      const { life, name, delayedUntil = 0 } = step;
      sum += (digestOf(name) % 1e9) * ((life?.place.number ?? 7) + 1) + (delayedUntil % 1e9);
    }
    for (const part of [sum, this.store.digest, this.locks.digest, this.leases.digest]) digest.add(part);
    for (const part of [this.service.digest, this.judge.digest, this.now, ...this.skews]) digest.add(part);
    for (const { position } of this.#actors) digest.add(position);
    digest.add(this.#current?.place.number ?? 9);
    digest.add(this.#left.faults);
    return digest.key;
  }

  /** Runs to the end, until a promise is broken, or until the chooser has enough. Says whether it came to its end. */
  run(choose: Chooser): boolean {
    for (;;) {
      this.#settle();
      if (this.judge.violation) return true;
      const options = this.#options();
      const [only] = options;
      if (!only) break;
      const chosen = options.length === 1 ? 0 : choose(options, this);
      if (chosen === undefined) return false;
      this.#happen(options[chosen] ?? only);
    }
    this.#everybodySettled();
    if (!this.judge.violation) this.#heal();
    return true;
  }

  kill(life: Life): void {
    this.judge.died(life);
    life.die();
    this.#steps = this.#steps.filter((step) => step.life !== life || isOnItsWay(step));
    this.locks.died(life);
    const next = new Life(this, life.place, life.number + 1);
    this.#lives = this.#lives.map((one) => (one === life ? next : one));
  }

  /** Everything stands still. Deadlines that end meanwhile may end before the answers that lie there are read. */
  pass(ms: number): void {
    this.now += ms;
    for (const life of this.#lives) {
      if (![...life.timers].some(({ due }) => due <= this.now)) continue;
      this.troubles += 1;
      this.judge.stoodStill(life);
    }
  }

  /** The retailer's login is in the store; perhaps every process has a copy of it; and time has passed since. */
  #begin(): void {
    const { retailers, age, isWarm } = this.scenario;
    for (const retailer of retailers) {
      const { access, refreshToken } = this.service.logIn(retailer);
      const set: TokenSet = {
        domainPrefix: retailer as DomainPrefix,
        access: { value: access, expiresAt: START + DAY_MS },
        refreshToken,
        issuedAt: START,
        version: `first-${retailer}`,
      };
      this.store.put(set);
      this.judge.begins(set);
    }
    this.now += age.beforeMs;
    if (isWarm) {
      for (const life of this.lives) for (const retailer of retailers) life.token(retailer);
      this.#straightOn();
    }
    this.now += age.afterMs;
  }

  #settle(): void {
    drain();
    this.judge.instant();
  }

  #happen(option: Option): void {
    if (option.preempts) this.#left = { ...this.#left, preemptions: this.#left.preemptions - 1 };
    if (option.fault !== undefined) {
      this.#left = { ...this.#left, faults: this.#left.faults - 1 };
      this.troubles += 1;
      this.judge.disrupted();
    }
    this.trace?.push(nameOf(option));
    this.seq += 1;
    if (this.seq > MOST_STEPS) this.judge.must(false, "settles", () => "this goes round in circles");
    option.happen();
  }

  /** Always the first option, and no faults. */
  #straightOn(): void {
    for (;;) {
      this.#settle();
      if (this.judge.violation) return;
      const [first] = this.#options();
      if (!first) return;
      this.#happen(first);
    }
  }

  #options(): Option[] {
    const enabled = this.#enabled();
    const [first] = enabled;
    if (!first) return [];
    const goesOn = first.life !== undefined && first.life === this.#current && !isAct(first);
    const options: Option[] = [];
    const seen = new Set<Life | Step>();
    for (const step of enabled) {
      const whose = isAct(step) ? step : (step.life ?? step);
      const preempts = step !== first && (goesOn || seen.has(whose));
      seen.add(whose);
      if (preempts && this.#left.preemptions === 0) continue;
      options.push({ step, preempts, happen: () => this.#do(step) });
      if (this.#isHealed) return options;
    }
    if (this.#left.faults > 0) this.#addFaults(options, first);
    return options;
  }

  #addFaults(options: Option[], first: Step): void {
    const { faults } = this.scenario;
    for (const fault of first.faults) {
      if (!faults.has(fault)) continue;
      options.push({ step: first, fault, preempts: false, happen: () => this.#do(first, fault) });
    }
    this.#addWorldFaults(options, first);
  }

  #do(step: Step, fault?: Fault): void {
    const at = this.#steps.indexOf(step);
    if (at >= 0) this.#steps.splice(at, 1);
    if (!isAct(step) && step.life) this.#current = step.life;
    step.happen(fault);
  }

  /** What can happen now, the likeliest first: who ran last goes on. Time passes only if nothing else can happen. */
  #enabled(): Step[] {
    for (;;) {
      const acts = this.#actors.flatMap((actor) => actor.next ?? []);
      const ready = this.#steps.filter(({ delayedUntil = 0 }) => delayedUntil <= this.now);
      for (const life of this.lives) ready.push(...timersOf(life));
      const running = ready.filter(({ life }) => life !== undefined && !life.isPaused);
      const steps = [
        ...running.filter(({ life }) => life === this.#current),
        ...running.filter(({ life }) => life !== this.#current),
        ...acts.filter(({ life, movesTime }) => !life?.isPaused && !(movesTime && this.#isInATurn)),
      ];
      if (steps.length > 0) return steps;
      if (this.lives.some(({ isPaused }) => isPaused)) {
        for (const life of this.lives) life.isPaused = false;
        continue;
      }
      if (!this.#isAnybodyWaiting() && this.now >= this.#restlessUntil) return [];
      if (!this.#timePasses()) return [];
    }
  }

  /** Between two turns of an event loop no time passes that anybody could see. */
  get #isInATurn(): boolean {
    return this.lives.some(({ turns }) => turns > 0);
  }

  #isAnybodyWaiting(): boolean {
    return this.lives.some(({ calls }) => calls.size > 0) || this.#actors.some(({ isWaiting }) => isWaiting);
  }

  /** To the next timer, or to what was delayed. */
  #timePasses(): boolean {
    const isIdle = !this.#isAnybodyWaiting();
    let next = Number.POSITIVE_INFINITY;
    for (const { delayedUntil } of this.#steps)
      if (delayedUntil !== undefined) next = Math.min(next, delayedUntil);
    for (const { timers } of this.lives) for (const { due } of timers) next = Math.min(next, due);
    if (next === Number.POSITIVE_INFINITY || (isIdle && next > this.#restlessUntil)) return false;
    this.now = Math.max(this.now, next);
    return true;
  }

  /** Those that meet the process whose turn it is: the others are met when it is theirs. */
  #addWorldFaults(options: Option[], { life }: Step): void {
    const { faults } = this.scenario;
    const add = (fault: WorldFault, whose: Life, name: string, happen: () => void) => {
      if (faults.has(fault)) options.push({ step: { life: whose, name }, fault, preempts: false, happen });
    };
    for (const [key, owner] of this.locks.owned)
      add("lease", owner, `loses the lock ${key}`, () => this.locks.lose(key));
    if (!life?.isAlive) return;
    add("kill", life, "is killed and starts again", () => this.kill(life));
    if (this.#isInATurn) return;
    add("clock", life, "its clock is set back by an hour", () => this.#setClock(life, -HOUR_MS));
    add("clock", life, "its clock is set ahead by an hour", () => this.#setClock(life, HOUR_MS));
    add("pause", life, "stands still for a minute", () => this.#pause(life, 60_000));
    add("pause", life, "stands still for a day", () => this.#pause(life, DAY_MS));
  }

  #setClock({ place: { number: place } }: Life, ms: number): void {
    this.skews[place] = (this.skews[place] ?? 0) + ms;
    this.jumps += 1;
  }

  #pause(life: Life, ms: number): void {
    life.isPaused = true;
    this.pass(ms);
  }

  #everybodySettled(): void {
    for (const life of this.lives)
      for (const { retailer } of life.calls)
        this.judge.must(false, "settles", () => `${life.name} waits for a token of ${retailer} for ever`);
    for (const { isWaiting, name } of this.#actors)
      this.judge.must(!isWaiting, "settles", () => `${name} never ends`);
  }

  /** No more faults; what was delayed arrives; clocks are right; and when limits and marks are over, everybody asks. */
  #heal(): void {
    this.#isHealed = true;
    this.skews.fill(0);
    this.#restlessUntil = this.now + LONGEST_DEADLINES_MS;
    this.#straightOn();
    this.now += DAY_MS + 2 * HOUR_MS;
    this.trace?.push("everything is well again, and a day passes");
    const calls: Call[] = [];
    for (const life of this.lives) {
      for (const retailer of this.scenario.retailers) calls.push(life.token(retailer));
      this.#straightOn();
    }
    this.#everybodySettled();
    for (const call of calls) this.judge.works(call);
    this.judge.atTheEnd();
  }
}

function isAct(step: Step): step is Step & { readonly action: Action } {
  return "action" in step;
}

function isOnItsWay(step: Step): boolean {
  return "isUnderWay" in step && step.isUnderWay === true;
}

function timersOf(life: Life): Step[] {
  const due: Step[] = [];
  for (const timer of life.timers) {
    if (timer.due > life.world.now) continue;
    due.push({ life, name: "a timer ends", faults: [], happen: () => life.fire(timer) });
  }
  return due;
}

function nameOf({ step: { life, name }, fault }: Option): string {
  const what = fault === undefined || WORLD_FAULTS.has(fault) ? name : `${name}: ${fault}`;
  return life ? `${life.name}: ${what}` : what;
}

const WORLD_FAULTS: ReadonlySet<string> = new Set<WorldFault>(["kill", "clock", "pause", "lease"]);
