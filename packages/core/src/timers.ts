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
