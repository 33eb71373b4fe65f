import type { Terminal } from "./world.js";

/** One line on a terminal that says how far a command is, written over and over. */
export interface Progress {
  /** Shows the words, at most ten times a second. */
  show(words: () => string): void;
  /** Clears the line, so that something else can be printed there. */
  clear(): void;
}

const EVERY_MS = 100;
const CLEAR_LINE = "\r\u001b[2K";

/** On anything but a terminal it shows nothing. */
export function progressOn({ stderr }: Pick<Terminal, "stderr">, clock: () => number): Progress {
  if (stderr.isTTY !== true) return { show() {}, clear() {} };
  let [shownAt, isShown] = [Number.NEGATIVE_INFINITY, false];
  return {
    show(words) {
      const now = clock();
      if (Math.abs(now - shownAt) < EVERY_MS) return;
      [shownAt, isShown] = [now, true];
      stderr.write(`${CLEAR_LINE}${words()}`);
    },
    clear() {
      if (isShown) stderr.write(CLEAR_LINE);
      [shownAt, isShown] = [Number.NEGATIVE_INFINITY, false];
    },
  };
}
