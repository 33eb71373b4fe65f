import type { TokenSet } from "@retail-pos/core";
import type { Answer } from "../operation.js";
import type { Life } from "../process.js";
import { partsOf } from "../service.js";
import type { Book, Record } from "./book.js";
import { isNotOlder, type Knowledge, type Question, type Request } from "./knowledge.js";

/** Watches what is asked of the store and the lock, what takes effect there, and what the processes hear of it. */
export class StoreWatch {
  readonly #book: Book;

  constructor(book: Book) {
    this.#book = book;
  }

  /** A run begins with this login in the store. */
  begins(set: TokenSet): void {
    const record = this.#book.of(set.domainPrefix);
    record.stored = set;
    record.connected = this.#book.world.service.familyOf(set.access.value);
    record.received.add(set.refreshToken);
  }

  asked(life: Life, kind: Question["kind"], retailer: string): Question {
    return this.#knows(life, retailer).asks(kind, retailer, this.#book.world.seq, this.#book.world.now);
  }

  /** It takes effect. */
  reached(life: Life, question: Question, found?: TokenSet): void {
    question.reachedIn = this.#book.world.seq;
    if (!found) return;
    this.#knows(life, question.retailer).reached.push(found);
    for (const request of this.#book.of(question.retailer).requests)
      if (request.refreshToken === found.refreshToken && this.#isHidden(request)) request.unseenBy.add(life);
  }

  /** Until the store has taken what came of it, nobody else sees it; by then its sender may have had to give up. */
  #isHidden({ isHidden, isKept, isGivenUp, sender, sentAt, refreshToken }: Request): boolean {
    if (isHidden || isKept) return isHidden;
    if (isGivenUp) return true;
    const { retailer } = partsOf(refreshToken);
    return this.#knows(sender, retailer).hasFailed(sentAt, this.#book.world.now);
  }

  loadAnswered(life: Life, question: Question, answer: Answer<TokenSet | undefined>): void {
    if (!this.#hasAnswer(life, question, answer)) return;
    const knowledge = this.#knows(life, question.retailer);
    const { value: set } = answer;
    knowledge.learned(set, question, this.#book.world);
    const isLive = knowledge.isLive(set, life.now);
    knowledge.found.set(question.number, { ...question, set, isLive });
  }

  saveAnswered(life: Life, question: Question, next: TokenSet, answer: Answer<boolean>): void {
    const knowledge = this.#knows(life, question.retailer);
    const hasAnswer = this.#hasAnswer(life, question, answer);
    const isMark = next.refusedAt !== undefined;
    if (hasAnswer) knowledge.unsavedMark = undefined;
    else if (isMark) {
      knowledge.failedMark = { access: next.access.value, in: this.#book.world.seq };
      this.#book.of(question.retailer).unmarked.add(next.refreshToken);
    }
    if (!hasAnswer) return;
    if (answer.value) knowledge.learned(next, question, this.#book.world);
    const { stored } = this.#book.of(question.retailer);
    // Nothing has come yet of one that was given up; and if the store holds another mark or note, the save goes on.
    for (const request of this.#requestsOf(life, question.retailer))
      if (request.state !== "given up")
        request.isKept ||= answer.value || stored?.access.value !== request.instead;
  }

  removeAnswered(life: Life, question: Question, answer: Answer<void>): void {
    if (!this.#hasAnswer(life, question, answer)) return;
    this.#knows(life, question.retailer).learned(undefined, question, this.#book.world);
  }

  lockAnswered(life: Life, question: Question, answer: Answer<boolean>): void {
    this.#hasAnswer(life, question, answer);
  }

  #hasAnswer<T>(life: Life, question: Question, answer: Answer<T>): answer is { readonly value: T } {
    const knowledge = this.#knows(life, question.retailer);
    if (!("givenUp" in answer)) knowledge.answered(question, this.#book.world.now, "value" in answer);
    return "value" in answer;
  }

  /** A login or a disconnect of this process ended with an error. */
  changeFailed(life: Life, retailer: string): void {
    const knowledge = this.#knows(life, retailer);
    knowledge.changeFailedIn = this.#book.world.seq;
    knowledge.changeFailedAt = this.#book.world.now;
  }

  stoodStill(life: Life, before: number): void {
    for (const request of life.requests) request.hasStoodStill = true;
    for (const knowledge of this.#book.knowledgeOf(life).values())
      knowledge.stoodStill(before, this.#book.world.now);
  }

  /** A save takes effect. */
  saved(life: Life, stored: TokenSet | undefined, next: TokenSet, replacing: TokenSet | undefined): void {
    const book = this.#book;
    const { service, logins } = book.world;
    const record = book.of(next.domainPrefix);
    if (replacing === undefined) {
      // Each login is stored once. One that was given up may be stored later; the contract says so.
      const isAwaited = logins.delete(next.access.value);
      const by = `${life.name} stores ${next.access.value}`;
      book.must(isAwaited, "disconnected", () => `${by} over whatever is there`);
      record.connected = service.familyOf(next.access.value);
    } else if (stored) {
      const isNewer =
        isNotOlder(next.refreshToken, stored.refreshToken) &&
        isNotOlder(next.access.value, stored.access.value);
      const by = `${life.name} stores ${next.refreshToken}`;
      book.must(isNewer, "login", () => `${by} over ${stored.refreshToken}`);
    }
    const isMarkTrue = next.refusedAt === undefined || service.refused.has(next.refreshToken);
    const marked = `${life.name} marks ${next.refreshToken}`;
    book.must(isMarkTrue, "mark", () => `${marked}, which was not refused`);
    record.received.add(next.refreshToken);
    // An answer that was on its way when the service refused the token: the service had accepted it before.
    if (stored?.refusedAt !== undefined && next.refusedAt === undefined)
      record.announced.delete(next.refreshToken);
    this.#left(record);
    record.stored = next;
  }

  removed(retailer: string): void {
    const record = this.#book.of(retailer);
    this.#left(record);
    record.stored = undefined;
    record.connected = undefined;
  }

  #left(record: Record): void {
    if (!record.stored) return;
    record.leftIn.set(record.stored.access.value, this.#book.world.seq - 1);
    record.leftAt.set(record.stored.access.value, this.#book.world.now);
  }

  /** A process was given the lock. */
  locked(life: Life, retailer: string): void {
    const knowledge = this.#knows(life, retailer);
    knowledge.reached = [];
    knowledge.lockedIn = this.#book.world.seq;
    knowledge.hasLostLock = false;
  }

  /** The lock may go to another while this process thinks that it has it. */
  lockLost(life: Life, retailer: string): void {
    this.#knows(life, retailer).hasLostLock = true;
    for (const request of this.#requestsOf(life, retailer)) request.isHidden ||= !request.isKept;
  }

  /** A process has ended: what it alone had is gone with it, and no client can help that. */
  died(life: Life): void {
    for (const [retailer, { issuedRefresh }] of this.#book.knowledgeOf(life)) {
      for (const request of this.#requestsOf(life, retailer)) request.isHidden ||= !request.isKept;
      const record = this.#book.of(retailer);
      const accepted = this.#book.world.service.accepted(retailer);
      if (accepted === undefined || record.stored?.refreshToken === accepted) continue;
      if (issuedRefresh.has(accepted)) record.received.delete(accepted);
    }
  }

  #knows(life: Life, retailer: string): Knowledge {
    return this.#book.knows(life, retailer);
  }

  #requestsOf(life: Life, retailer: string): Request[] {
    return this.#book.of(retailer).requests.filter(({ sender }) => sender === life);
  }
}
