/** A clock that stands still until it is told to move. Pass it as `clock` to the sandbox and to the tested code. */
export interface VirtualClock {
  (): number;
  /** Moves the clock forward by this many milliseconds; answers the new time. @throws {TypeError} `ms` is below 0. */
  advance(ms: number): number;
}

/** `startAt` in epoch milliseconds. Default: the real time of the call. */
export function virtualClock(startAt: number = Date.now()): VirtualClock {
  let now = startAt;
  const advance = (ms: number) => {
    if (!Number.isFinite(ms) || ms < 0)
      throw new TypeError("advance needs a number of milliseconds, at least 0");
    now += ms;
    return now;
  };
  return Object.assign(() => now, { advance });
}
