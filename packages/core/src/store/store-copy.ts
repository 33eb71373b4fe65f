import type { TokenSet } from "../vocabulary/token-set.js";

/** A question to the store: a load, a save, a login or a disconnect. */
export interface Question {
  /** Questions are numbered in the order in which they are sent. */
  readonly order: number;
  /** When it was sent, epoch milliseconds. */
  readonly at: number;
  /** How often the copy had changed by then. */
  readonly changes: number;
}

/**
 * What the store said last of one retailer. Questions overlap, and their answers come in any order:
 * - An answer is taken if the copy has not changed since the question was sent, or if it says the same as the copy.
 *   Else it is unknown which of the two is true now, and the store has to be asked again.
 * - An answer is as old as its question.
 */
export class StoreCopy {
  #set: TokenSet | undefined = undefined;
  #at: number = Number.NEGATIVE_INFINITY;
  #asked = 0;
  #answered = 0;
  #changes = 0;

  /** What the store holds; `undefined` if it holds nothing, or if nothing is known. */
  get set(): TokenSet | undefined {
    return this.#set;
  }

  /** The number of the latest question that was answered. */
  get answered(): number {
    return this.#answered;
  }

  /** How long ago the copy was compared with the store, milliseconds. Below 0, if the clock was put back. */
  ageMs(now: number): number {
    return now - this.#at;
  }

  /** Whether the last answer stands: no other has contradicted it, and no login has failed since. */
  get stands(): boolean {
    return this.#at !== Number.NEGATIVE_INFINITY;
  }

  ask(now: number): Question {
    this.#asked += 1;
    return { order: this.#asked, at: now, changes: this.#changes };
  }

  /** Whether the answer is taken. */
  take(answer: TokenSet | undefined, { order, at, changes }: Question): boolean {
    const isSame = answer?.version === this.#set?.version;
    const isTaken = isSame || changes === this.#changes;
    if (!answer || !isSame) this.#changes += 1; // that nothing is stored is news, also if nothing was known
    this.#set = isTaken ? answer : undefined;
    if (!isTaken) this.distrust();
    else if (!isSame || order > this.#answered) this.#at = at;
    this.#answered = Math.max(this.#answered, isTaken ? order : 0);
    return isTaken;
  }

  /** The store could not be asked: the copy stays in use, as if the store had said the same. */
  trust(now: number): void {
    this.#at = now;
  }

  /** Perhaps the store holds something else by now. */
  distrust(): void {
    this.#at = Number.NEGATIVE_INFINITY;
  }
}
