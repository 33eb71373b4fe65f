import type { TokenSet } from "@retail-pos/core";
import type { Life } from "../process.js";
import { partsOf } from "../service.js";
import type { World } from "../world/world.js";

/** How long core waits for an answer of the store. */
const DEADLINE_MS = 5_000;
/** After a standstill core reads what lies there for so long before it gives up. */
const LAST_MS = 100;

/** A question to the store. Instants "in" are numbers of steps; those "at" are milliseconds of the world's clock. */
export interface Question {
  readonly retailer: string;
  readonly kind: "load" | "save" | "remove" | "lock";
  /** Loads of one retailer by one process are numbered. */
  readonly number: number;
  /** How often this process's knowledge had changed when it was asked. */
  readonly changes: number;
  readonly sentIn: number;
  readonly sentAt: number;
  /** When core gives it up. */
  deadlineAt: number;
  /** The same at the latest: its thread stood still more than once, and timers run late. */
  latestAt: number;
  /** When it took effect. */
  reachedIn: number;
}

/** A token request that was sent. */
export interface Request {
  readonly sender: Life;
  readonly refreshToken: string;
  /** The access token that it replaces. */
  readonly instead: string | undefined;
  readonly sentIn: number;
  readonly sentAt: number;
  /** Its sender stood still meanwhile, and its timers ran late. */
  hasStoodStill: boolean;
  /** Nobody waits for it any more. Its answer may still come, or have come late. */
  isGivenUp: boolean;
  /** Its sender died or lost the lock before others could see what came of it. */
  isHidden: boolean;
  /** Who has read what it replaces since, and could not know of it. */
  readonly unseenBy: Set<Life>;
  /** What came of it was saved, or the store said that something else counts. */
  isKept: boolean;
  /** Until when no other may come after a 429, as its sender understood it; 0 if there was none. */
  limitedUntil: number;
  /** When the service said so, by the world's clock. */
  limitedAt: number;
  state: "under way" | "given up" | "answered" | "failed";
}

/** What one process can know of one retailer, as seen from outside. */
export class Knowledge {
  loads = 0;
  /** Without an answer so far. */
  readonly questions = new Set<Question>();
  /** What each load found, by its number. */
  readonly found = new Map<number, Question & { set: TokenSet | undefined; isLive: boolean }>();
  /** What the last answer of the store said. */
  set: TokenSet | undefined = undefined;
  /** How often an answer said something else than the one before. */
  changes = 0;
  /** Two answers that overlapped and differ: core has to ask again, and only that answer ends the doubt. */
  isInDoubt = false;
  /** The latest instant of which an answer told it, and what the store held then. */
  toldIn = -1;
  told: TokenSet | undefined = undefined;
  /** When its last login or disconnect failed: that may have taken effect all the same. */
  changeFailedIn = -1;
  changeFailedAt = Number.NEGATIVE_INFINITY;
  /** What its loads found where they took effect, since it was given the lock or last sent a token request. */
  reached: TokenSet[] = [];
  /** When it was last given the lock. */
  lockedIn = -1;
  /** Somebody else was given the lock while it thought that it had it. */
  hasLostLock = false;
  /** Refresh tokens that were replaced by an answer that came here. */
  readonly replaced = new Set<string>();
  /** Access tokens that were issued to this process, by the instant at which it asked for them. */
  readonly issued = new Map<string, number>();
  readonly issuedRefresh = new Set<string>();
  /** Of these, the ones of which it does not know that the store has them, nor that others count. */
  readonly unsaved = new Map<string, number>();
  /** The access token of a set whose mark the store did not take, and the step of that. */
  failedMark: { readonly access: string; readonly in: number } | undefined = undefined;
  /** The same, once a later look has found the set as it was: core holds it with the mark until the store answers. */
  unsavedMark: { readonly access: string; readonly in: number } | undefined = undefined;
  /** The last access token that somebody here was given. */
  given: string | undefined = undefined;
  readonly rejected = new Set<string>();
  /** When the store or the lock failed it. A question that is given up stays in `questions`. */
  readonly failures: Pick<Question, "kind" | "sentIn" | "deadlineAt">[] = [];
  /** By its own clock: when a token request of its own last failed, and until when it was told to wait. */
  endpointFailedAt: number | undefined = undefined;
  /** The same, unless tokens came since. */
  pausedAt: number | undefined = undefined;
  limitedUntil = 0;
  noneLeftUntil = 0;
  /** The access token that the service did not renew before its end. */
  refusedEarly: string | undefined = undefined;
  lastRequestIn = -1;

