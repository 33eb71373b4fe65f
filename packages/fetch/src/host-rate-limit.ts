import { parseRateLimit } from "@retail-pos/core";
import { retryAfter, upcoming } from "./retry-after.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** What a host's answers have said about its rate limit. Instants are epoch milliseconds by this machine's clock. */
export class HostLimit {
  /** The last 429's: nobody who can wait asks before. */
  #retryAt = 0;
  /** When that came. */
  #refusedAt = 0;
  /** `X-RateLimit-Remaining`, and until when it counts; whether the service itself said until when. */
  #remaining = Number.POSITIVE_INFINITY;
  #resetAt: number | undefined;
  #until = 0;
  #isUntilStated = false;
  /** `X-RateLimit-Limit`: what a new window begins with. */
  #limit = Number.POSITIVE_INFINITY;

  /** Takes in what one answer says. Instants are those of the answer and of its call. */
  learn(status: number, headers: Headers, { now, sentAt }: { now: number; sentAt: number }): void {
    const said = parseRateLimit(headers);
    const reset = upcoming(said?.resetAt, now);
    if (said?.limit !== undefined) this.#limit = said.limit;
    if (said?.remaining !== undefined) this.#learnRemaining(said.remaining, said.resetAt, reset, now);
    if (status !== 429) return;
    const after = retryAfter(headers.get("retry-after"), now);
    if (after !== undefined) this.#isUntilStated = false; // it goes first
    const retryAt = after ?? reset ?? now + MINUTE_MS;
    // Several were under way when the window ended. All say "in a minute", one by one, and mean the same minute.
    const isOfThatWindow = sentAt <= this.#refusedAt && this.#refusedAt <= now && now < this.#retryAt;
    if (isOfThatWindow && retryAt - now <= this.#retryAt - this.#refusedAt) return;
    this.#retryAt = retryAt;
    this.#refusedAt = now;
  }

  /** Answers overtake each other: within a window the lowest number is the newest. */
  #learnRemaining(
    remaining: number,
    resetAt: number | undefined,
    reset: number | undefined,
    now: number,
  ): void {
    const isSameWindow = reset !== undefined && resetAt === this.#resetAt && now < this.#until;
    this.#remaining = isSameWindow ? Math.min(remaining, this.#remaining) : remaining;
    this.#resetAt = resetAt;
    this.#until = Math.min(reset ?? now + MINUTE_MS, now + HOUR_MS);
    this.#isUntilStated = reset !== undefined;
  }

  /** When the host may be asked again by those who wait for that; in the past if it may be asked now. */
  turnAt(): number {
    const isUsedUp = this.#remaining === 0 && this.#isUntilStated;
    return Math.max(this.#retryAt, isUsedUp ? this.#until : 0);
  }

  /** How many calls may be under way, at least one. */
  room(now: number): number {
    return Math.max(1, now < this.#until ? this.#remaining : this.#limit);
  }

  /** Until when {@link room} is known. */
  knownUntil(): number {
    return this.#until;
  }
}
