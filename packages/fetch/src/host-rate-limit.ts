import { parseRateLimit } from "@retail-pos/core";
import { parseRetryAfter } from "@retail-pos/core/authoring";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** What a host's answers have said about its rate limit. Instants are epoch milliseconds by this machine's clock. */
export class HostLimit {
  /** The last 429's: nobody who can wait asks before. */
  #retryAt = 0;
  /** When that came. */
  #refusedAt = 0;
  /** `X-RateLimit-Remaining`, and the `X-RateLimit-Reset` beside it. */
  #remaining = Number.POSITIVE_INFINITY;
  #resetAt: number | undefined;
  /** Until when that counts, and {@link room} is known; whether the service itself said until when. */
  knownUntil = 0;
  #isUntilStated = false;
  /** `X-RateLimit-Limit`: what a new window begins with. */
  #limit = Number.POSITIVE_INFINITY;

  /** Takes in what one answer says. Instants are those of the answer and of its call. */
  learn(status: number, headers: Headers, { now, sentAt }: { now: number; sentAt: number }): void {
    const said = parseRateLimit(headers);
    const reset = upcoming(said?.resetAt, now);
    if (said?.limit !== undefined) this.#limit = said.limit;
    if (said?.remaining !== undefined) {
      // Answers overtake each other: within a window the lowest number is the newest.
      const isSameWindow = reset !== undefined && said.resetAt === this.#resetAt && now < this.knownUntil;
      this.#remaining = isSameWindow ? Math.min(said.remaining, this.#remaining) : said.remaining;
      this.#resetAt = said.resetAt;
      this.knownUntil = Math.min(reset ?? now + MINUTE_MS, now + HOUR_MS);
      this.#isUntilStated = reset !== undefined;
    }
    if (status !== 429) return;
    const after = parseRetryAfter(headers.get("retry-after"), now);
    if (after !== undefined) this.#isUntilStated = false; // it goes first
    const retryAt = after ?? reset ?? now + MINUTE_MS;
    // Several were under way when the window ended. All say "in a minute", one by one, and mean the same minute.
    const isOfThatWindow = sentAt <= this.#refusedAt && this.#refusedAt <= now && now < this.#retryAt;
    if (isOfThatWindow && retryAt - now <= this.#retryAt - this.#refusedAt) return;
    this.#retryAt = retryAt;
    this.#refusedAt = now;
  }

  /** When the host may be asked again by those who wait for that; in the past if it may be asked now. */
  turnAt(): number {
    const isUsedUp = this.#remaining === 0 && this.#isUntilStated;
    return Math.max(this.#retryAt, isUsedUp ? this.knownUntil : 0);
  }

  /** How many calls may be under way, at least one. */
  room(now: number): number {
    return Math.max(1, now < this.knownUntil ? this.#remaining : this.#limit);
  }
}

/** The end of the second that an instant names, if it lies ahead: it may have been rounded down. */
function upcoming(at: number | undefined, now: number): number | undefined {
  const end = (at ?? Number.NaN) + SECOND_MS - 1;
  return end > now ? end : undefined;
}
