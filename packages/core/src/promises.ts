/** Settles as the work does, unless the signal is aborted first; the work itself goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    // One of its own for each caller: many may share a signal, and Node warns of a target with many listeners.
    const own = AbortSignal.any([signal]);
    const leave = () => reject(own.reason);
    own.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => own.removeEventListener("abort", leave));
  });
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
export async function within<T>(ms: number, work: Promise<T>, tooLate: () => Error): Promise<T> {
  const lastMs = Math.min(LAST_MS, ms / 2);
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const last = () => {
      timer = setTimeout(() => reject(tooLate()), lastMs).unref();
    };
    timer = setTimeout(last, ms - lastMs).unref();
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
