import type { DomainPrefix, TokenSet } from "@retail-pos/core";
import { type Actor, startActor } from "../actions.js";
import { Judge } from "../judge/judge.js";
import { Life, type Place } from "../process.js";
import type { Scenario } from "../scenario.js";
import { Service } from "../service.js";
import { Leases, Locks, Store } from "../shared.js";
import type { Step } from "../step.js";
import { isOnItsWay } from "./step-kinds.js";

/** When every run begins; a whole second, because the wire knows no smaller ones. */
const START = Date.UTC(2030, 0, 1);
/** How long a process that is cut off from the store stays so: longer than the patient tries of a save. */
const CUT_OFF_MS = 8_000;

/** Processes on one store, one lock, one service and one clock; and what can be done to them. */
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
  /** The access tokens of logins that somebody connects, and the store has not taken yet. */
  readonly logins = new Set<string>();
  now = START;
  /** Steps so far. */
  seq = 0;
  /** What happened, if somebody wants to read it. */
  readonly trace: string[] | undefined;
  steps: Step[] = [];
  /** Who ran last. */
  current: Life | undefined;
  isHealed = false;
  /** Until then timers run though nobody waits. */
  restlessUntil = 0;
  actors: readonly Actor[] = [];
  lives: readonly Life[] = [];
  /** What the schedule may still do. */
  left: Readonly<{ preemptions: number; faults: number }>;

  constructor(scenario: Scenario, places: readonly Place[], trace?: string[]) {
    this.scenario = scenario;
    this.places = places;
    this.trace = trace;
    this.skews = places.map((_, place) => scenario.skewsMs[place] ?? 0);
    this.left = { ...scenario.bounds };
    this.lives = places.map((place) => new Life(this, place, 1));
    for (const retailer of scenario.retailers) this.#begin(retailer);
  }

  add(step: Step): void {
    this.steps.push(step);
  }

  startActors(): void {
    this.actors = this.scenario.actors.map((actions) => startActor(this, actions));
  }

  /** Between two turns of an event loop no time passes that anybody could see. */
  get isInATurn(): boolean {
    return this.lives.some(({ turns }) => turns > 0);
  }

  get isAnybodyWaiting(): boolean {
    return this.lives.some(({ calls }) => calls.size > 0) || this.actors.some(({ isWaiting }) => isWaiting);
  }

  kill(life: Life): void {
    this.judge.store.died(life);
    life.die();
    this.steps = this.steps.filter((step) => step.life !== life || isOnItsWay(step));
    this.locks.died(life);
    const next = new Life(this, life.place, life.number + 1);
    this.lives = this.lives.map((one) => (one === life ? next : one));
  }

  /** Everything stands still. Deadlines that end meanwhile may end before the answers that lie there are read. */
  pass(ms: number): void {
    const before = this.now;
    this.now += ms;
    for (const life of this.lives) if (life.hasTimersDue) this.judge.store.stoodStill(life, before);
  }

  pause(life: Life, ms: number): void {
    life.isPaused = true;
    this.pass(ms);
  }

  setClock(life: Life, ms: number): void {
    const { number: place } = life.place;
    this.skews[place] = (this.skews[place] ?? 0) + ms;
    life.setBackMs += Math.max(0, -ms);
  }

  cutOff(life: Life): void {
    life.cutOffUntil = this.now + CUT_OFF_MS;
  }

  /** The retailer's login is in the store. */
  #begin(retailer: string): void {
    const { access, refreshToken } = this.service.logIn(retailer);
    const set: TokenSet = {
      domainPrefix: retailer as DomainPrefix,
      access: { value: access, expiresAt: START + this.scenario.lifetimeMs },
      refreshToken,
      issuedAt: START,
      version: `first-${retailer}`,
    };
    this.store.put(set);
    this.judge.store.begins(set);
  }
}
