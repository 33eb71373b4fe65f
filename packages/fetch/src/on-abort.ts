/** What is to be done when a signal is aborted, for each signal that somebody waits with. */
const waitingBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once, when the signal is aborted. One listener speaks for all calls: many share a signal, and Node warns
 * of a target with many listeners.
 *
 * @returns takes it back; the signal is held no longer than that.
 */
export function onAbort(signal: AbortSignal, leave: () => void): () => void {
  const leaving = waitingBySignal.get(signal) ?? listening(signal);
  leaving.add(leave);
  return () => {
    leaving.delete(leave);
    if (leaving.size > 0) return;
    signal.removeEventListener("abort", allLeave);
    waitingBySignal.delete(signal);
  };
}

function listening(signal: AbortSignal): Set<() => void> {
  const leaving = new Set<() => void>();
  waitingBySignal.set(signal, leaving);
  signal.addEventListener("abort", allLeave);
  return leaving;
}

function allLeave(this: AbortSignal): void {
  for (const leave of waitingBySignal.get(this) ?? []) leave();
}
