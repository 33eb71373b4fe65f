import type { TokenSet } from "@retail-pos/core";
import type { Answer } from "../operation.js";
import { DEADLINE_MS, type Life } from "../process.js";
import { type Issued, LIMIT_MS, partsOf, type ServiceAnswer } from "../service.js";
import type { Book } from "./book.js";
import { isNotOlder, type Knowledge, type Request } from "./knowledge.js";

const EARLY_MS = 300_000;
/** The shortest pause after a failed token request: a second, less a fifth by chance. */
const PAUSE_MS = 800;
const HOUR_MS = 3_600_000;

/** Watches the token requests. */
export class RequestWatch {
  readonly #book: Book;

  constructor(book: Book) {
    this.#book = book;
  }

  sent(life: Life, retailer: string, refreshToken: string): Request {
    const knowledge = this.#book.knows(life, retailer);
    const found = knowledge.reached.filter((set) => set.refreshToken === refreshToken);
    // What was reloaded first: a later look of somebody else may have found a mark, and says nothing of this.
    const reached = found[0];
    const by = `${life.name} sends ${refreshToken}`;
    this.#isNotSpent(knowledge, refreshToken, reached, by);
    this.#isTheOnlyOne(life, retailer, refreshToken, found, by);
    this.#isNeeded(life, knowledge, reached, by);
    this.#isInTime(life, knowledge, reached, by);
    knowledge.reached = [];
    knowledge.lastRequestIn = this.#book.world.seq;
    const request: Request = {
      sender: life,
      refreshToken,
      instead: insteadOf(knowledge, found).at(-1),
      sentIn: this.#book.world.seq,
      sentAt: this.#book.world.now,
      hasStoodStill: false,
      isGivenUp: false,
      isHidden: knowledge.hasLostLock,
      unseenBy: new Set(),
      isKept: false,
      limitedUntil: 0,
      limitedAt: Number.NEGATIVE_INFINITY,
      state: "under way",
    };
    this.#book.of(retailer).requests.push(request);
    return request;
  }

  #isNotSpent(knowledge: Knowledge, refreshToken: string, reached: TokenSet | undefined, by: string): void {
    const { must } = this;
    const told = knowledge.told?.refreshToken;
    must(
      !knowledge.replaced.has(refreshToken),
      "spent",
      () => `${by}, and was given the one that replaces it`,
    );
    const isNotBehind = told === undefined || isNotOlder(refreshToken, told);
    must(isNotBehind, "spent", () => `${by}, and was told that the store holds ${told}`);
    // "With the store away, a renewal may spend what this process alone holds" (contract): it has tried the store.
    const isOwn =
      knowledge.issuedRefresh.has(refreshToken) &&
      knowledge.hasTried(knowledge.lockedIn, this.#book.world.now);
    must(reached !== undefined || isOwn, "spent", () => `${by}, which it has not read under the lock`);
  }

