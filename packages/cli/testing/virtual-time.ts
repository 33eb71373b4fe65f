import type { Time } from "../src/terminal/time.js";

/** Time that passes only if somebody lets it pass: a pause of the doctor, or an application that takes its time. */
export interface VirtualTime extends Time {
  /** Milliseconds that have passed. */
  elapsed(): number;
  /** Lets so many milliseconds pass at once; whatever is due by then happens. */
  pass(ms: number): void;
  /** Runs the work when so many milliseconds have passed. */
  after(ms: number, work: () => void): void;
}

/** Longer than anybody's patience: an application that never answers lets it pass. */
export const FOR_EVER = 3_600_000;

export function virtualTime(): VirtualTime {
  let now = 0;
  let waiting: { readonly at: number; readonly work: () => void }[] = [];
  return {
    elapsed: () => now,
    pass,
    after,
    async pause(ms) {
      pass(ms);
    },
    timeout(ms) {
      const late = new AbortController();
      after(ms, () => late.abort(new DOMException("The time is over", "TimeoutError")));
      return late.signal;
    },
  };

  function pass(ms: number): void {
    now += ms;
    const due = waiting.filter(({ at }) => at <= now).sort((one, other) => one.at - other.at);
    waiting = waiting.filter(({ at }) => at > now);
    for (const { work } of due) work();
  }

  function after(ms: number, work: () => void): void {
    waiting.push({ at: now + ms, work });
  }
}
