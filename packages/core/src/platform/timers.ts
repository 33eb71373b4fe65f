type Timer = ReturnType<typeof setTimeout>;

/** Lets the process end although the timer has not. On the web a timer is a number, and there is no process. */
export function unref(timer: Timer): Timer {
  timer.unref?.();
  return timer;
}

/** Runs the work after everything that is ready now, and in the order of the calls. */
export function soon(work: () => void): void {
  if (typeof setImmediate === "function") setImmediate(work);
  else setTimeout(work, 0);
}

/** Keeps the process alive while it lasts: somebody waits for a lock, or a rotated token to be saved. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The last part of a deadline has a timer of its own; before it runs, answers that have arrived are read. */
const LAST_MS = 100;

/**
 * Settles as the work does, unless that takes too long; the work itself goes on. Keeps no process alive.
 *
 * After a thread stood still (a suspended machine, heavy work) its timers run first and its sockets are read after
 * them. So an answer that has already arrived is read before it counts as missing.
 */
export function within<T>(ms: number, work: Promise<T> | T, tooLate: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const lastMs = Math.min(LAST_MS, ms / 2);
    const last = () => {
      timer = unref(setTimeout(() => reject(tooLate()), lastMs));
    };
    let timer = unref(setTimeout(last, ms - lastMs));
    const inTime = () => clearTimeout(timer);
    // Wrapped, because a foreign store may answer with something that is no promise.
    const settled = Promise.resolve(work);
    settled.then(inTime, inTime);
    settled.then(resolve, reject);
  });
}
