import { longestPauseAfter } from "../platform/pauses.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** A token younger than this cannot have expired by itself. */
const JUST_ISSUED_MS = 120_000;
/** The rejections of so many young tokens in a row are believed. */
const BELIEVED_AT_ONCE = 10;
/** How many rejected access tokens are remembered of one retailer. */
const MOST_REMEMBERED = 8;

/** The access tokens of one retailer that the API answered 401 to. */
export class Rejections {
  #values: readonly string[] = [];
  #youngInARow = 0;
  #lastAt: number = Number.NEGATIVE_INFINITY;

  has(value: string): boolean {
    return this.#values.includes(value);
  }

  /**
   * Remembers that the API rejected this set's access token. `false`: it rejects every token, so this one is used on.
   *
   * Some APIs answer 401 to a call that they would not serve with any token. Renewing for each of these would use up
   * the rate limit and end the tokens that other calls work with. So after ten tokens in a row that were rejected when
   * just issued, one more is believed after a second, then two, up to once a minute.
   */
  record({ access, issuedAt }: TokenSet, now: number): boolean {
    if (this.has(access.value)) return true;
    const isYoung = Math.abs(now - issuedAt) < JUST_ISSUED_MS; // clocks of two processes differ
    const pauseMs = longestPauseAfter(this.#youngInARow - BELIEVED_AT_ONCE + 1);
    const isTooSoon = this.#youngInARow >= BELIEVED_AT_ONCE && Math.abs(now - this.#lastAt) < pauseMs;
    if (isYoung && isTooSoon) return false;
    this.#youngInARow = isYoung ? this.#youngInARow + 1 : 1;
    this.#lastAt = now;
    this.#values = [...this.#values, access.value].slice(-MOST_REMEMBERED);
    return true;
  }

  /** A person logged in: the count starts again. A rejected token stays rejected, whichever set carries it. */
  startAnew(): void {
    this.#youngInARow = 0;
  }
}
