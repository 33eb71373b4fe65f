import { nextTurn } from "../platform/timers.js";

/** How the work goes through a fleet. */
export interface ForEachAsk {
  /** How many are worked on at a time, and held in memory. */
  readonly concurrency: number;
  /** Once it is aborted nothing new is started; what is under way ends first, also if something fails. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs the work for each of a list that does not fit into memory, several at a time. The event loop turns before each:
 * with stores that answer at once, as in memory or with SQLite, neither Ctrl-C nor a timeout would be seen.
 *
 * @throws the signal's reason, or what the iteration or the work throws.
 */
export async function forEachOf<T>(
  all: AsyncIterable<T>,
  { concurrency, signal }: ForEachAsk,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const iterator = all[Symbol.asyncIterator]();
  let isOver = false;

  /** One of several that take the next when they are done with theirs. */
  async function worker(): Promise<void> {
    try {
      while (!isOver) {
        await nextTurn();
        signal?.throwIfAborted();
        const { done, value } = await iterator.next();
        if (done) break;
        await work(value);
      }
    } finally {
      isOver = true;
    }
  }

  const ends = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure) throw failure.reason;
}
