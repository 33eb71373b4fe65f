import { unref } from "./timers.js";

/** How a wait ends for work that has come to a standstill. */
export const ABANDONED: unique symbol = Symbol("abandoned");

/** After a step has taken longer than it may, the wait goes on for so long before it gives the work up. */
const CHECK_AGAIN_MS = 1000;

/**
 * Tells those who wait for work that the work is alive. Some runtimes (Cloudflare Workers) end a request's work
 * together with its answer: its promises never settle, and its timers never run. Those who wait see by a timer of their
 * own that a step takes longer than it may, and go on without it (behaviour 10). Newer runtimes reject such a wait at
 * once.
 */
export class Heartbeat {
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
   * Settles as the work does, or with {@link ABANDONED}. Keeps no process alive.
   *
   * After this thread stood still, work that is alive may be overdue as well. So work counts as abandoned only if its
   * step is still the same a second later.
   *
   * @param isOwn whether the work itself failed with this error. If not, the runtime has ended the work.
   */
  wait<T>(work: Promise<T>, isOwn: (error: unknown) => boolean = always): Promise<T | typeof ABANDONED> {
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout>;
      const check = (overdue?: number) => {
        const leftMs = this.#endsAt - performance.now();
        if (leftMs > 0) timer = unref(setTimeout(check, leftMs));
        else if (overdue === this.#step) resolve(ABANDONED);
        else timer = unref(setTimeout(check, CHECK_AGAIN_MS, this.#step));
      };
      check();
      const over = () => clearTimeout(timer);
      work.then(over, over);
      work.then(resolve, (error) => (isOwn(error) ? reject(error) : resolve(ABANDONED)));
    });
  }
}

const always = () => true;

/** Work that is under way, and how it failed: a runtime that ends its request rejects the waits of others. */
interface Work<T> {
  readonly heartbeat: Heartbeat;
  readonly result: Promise<T>;
  failure?: { readonly error: unknown };
}

/** Work that is done once for all who ask for it at the same time, each perhaps in a request of its own. */
export class Once<T> {
  #work: Work<T> | undefined = undefined;

  /** Whether the work is under way, or was abandoned and has not been begun anew. */
  get isUnderWay(): boolean {
    return this.#work !== undefined;
  }

  get isOverdue(): boolean {
    return this.#work?.heartbeat.isOverdue ?? false;
  }

  /**
   * Joins the work that is under way, or begins it at once. Abandoned work is begun anew.
   *
   * @param mayTakeMs how long the work may take until it is at its next step.
   */
  join(mayTakeMs: number, begin: (heartbeat: Heartbeat) => Promise<T>): Promise<T> {
    return this.#work ? this.#joined(this.#work, mayTakeMs, begin) : this.#begun(mayTakeMs, begin);
  }

  /** Waits for the work that is under way now. A {@link join} after that joins only work that began since. */
  async ended(): Promise<void> {
    if (this.#work) await this.#end(this.#work).catch(() => {});
  }

  async #joined(work: Work<T>, mayTakeMs: number, begin: (heartbeat: Heartbeat) => Promise<T>): Promise<T> {
    const end = await this.#end(work);
    return end === ABANDONED ? this.join(mayTakeMs, begin) : end;
  }

  async #end(work: Work<T>): Promise<T | typeof ABANDONED> {
    const end = await work.heartbeat.wait(work.result, (error) => work.failure?.error === error);
    if (end === ABANDONED) this.#over(work);
    return end;
  }

  #begun(mayTakeMs: number, begin: (heartbeat: Heartbeat) => Promise<T>): Promise<T> {
    const heartbeat = new Heartbeat(mayTakeMs);
    const result = begin(heartbeat);
    const work: Work<T> = { heartbeat, result };
    this.#work = work;
    const failed = (error: unknown) => {
      work.failure = { error };
      this.#over(work);
    };
    result.then(() => this.#over(work), failed);
    return result;
  }

  #over(work: Work<T>): void {
    if (this.#work === work) this.#work = undefined;
  }
}
