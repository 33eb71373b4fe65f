/** A moment as a page needs it. */
export interface PlainTime {
  /** For `<time datetime>`; `public/times.js` makes of it what its reader would say. */
  readonly iso: string;
  /** The date with its zone, for a page whose script does not run. */
  readonly words: string;
}

const WORDS = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });

/** @param at epoch milliseconds. */
export function plainTime(at: number): PlainTime {
  const date = new Date(at);
  return { iso: date.toISOString(), words: `${WORDS.format(date)} UTC` };
}
