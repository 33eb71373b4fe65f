import type { AccessToken, RetailPosEvent } from "@retail-pos/core";
import type { Call, Life } from "../process.js";
import { partsOf } from "../service.js";
import type { Book } from "./book.js";
import type { Knowledge } from "./knowledge.js";

/** The longest pause after failures of the token endpoint: as long its last error is told. */
const LONGEST_PAUSE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Watches what callers are given and told. */
export class CallerWatch {
  readonly #book: Book;

  constructor(book: Book) {
    this.#book = book;
  }

  asked({ life, retailer, rejected }: Call): void {
    this.#book.of(retailer);
    if (rejected !== undefined) this.#book.knows(life, retailer).rejected.add(rejected);
  }

  answered(call: Call, outcome: NonNullable<Call["outcome"]>): void {
    if ("token" in outcome) this.#given(call, outcome.token);
    else this.#failed(call, outcome.error);
  }

  #given(call: Call, { value, expiresAt }: AccessToken): void {
    const { life, retailer } = call;
    const { must } = this;
    const knowledge = this.#book.knows(life, retailer);
    const given = `${life.name} is given ${value}`;
    must(partsOf(value).retailer === retailer, "others", () => `${given} for ${retailer}`);
    knowledge.given = value;
    const isIssuedHere = (knowledge.issued.get(value) ?? -1) > call.beganIn;
    const isLive = expiresAt === undefined || life.now < expiresAt;
    must(isLive || isIssuedHere, "ended", () => `${given}, which has ended`);
    must(!knowledge.rejected.has(value), "rejected", () => given);
    // "A set that the store has not taken is served until the store answers" (contract).
    if (knowledge.unsaved.has(value)) return;
    if (knowledge.unsavedMark?.access !== value) this.#isCurrent(call, value, knowledge, given);
    this.#isNotKnownToBeGone(call, value, knowledge, given);
  }

  /** By the store as it was when the caller came, or later; or by a copy that is younger than `cacheMs`. */
  #isCurrent(call: Call, value: string, knowledge: Knowledge, given: string): void {
    const record = this.#book.of(call.retailer);
    if (record.lastIn(value) >= call.beganIn) return;
    const { world } = this.#book;
    // Set back, a clock counts as many milliseconds again: nothing else says how old a copy is.
    const cacheMs = world.scenario.cacheMs + (world.scenario.cacheMs > 0 ? call.life.setBackMs : 0);
    const goneForMs = call.begunAt - (record.leftAt.get(value) ?? Number.NEGATIVE_INFINITY);
    // "If the store cannot be read, a live copy is used instead" (behaviour 6), and trusted anew from then.
    const isUnread = knowledge.hasFailed(call.begunAt - cacheMs, world.now, "load");
    const isFresh = goneForMs < cacheMs || isUnread;
    this.must(isFresh, "current", () => `${given}, which the store had not held for ${goneForMs} ms`);
  }

  /** What this process was told before the caller came. */
  #isNotKnownToBeGone(call: Call, value: string, knowledge: Knowledge, given: string): void {
    const lastIn = this.#book.of(call.retailer).lastIn(value);
    this.must(lastIn >= call.toldIn, "told", () => `${given}, and was told that it is gone`);
    const { changeFailedAt } = knowledge;
    const isUnread = knowledge.hasFailed(changeFailedAt, this.#book.world.now, "load");
    const mayBeGone = lastIn < call.changeFailedIn && !isUnread;
    this.must(!mayBeGone, "told", () => `${given}, though its own change may have ended it`);
  }

  #failed(call: Call, error: unknown): void {
    const { life, retailer } = call;
    const { must } = this;
    const record = this.#book.of(retailer);
    const code = String(Object(error).code ?? error);
    const told = `${life.name} is told ${code}`;
    if (code === "not_connected") {
      const wasAbsent = record.nothingIn >= call.beganIn;
      must(wasAbsent, "absent", () => `${told}, and the store held tokens throughout`);
    } else if (code === "reconnect_required") {
      const wasRefused = record.refusedIn >= call.beganIn;
      must(wasRefused, "verdict", () => `${told}, and the store held no refused set`);
    } else {
      must(this.#hasReason(call, code), "fails", () => `${told}, and nothing of that kind has failed`);
      this.#holdsNothing(life, retailer, told);
    }
  }

  /** Whether something that this process saw fail explains the error. */
  #hasReason(call: Call, code: string): boolean {
    const { life, retailer } = call;
    const knowledge = this.#book.knows(life, retailer);
    const { now } = this.#book.world;
    if (code === "store_failed") return knowledge.hasFailed(call.begunAt, now);
    if (code === "token_endpoint_failed") {
      const failedAt = knowledge.endpointFailedAt ?? Number.NEGATIVE_INFINITY;
      return Math.abs(life.now - failedAt) <= LONGEST_PAUSE_MS + (now - call.begunAt) + life.setBackMs;
    }
    if (code !== "rate_limited") return false;
    // By a clock that is wrong a reset may lie anywhere, but "never more than an hour" ahead (behaviour 7).
    const limits = this.#book.of(retailer).requests.map(({ limitedAt }) => limitedAt);
    return limits.some((limitedAt) => call.begunAt < limitedAt + HOUR_MS + life.setBackMs);
  }

  #holdsNothing(life: Life, retailer: string, told: string): void {
    const knowledge = this.#book.knows(life, retailer);
    const { set, isInDoubt } = knowledge;
    // A job forgets those that it alone has met, a million of them.
    const isKept =
      !life.runsTheJob || (knowledge.given !== undefined && knowledge.given === set?.access.value);
    const isReplaced = set !== undefined && knowledge.replaced.has(set.refreshToken); // perhaps it could not save that
    const isHeld = isKept && !isInDoubt && !isReplaced && knowledge.isLive(set, life.now);
    this.must(!isHeld, "fails", () => `${told}, and holds ${set?.access.value}`);
  }

  /** An event. A verdict in it needs a refusal of what the store held since the last request. */
  observed(life: Life, event: RetailPosEvent): void {
    if (event.type !== "reconnect_required") return;
    const { domainPrefix } = event;
    const { lastRequestIn } = this.#book.knows(life, domainPrefix);
    const wasRefused = this.#book.of(domainPrefix).refusedIn >= lastRequestIn && lastRequestIn >= 0;
    const told = `${life.name} observes that ${domainPrefix} has to log in again`;
    this.must(wasRefused, "verdict", () => told);
    const { requests, announced, unmarked } = this.#book.of(domainPrefix);
    const refused = requests.filter(({ sender }) => sender === life).at(-1)?.refreshToken ?? "";
    this.must(!announced.has(refused) || unmarked.has(refused), "announced", () => `${told}, once more`);
    announced.add(refused);
  }

  /** Whose own question found a live token, and nothing else became known since, has been answered. */
  nobodyWaits(life: Life, retailer: string): void {
    // A renewal that has begun goes on, though the token lives again since the clock was set back.
    if (life.calls.size === 0 || life.turns > 0 || life.setBackMs > 0) return;
    const { now, scenario } = this.#book.world;
    const knowledge = this.#book.knows(life, retailer);
    // "What overlapped another change and disagrees with it is asked again" (contract): until that is answered.
    if (knowledge.isInDoubt || knowledge.isAsking(now) || life.hasTimersDue) return;
    for (const call of life.calls) {
      if (call.retailer !== retailer) continue;
      const found = knowledge.found.get(call.firstLoad);
      if (!found?.isLive || found.set?.version !== knowledge.set?.version) continue;
      if (found.changes + 1 < knowledge.changes) continue;
      // With a cache it may have joined a renewal without a question of its own, and waits for that (behaviour 5).
      if (scenario.cacheMs > 0 && found.sentIn !== call.beganIn + 1) continue;
      const isHeld = knowledge.isLive(found.set, life.now);
      const what = `${life.name} has found ${found.set?.access.value}`;
      this.must(!isHeld, "waits", () => `${what} for a caller who waits`);
    }
  }

  readonly must: Book["must"] = (condition, promise, what) => this.#book.must(condition, promise, what);
}
