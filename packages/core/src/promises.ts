/** Settles as the work does, unless the signal is aborted first; the work itself goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const waiting = waitingOn(signal);
    const leave = () => reject(signal.reason);
    waiting.add(leave);
    work.then(resolve, reject).finally(() => waiting.delete(leave));
  });
}

const waitingBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Who leaves when the signal is aborted. One listener for all of them: many may share a signal that lives as long
 * as the process, and Node warns of a target with many listeners.
 */
function waitingOn(signal: AbortSignal): Set<() => void> {
  const known = waitingBySignal.get(signal);
  if (known) return known;
  const waiting = new Set<() => void>();
  waitingBySignal.set(signal, waiting);
  const allLeave = () => {
    for (const leave of waiting) leave();
  };
  signal.addEventListener("abort", allLeave, { once: true });
  return waiting;
}

/** Keeps the process alive while it lasts: somebody waits for a lock, or a rotated token to be saved. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The end of a deadline, for answers that arrived while the thread stood still. */
const LAST_MS = 100;

/**
 * Settles as the work does, unless that takes too long; the work itself goes on. Keeps no process alive.
 *
 * After a thread stood still (a suspended machine, heavy work) its timers come first and its sockets after them:
 * an answer that lies there has to be read before it counts as missing.
 */
export function within<T>(ms: number, work: Promise<T> | T, tooLate: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const lastMs = Math.min(LAST_MS, ms / 2);
    const last = () => {
      timer = setTimeout(() => reject(tooLate()), lastMs).unref();
    };
    let timer = setTimeout(last, ms - lastMs).unref();
    const inTime = () => clearTimeout(timer);
    // Resolved once more: what a stranger's store answers may be no promise.
    const settled = Promise.resolve(work);
    settled.then(inTime, inTime);
    settled.then(resolve, reject);
  });
}
