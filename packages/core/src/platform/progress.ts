import { unref } from "./timers.js";

/** How a wait ends for work that has come to a standstill. */
export const STUCK: unique symbol = Symbol("stuck");

/** A step that takes longer than it may is looked at once more, after so long. */
const LOOK_AGAIN_MS = 1000;

/**
 * How far work has come that others wait for. Some runtimes (Cloudflare Workers) end a request's work together with its
 * answer: its promises never settle, and its timers never run. Those who wait see by a timer of their own that a step
 * takes longer than it may, and go on without it (behaviour 10). Newer runtimes reject their wait at once.
 */
export class Progress {
  #step = 0;
  #endsAt = 0;

  /** @param mayTakeMs how long the first step may take. */
  constructor(mayTakeMs: number) {
    this.next(mayTakeMs);
  }

  /** The work begins its next step, which takes at most so long while the work is alive. */
  next(mayTakeMs: number): void {
    this.#step += 1;
    this.#endsAt = performance.now() + mayTakeMs;
  }

  get isOverdue(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /**
   * Settles as the work does, or with {@link STUCK}. Keeps no process alive.
   *
   * After this thread stood still, work that is alive may be overdue as well. So a step counts as stuck only if it is
   * still the same a second later.
   *
   * @param isOwn whether the work itself failed with this error. If not, the runtime has ended the work.
   */
  wait<T>(work: Promise<T>, isOwn: (error: unknown) => boolean = always): Promise<T | typeof STUCK> {
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout>;
      const look = (overdue?: number) => {
        const leftMs = this.#endsAt - performance.now();
        if (leftMs > 0) timer = unref(setTimeout(look, leftMs));
        else if (overdue === this.#step) resolve(STUCK);
        else timer = unref(setTimeout(look, LOOK_AGAIN_MS, this.#step));
      };
      look();
      const over = () => clearTimeout(timer);
      work.then(over, over);
      work.then(resolve, (error) => (isOwn(error) ? reject(error) : resolve(STUCK)));
    });
  }
}

const always = () => true;

/** Work that several callers wait for, each perhaps in a request of its own. */
export class SharedWork<T> {
  readonly progress: Progress;
  readonly result: Promise<T>;
  /** Noted in the request that does the work. A runtime that ends this request rejects the waits of the others. */
  #failure: { readonly error: unknown } | undefined;

  constructor(progress: Progress, result: Promise<T>) {
    this.progress = progress;
    this.result = result;
    result.catch((error: unknown) => {
      this.#failure = { error };
    });
  }

  /** Settles as the work does, or with {@link STUCK}, also if the runtime has ended the work. */
  wait(): Promise<T | typeof STUCK> {
    return this.progress.wait(this.result, (error) => this.#failure?.error === error);
  }
}
