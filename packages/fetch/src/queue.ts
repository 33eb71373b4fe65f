/** A call that waits for its host. */
export interface Waiting {
  /** Calls of one host are numbered as they come; one that is sent again keeps its number. */
  readonly number: number;
  /** How long it may still wait for the host's turn, in milliseconds. */
  waitLeftMs: number;
  start(): void;
  fail(reason: unknown): void;
  line?: Line | undefined;
  before?: Waiting | undefined;
  after?: Waiting | undefined;
}

/** Calls in the order of their numbers. An aborted one leaves from the middle as cheaply as from the front. */
export class Line {
  size = 0;
  first: Waiting | undefined;
  #last: Waiting | undefined;

  /** Adds calls that are in their order. From the back, where a new call belongs; one walk for all of them. */
  add(...sorted: readonly Waiting[]): void {
    let before = this.#last;
    for (let index = sorted.length - 1; index >= 0; index -= 1) {
      const waiting = sorted[index] as Waiting;
      while (before && before.number > waiting.number) before = before.before;
      this.#insert(waiting, before);
    }
  }

  #insert(waiting: Waiting, before: Waiting | undefined): void {
    const after = before ? before.after : this.first;
    Object.assign(waiting, { line: this, before, after });
    if (before) before.after = waiting;
    else this.first = waiting;
    if (after) after.before = waiting;
    else this.#last = waiting;
    this.size += 1;
  }

  remove(waiting: Waiting): void {
    const { before, after } = waiting;
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.#last = before;
    Object.assign(waiting, { line: undefined, before: undefined, after: undefined });
    this.size -= 1;
  }

  *[Symbol.iterator](): Generator<Waiting> {
    let waiting = this.first;
    while (waiting) {
      const { after } = waiting; // before anybody takes it out
      yield waiting;
      waiting = after;
    }
  }
}