  asks(kind: Question["kind"], retailer: string, sentIn: number, now: number): Question {
    if (kind === "load") this.loads += 1;
    const { loads: number, changes } = this;
    const deadlineAt = now + DEADLINE_MS;
    const question = {
      retailer,
      kind,
      number,
      changes,
      sentIn,
      sentAt: now,
      deadlineAt,
      latestAt: deadlineAt,
      reachedIn: -1,
    };
    this.questions.add(question);
    return question;
  }

  /** Whether core may still wait for the answer of a question. */
  isAsking(now: number): boolean {
    for (const { deadlineAt } of this.questions) if (now <= deadlineAt + LAST_MS) return true;
    return false;
  }

  answered(question: Question, now: number, isValue: boolean): void {
    this.questions.delete(question);
    const { kind, sentIn, deadlineAt } = question;
    const failedAt = Math.min(deadlineAt, isValue ? deadlineAt : now);
    if (failedAt <= now) this.failures.push({ kind, sentIn, deadlineAt: failedAt });
  }

  /** Its thread stood still: the last part of a deadline begins only now, so that what lies there is read. */
  stoodStill(before: number, now: number): void {
    for (const question of this.questions) {
      const lastFrom = question.deadlineAt - LAST_MS;
      if (lastFrom <= now && before <= question.latestAt) question.latestAt = now + LAST_MS;
      if (before < lastFrom && lastFrom <= now) question.deadlineAt = now + LAST_MS;
      else if (before < question.deadlineAt && question.deadlineAt <= now) question.deadlineAt = now;
    }
  }

  /** Whether the store or the lock, or a load only, failed it between these instants. */
  hasFailed(from: number, to: number, kinds: "all" | "load" = "all"): boolean {
    const isOne = (kind: string, at: number) => at >= from && at <= to && (kinds === "all" || kind === kinds);
    for (const { kind, deadlineAt } of this.failures) if (isOne(kind, deadlineAt)) return true;
    for (const { kind, deadlineAt, latestAt } of this.questions)
      if (deadlineAt <= to && isOne(kind, Math.min(latestAt, to))) return true;
    return false;
  }

  /** Whether it has asked the store since then, in vain. */
  hasTried(sinceIn: number, now: number): boolean {
    const isOne = (one: Pick<Question, "sentIn" | "deadlineAt">) =>
      one.sentIn >= sinceIn && one.deadlineAt <= now;
    return this.failures.some(isOne) || [...this.questions].some(isOne);
  }

  learned(
    set: TokenSet | undefined,
    { changes, reachedIn, deadlineAt, sentIn }: Question,
    { now, seq }: Pick<World, "now" | "seq">,
  ): void {
    const isOther = set?.version !== this.set?.version;
    const isPerhapsGivenUp = now >= deadlineAt; // then core may not have heard it
    this.#learnedOfMark(set?.access.value, sentIn, seq);
    const hasOverlapped = changes !== this.changes;
    const wasInDoubt = this.isInDoubt;
    this.isInDoubt = isPerhapsGivenUp || (hasOverlapped && (isOther || wasInDoubt));
    // In doubt, core took nothing until now; and that nothing is stored counts, although it knew of no tokens.
    if (isOther || wasInDoubt || !set) this.changes += 1;
    this.set = set;
    if (isPerhapsGivenUp) return;
    if (reachedIn >= this.toldIn) {
      this.toldIn = reachedIn;
      this.told = set;
    }
    for (const [access, issuedIn] of this.unsaved) {
      const isOver = !set || isNotOlder(set.access.value, access);
      if (set?.access.value === access || (reachedIn > issuedIn && isOver)) this.unsaved.delete(access);
    }
  }

  #learnedOfMark(access: string | undefined, sentIn: number, seq: number): void {
    const { failedMark, unsavedMark } = this;
    if (access !== unsavedMark?.access || sentIn > (unsavedMark?.in ?? 0)) this.unsavedMark = undefined;
    if (failedMark === undefined || sentIn < failedMark.in) return;
    if (access === failedMark.access) this.unsavedMark = { access, in: seq };
    this.failedMark = undefined;
  }

  /** Since then the store told it of these or newer tokens, or that there are none any more. */
  hasLearnedBetter(access: string, sinceIn: number): boolean {
    return this.toldIn >= sinceIn && (!this.told || isNotOlder(this.told.access.value, access));
  }

  isLive(set: TokenSet | undefined, now: number): boolean {
    if (!set || this.rejected.has(set.access.value)) return false;
    return set.access.expiresAt === undefined || now < set.access.expiresAt;
  }
}

/** Tokens are numbered in the order in which they were issued: by login, then by refresh. */
export function isNotOlder(next: string, than: string): boolean {
  const [one, other] = [partsOf(next), partsOf(than)];
  return one.number > other.number || (one.number === other.number && one.index >= other.index);
}
