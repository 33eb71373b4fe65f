export const FIRST_PAUSE_MS = 1000;
export const LONGEST_PAUSE_MS = 60_000;

/** The pause after so many failures in a row: 1 s doubling to 60 s. */
export function longestPauseAfter(failures: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10));
}
