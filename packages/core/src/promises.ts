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

/** Settles as the work does, unless that takes too long; the work itself goes on. Keeps no process alive. */
export async function within<T>(ms: number, work: Promise<T>, tooLate: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms).unref();
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
