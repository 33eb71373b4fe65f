type Timer = ReturnType<typeof setTimeout>;

/** Lets the process end before the timer. In a browser a timer is a number, and there is no process to end. */
export function unref(timer: Timer): Timer {
  timer.unref?.();
  return timer;
}

/**
 * Runs the work after everything that is ready now, and in the order of the calls. The platform's own function as it
 * was when this module was loaded: code that waits for no time goes on, although a test has replaced the timers
 * (behaviour 13).
 */
export function soon(work: () => void): void {
  try {
    (immediate ?? later)(work);
  } catch {
    later(work); // Next's Edge Runtime has a `setImmediate` that throws
  }
}

/** The event loop's next turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => soon(resolve));

const immediate = typeof setImmediate === "function" ? setImmediate : undefined;
const timeout = setTimeout;

function later(work: () => void): void {
  timeout(work, 0);
}

/** Keeps the process alive meanwhile: a caller waits for a lock, or a rotated token still has to be saved. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The last part of a deadline has its own timer. Before that runs, answers that have arrived are read. */
const LAST_MS = 100;

/**
 * Settles as the work does, or rejects if that takes longer than `ms`; the work itself goes on. It does not keep the
 * process alive.
 *
 * After a thread was blocked (a suspended machine, heavy computing), Node runs its timers first and reads its sockets
 * then. Two timers in a row make sure that an answer that has already arrived is read before the deadline counts.
 */
export function within<T>(ms: number, work: Promise<T> | T, tooLate: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const lastMs = Math.min(LAST_MS, ms / 2);
    const last = () => {
      timer = unref(setTimeout(() => reject(tooLate()), lastMs));
    };
    let timer = unref(setTimeout(last, ms - lastMs));
    const inTime = () => clearTimeout(timer);
    // Wrapped, because an application's own store may return something that is no promise.
    const settled = Promise.resolve(work);
    settled.then(inTime, inTime);
    settled.then(resolve, reject);
  });
}
