import { setTimeout } from "node:timers/promises";

/** How time passes for a command that waits. */
export interface Time {
  /** Resolves after so many milliseconds. */
  pause(ms: number): Promise<void>;
  /** A signal that is aborted after so many milliseconds, with a `TimeoutError`. */
  timeout(ms: number): AbortSignal;
}

export const realTime: Time = {
  pause: (ms) => setTimeout(ms),
  timeout: (ms) => AbortSignal.timeout(ms),
};
