import { digestOf } from "./digest.js";
import type { Life } from "./process.js";
import type { Fault, Step } from "./step.js";

/** An operation that was delayed takes effect after its caller gave it up: the longest deadline is ten seconds. */
const DELAY_MS = 11_000;
/** One that is late, on its way there and back, still comes within the thirty seconds that core goes on listening. */
const LATE_MS = 12_000;
/** One that is slow takes nearly as long as core waits for the store: five seconds. */
const SLOW_MS = 4_000;

/** What came back. An operation that was given up may take effect later, and its answer reaches nobody. */
export type Answer<T> = { readonly value: T } | { readonly error: Error } | { readonly givenUp: true };

export interface Task<T> {
  readonly life: Life;
  /** "load shop". */
  readonly what: string;
  /** What could go wrong on its way there, and on the way back. */
  readonly faults: readonly Fault[];
  readonly faultsOfAnswer: readonly Fault[];
  /** It goes to the store: a process that is cut off cannot send it, and hears no answer. */
  readonly isToTheStore?: boolean;
  /** What it does where it arrives. */
  readonly effect: (fault: Fault | undefined) => T;
  /** Asked once it has taken effect: whether its answer is late. */
  readonly isAnsweredLate?: () => boolean;
  /** Whoever asked listens no longer. */
  readonly signal?: AbortSignal | null | undefined;
  /** Tells two answers apart. */
  readonly digest: (answer: T) => string;
  /** The answer, or the failure, has come back. */
  readonly told: (answer: Answer<T>) => void;
}

interface Settle<T> {
  resolve(value: T): void;
  reject(error: Error): void;
}

/** What a process asks of the outside: two steps, its effect and its answer. */
export class Operation<T> implements Step {
  readonly #task: Task<T>;
  readonly #settle: Settle<T>;
  #answer: { value: T } | undefined;
  /** Nobody waits for it any more. */
  #isGivenUp = false;
  delayedUntil?: number;
  name: string;

  constructor(task: Task<T>, settle: Settle<T>) {
    this.#task = task;
    this.name = `${task.what} arrives`;
    this.#settle = settle;
    task.signal?.addEventListener("abort", () => this.#abort());
  }

  get life(): Life {
    return this.#task.life;
  }

  get faults(): readonly Fault[] {
    if (this.delayedUntil !== undefined) return NONE;
    return this.#answer ? this.#task.faultsOfAnswer : this.#task.faults;
  }

  /** Whether it is still on its way to where it takes effect. */
  get isUnderWay(): boolean {
    return this.#answer === undefined;
  }

  happen(fault?: Fault): void {
    const { life, what, isToTheStore = false } = this.#task;
    if (fault === "is slow" || fault === "is late") {
      this.delayedUntil = life.world.now + (fault === "is slow" ? SLOW_MS : LATE_MS);
      life.world.add(this);
    } else if (isToTheStore && life.world.now < life.cutOffUntil && this.delayedUntil === undefined) {
      this.#deliver({ error: new Error(`${what}: no way to the store`) });
    } else if (fault === "is delayed") {
      this.#giveUp();
      this.delayedUntil = life.world.now + DELAY_MS;
      life.world.add(this);
    } else if (fault === "fails" || fault === "fails after its effect") {
      this.#deliver({ error: new Error(`${what} ${fault}`) });
    } else if (this.#answer) {
      if (fault === "is never answered") this.#giveUp();
      else this.#deliver(this.#answer);
    } else {
      delete this.delayedUntil;
      this.#answer = { value: this.#task.effect(fault) };
      this.name = `${what} is answered ${this.#task.digest(this.#answer.value)}`;
      if (this.#task.isAnsweredLate?.()) this.delayedUntil = life.world.now + LATE_MS;
      if (life.isAlive && !this.#isGivenUp) life.world.add(this);
    }
  }

  /** Core will, when its deadline comes: it has no way to tell a slow answer from none. */
  #giveUp(): void {
    this.#isGivenUp = true;
    if (this.life.isAlive) this.#task.told({ givenUp: true });
  }

  /** What is on its way there takes effect; an answer comes to nobody. */
  #abort(): void {
    this.#isGivenUp = true;
    const { steps } = this.life.world;
    const at = this.isUnderWay ? -1 : steps.indexOf(this);
    if (at >= 0) steps.splice(at, 1);
    this.#settle.reject(new Error(`${this.#task.what} was given up`));
  }

  #deliver(answer: { value: T } | { error: Error }): void {
    const { life, what, digest, told } = this.#task;
    if (!life.isAlive || this.#isGivenUp) return;
    life.history.add(digestOf("value" in answer ? `${what} ${digest(answer.value)}` : answer.error.message));
    life.history.add(life.now);
    told(answer);
    if ("value" in answer) this.#settle.resolve(answer.value);
    else this.#settle.reject(answer.error);
  }
}

/** Asks, and promises the answer. */
export function ask<T>(task: Task<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    task.life.world.add(new Operation<T>(task, { resolve, reject }));
  });
}

const NONE: readonly never[] = [];
