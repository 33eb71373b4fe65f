import type { TokenSet } from "@retail-pos/core";
import type { Answer } from "../operation.js";
import type { Life } from "../process.js";
import { LIMIT_MS, partsOf, type ServiceAnswer } from "../service.js";
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
    // What was reloaded first: a later look of somebody else may have found a mark, and says nothing of this.
    const reached = knowledge.reached.find((set) => set.refreshToken === refreshToken);
    const by = `${life.name} sends ${refreshToken}`;
    this.#isNotSpent(knowledge, refreshToken, reached, by);
    this.#isNotMarked(life, reached, by);
    this.#isTheOnlyOne(life, retailer, refreshToken, reached, by);
    this.#isNeeded(life, knowledge, reached, by);
    this.#isInTime(life, knowledge, reached, by);
    knowledge.reached = [];
    knowledge.lastRequestIn = this.#book.world.seq;
    const request: Request = {
      sender: life,
      refreshToken,
      instead: insteadOf(knowledge, reached),
      sentIn: this.#book.world.seq,
      sentAt: this.#book.world.now,
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

  #isNotMarked(life: Life, reached: TokenSet | undefined, by: string): void {
    if (life.setBackMs > 0) return; // nothing but the clock says how old a mark is
    const { refusedAt } = reached ?? {};
    const isMarked = refusedAt !== undefined && Math.abs(life.now - refusedAt) < HOUR_MS;
    this.must(!isMarked, "spent", () => `${by}, which is marked as refused`);
  }

  /** Two are right if the second cannot know of the first. "A lock that is lost costs a second token request." */
  #isTheOnlyOne(
    life: Life,
    retailer: string,
    refreshToken: string,
    reached: TokenSet | undefined,
    by: string,
  ): void {
    const knowledge = this.#book.knows(life, retailer);
    const instead = insteadOf(knowledge, reached);
    if (knowledge.hasLostLock) return;
    for (const before of this.#book.of(retailer).requests) {
      if (before.refreshToken !== refreshToken || before.isHidden || before.unseenBy.has(life)) continue;
      const isAgain = before.instead === instead && before.state !== "failed";
      this.must(!isAgain, "once", () => `${by} in place of ${instead}, as somebody has`);
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
    const { endpointFailedAt: failedAt, limitedUntil, noneLeftUntil } = knowledge;
    const isTooSoon = failedAt !== undefined && now >= failedAt && now < failedAt + PAUSE_MS;
    this.must(!isTooSoon, "pause", () => `${by} at once again`);
    this.must(
      !isAhead(reached?.limitedUntil ?? 0, now),
      "pause",
      () => `${by} before the reset that is noted`,
    );
    // A pause that begins later than now does not count, so that a clock that is set back stops nobody for longer.
    if (life.setBackMs > 0) return;
    this.must(!isAhead(limitedUntil, now), "pause", () => `${by} before the reset`);
    const isEarly = knowledge.isLive(reached, now) && isAhead(noneLeftUntil, now);
    this.must(!isEarly, "pause", () => `${by} early, though nothing remained`);
  }

  answered(life: Life, request: Request, answer: Answer<ServiceAnswer>): void {
    const { retailer } = partsOf(request.refreshToken);
    const knowledge = this.#book.knows(life, retailer);
    const { status = 0, issued, resetAt = 0 } = "value" in answer ? answer.value : {};
    request.state = issued ? "answered" : "failed";
    if (issued) {
      if (issued.refreshToken !== request.refreshToken) knowledge.replaced.add(request.refreshToken);
      knowledge.issued.set(issued.access, request.sentIn);
      knowledge.issuedRefresh.add(issued.refreshToken);
      knowledge.unsaved.set(issued.access, this.#book.world.seq);
      knowledge.noneLeftUntil = resetAt;
      this.#book.of(retailer).received.add(issued.refreshToken);
    } else if (status !== 400) {
      knowledge.endpointFailedAt = life.now;
      knowledge.noneLeftUntil = 0;
      if (resetAt === 0) return;
      knowledge.limitedUntil = limitBy(life.now, resetAt);
      request.limitedUntil = knowledge.limitedUntil;
      request.limitedAt = this.#book.world.now;
    }
  }

  readonly must: Book["must"] = (condition, promise, what) => this.#book.must(condition, promise, what);
}

/** Which access token a request is to replace: the one in the store, or the last that this process alone holds. */
function insteadOf({ issued }: Knowledge, reached: TokenSet | undefined): string | undefined {
  return reached ? reached.access.value : [...issued.keys()].at(-1);
}

/** What a process makes of a reset: by its clock it may be over, or absurd, and then a minute counts (behaviour 7). */
function limitBy(now: number, resetAt: number): number {
  return isAhead(resetAt, now) ? resetAt : now + LIMIT_MS;
}

/** A limit that is noted further ahead than an hour comes from a clock that is wrong. */
function isAhead(limit: number, now: number): boolean {
  return now < limit && limit - now <= HOUR_MS;
}
