/** RFC 9110, 5.6.7: the form to be written, and the two to be understood. */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? /i;

/** An instant in whole seconds may have been rounded down: it is over when the second is. */
const REST_OF_A_SECOND_MS = 999;

/** Nobody is asked more often than this, even if the service allows it. */
const LEAST_WAIT_MS = 1000;

/**
 * When `Retry-After` (RFC 9110, 10.2.3) lets the host be asked again: seconds from now, or a date.
 *
 * @returns epoch milliseconds; `undefined` if there is none, or it is unusable: a word, a negative number, the past.
 */
export function retryAfter(text: string | null | undefined, now: number): number | undefined {
  const value = text?.trim() ?? "";
  if (/^\d+$/.test(value)) return now + Math.max(LEAST_WAIT_MS, Number(value) * 1000);
  if (!HTTP_DATE.test(value)) return undefined;
  return upcoming(Date.parse(/GMT$/i.test(value) ? value : `${value} GMT`), now);
}

/** The end of the second that an instant names, if it lies ahead. */
export function upcoming(at: number | undefined, now: number): number | undefined {
  const end = (at ?? Number.NaN) + REST_OF_A_SECOND_MS;
  return end > now ? end : undefined;
}