  /** Two are right if the second cannot know of the first. "A lock that is lost costs a second token request." */
  #isTheOnlyOne(
    life: Life,
    retailer: string,
    refreshToken: string,
    found: readonly TokenSet[],
    by: string,
  ): void {
    const knowledge = this.#book.knows(life, retailer);
    const instead = insteadOf(knowledge, found);
    if (knowledge.hasLostLock) return;
    for (const before of this.#book.of(retailer).requests) {
      if (before.refreshToken !== refreshToken || before.isHidden || before.unseenBy.has(life)) continue;
      if (found.length === 0 && before.sender !== life) continue; // the store is away: see isNotSpent
      const hasFailed = before.state === "failed" || before.state === "given up";
      const isAgain = instead.every((access) => access === before.instead) && !hasFailed;
      this.must(!isAgain, "once", () => `${by} in place of ${instead.at(-1)}, as somebody has`);
      const isLimited = isAhead(before.limitedUntil, life.now);
      this.must(!isLimited, "pause", () => `${by}, and somebody was answered 429`);
    }
  }

  #isNeeded(life: Life, { rejected }: Knowledge, reached: TokenSet | undefined, by: string): void {
    // A renewal that has begun goes on: nothing but the clock says whether a token lives, and that was set back.
    if (!reached || life.setBackMs > 0) return;
    const { value, expiresAt = Number.POSITIVE_INFINITY } = reached.access;
    const earlyMs = Math.min(EARLY_MS, (expiresAt - reached.issuedAt) / 10);
    const isNeeded = rejected.has(value) || life.now >= expiresAt - earlyMs;
    this.must(isNeeded, "need", () => `${by} for ${value}, which is good`);
  }

  #isInTime(life: Life, knowledge: Knowledge, reached: TokenSet | undefined, by: string): void {
    const { now } = life;
    const { pausedAt: failedAt, limitedUntil, noneLeftUntil } = knowledge;
    const isTooSoon = failedAt !== undefined && now >= failedAt && now < failedAt + PAUSE_MS;
    this.must(!isTooSoon, "pause", () => `${by} at once again`);
    const { access, limitedUntil: recorded = 0 } = reached ?? {};
    this.must(!isAhead(recorded, now), "pause", () => `${by} before the instant that the store holds`);
    const isTooEarly = access?.value === knowledge.refusedEarly && knowledge.isLive(reached, now);
    this.must(!isTooEarly, "need", () => `${by} early, and was refused before`);
    // A pause that begins later than now does not count, so that a clock that is set back stops nobody for longer.
    if (life.setBackMs > 0) return;
    this.must(!isAhead(limitedUntil, now), "pause", () => `${by} before the reset`);
    const isEarly = knowledge.isLive(reached, now) && isAhead(noneLeftUntil, now);
    this.must(!isEarly, "pause", () => `${by} early, though nothing remained`);
  }

  /** After every step: callers are told in time that there is no answer, and nobody waits for one that is late. */
  nobodyWaitsLong(life: Life): void {
    if (life.isPaused || life.turns > 0 || life.hasTimersDue) return;
    for (const { sentAt, hasStoodStill, refreshToken } of life.requests) {
      const isInTime = hasStoodStill || this.#book.world.now <= sentAt + DEADLINE_MS;
      this.must(isInTime, "deadline", () => `${life.name} still waits for the answer to ${refreshToken}`);
    }
  }

  /** Its sender waits no longer: callers are told so, and the answer may still come. */
  givenUp(life: Life, request: Request): void {
    request.isGivenUp = true;
    request.state = "given up";
    this.#failed(life, this.#knows(life, request));
  }

  answered(life: Life, request: Request, answer: Answer<ServiceAnswer>): void {
    const knowledge = this.#knows(life, request);
    const { status = 0, issued, resetAt = 0 } = "value" in answer ? answer.value : {};
    request.state = issued ? "answered" : "failed";
    if ("value" in answer && answer.value.isTooEarly) knowledge.refusedEarly = request.instead;
    if (issued) this.#issued(request, knowledge, issued, resetAt);
    // That a request which was given up has failed is known since then.
    else if (status !== 400 && !request.isGivenUp) this.#failed(life, knowledge);
    if (status !== 429) return;
    knowledge.limitedUntil = limitBy(life.now, resetAt);
    request.limitedUntil = knowledge.limitedUntil;
    request.limitedAt = this.#book.world.now;
  }

  #issued(request: Request, knowledge: Knowledge, { access, refreshToken }: Issued, resetAt: number): void {
    const { seq } = this.#book.world;
    if (refreshToken !== request.refreshToken) knowledge.replaced.add(request.refreshToken);
    knowledge.issuedRefresh.add(refreshToken);
    knowledge.noneLeftUntil = resetAt;
    knowledge.pausedAt = undefined; // late tokens end the pause that their absence began
    this.#book.of(partsOf(refreshToken).retailer).received.add(refreshToken);
    request.isKept = false; // what was saved before that did not come of it
    if (request.isGivenUp && knowledge.hasLearnedBetter(access, request.sentIn)) return;
    // Nobody who waits had late tokens issued.
    knowledge.issued.set(access, request.isGivenUp ? -1 : request.sentIn);
    knowledge.unsaved.set(access, seq);
  }

  #failed(life: Life, knowledge: Knowledge): void {
    knowledge.endpointFailedAt = life.now;
    knowledge.pausedAt = life.now;
    knowledge.noneLeftUntil = 0;
  }

  #knows(life: Life, { refreshToken }: Request): Knowledge {
    return this.#book.knows(life, partsOf(refreshToken).retailer);
  }

  readonly must: Book["must"] = (condition, promise, what) => this.#book.must(condition, promise, what);
}

/**
 * Which access token a request is to replace: the one in the store, or the last that this process alone holds. Where
 * nothing rotates, several sets have the refresh token, and which of them the reload found does not show.
 */
function insteadOf({ issued }: Knowledge, found: readonly TokenSet[]): readonly (string | undefined)[] {
  return found.length > 0 ? found.map(({ access }) => access.value) : [[...issued.keys()].at(-1)];
}

/** What a process makes of a reset: by its clock it may be over, or absurd, and then a minute counts (behaviour 7). */
function limitBy(now: number, resetAt: number): number {
  return isAhead(resetAt, now) ? resetAt : now + LIMIT_MS;
}

/** A limit that is noted further ahead than an hour comes from a clock that is wrong. */
function isAhead(limit: number, now: number): boolean {
  return now < limit && limit - now <= HOUR_MS;
}
