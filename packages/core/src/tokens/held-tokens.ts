import type { RetailerClient } from "../client/retailer-client.js";
import { Once, type Progress } from "../platform/progress.js";
import { sleep } from "../platform/timers.js";
import type { CheckedStore } from "../store/checked-store.js";
import { mayReplace } from "../store/compare-and-set.js";
import { saveLater } from "../store/save-later.js";
import { type Question, StoreCopy } from "../store/store-copy.js";
import { isNoAnswer, STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { isExpired, isNotedAsTooEarly } from "../vocabulary/token-life.js";
import { type AccessToken, haveSameAccess, type TokenSet } from "../vocabulary/token-set.js";
import { Rejections } from "./rejected-tokens.js";

/** The parts that all retailers of one application share. */
export interface Surroundings {
  readonly store: CheckedStore;
  readonly clock: () => number;
  readonly cacheMs: number;
  /** The store did not take a set; this process keeps it and goes on trying. */
  readonly unsaved: (domainPrefix: DomainPrefix, error: unknown) => void;
  /** The store could not be read, and the live copy is used instead. */
  readonly unread: (held: HeldTokens, error: unknown) => void;
  readonly background: (work: Promise<unknown>) => void;
}

/** A set that the service has issued and the store has not taken yet. */
interface Unsaved {
  readonly set: TokenSet;
  /** What the store may hold instead: the set that was renewed, and those that it did not take before. */
  readonly over: readonly TokenSet[];
  /** The number of the question that the copy answered when the set was issued. */
  readonly order: number;
  /** This set, once the store has failed to take it; until then the unsaved set before it, if there is one. */
  served: TokenSet | undefined;
}

/** How a renewal ended. */
export interface Renewal {
  /** The set to use from now on. */
  readonly set: TokenSet;
  /** Whether the service issued it in this renewal; else another process or a login brought it. */
  readonly isIssuedHere: boolean;
}

/** The pauses before the tries to save a set (behaviour 9). */
const TRIES_AFTER_MS = [0, 50, 150, 400, 900, 1500];
/** While the store cannot be written, so many sets that it may hold are remembered. */
const MOST_UNSAVED = 16;

/**
 * One retailer's tokens as this process holds them: what the store said last, and what it has not taken yet.
 *
 * - **The store's answers** may contradict each other: {@link StoreCopy}.
 * - **Who would be turned away** is told by a question that was sent after they came: {@link HeldTokens.look}.
 * - **What the service has issued** is kept at once, and until the store has answered a save of it. Nothing else ends
 *   that but a login or a disconnect. It is handed out once it is saved, or if the store fails to take it.
 */
export class HeldTokens {
  readonly domainPrefix: DomainPrefix;
  readonly #around: Surroundings;
  readonly #copy = new StoreCopy();
  #unsaved: Unsaved | undefined = undefined;
  /** A set with the last note or mark that was made here, in case the store does not keep it. */
  #noted: TokenSet | undefined = undefined;
  #rejections: Rejections | undefined = undefined;
  #client: RetailerClient | undefined = undefined;
  /** Logins, disconnects and late answers whose end this object has to see. */
  #awaited = 0;
  readonly #looking = new Once<TokenSet | undefined>();
  readonly #saving = new Once<unknown>();
  readonly #renewing = new Once<Renewal>();

  constructor(domainPrefix: DomainPrefix, around: Surroundings) {
    this.domainPrefix = domainPrefix;
    this.#around = around;
  }

  /** The client that was kept for the next request of this retailer. */
  get client(): RetailerClient | undefined {
    return this.#client;
  }

  keepClient(client: RetailerClient): RetailerClient {
    this.#client = client;
    return client;
  }

  /** The set that is used. */
  get set(): TokenSet | undefined {
    return this.#unsaved?.served ?? this.#copy.set;
  }

  get access(): AccessToken | undefined {
    return this.set?.access;
  }

  get isUnsaved(): boolean {
    return this.#unsaved !== undefined;
  }

  /** Whether a renewal is under way, or was and is stuck. */
  get isRenewing(): boolean {
    return this.#renewing.isUnderWay;
  }

  /** Whether the renewal under way takes longer than it may: its runtime has ended it, or this thread stood still. */
  get isRenewalOverdue(): boolean {
    return this.#renewing.isOverdue;
  }

  /** Whether dropping this object would lose something: work under way, or an unsaved set. */
  get isNeeded(): boolean {
    const isUnderWay = this.#looking.isUnderWay || this.#saving.isUnderWay || this.#renewing.isUnderWay;
    return isUnderWay || this.#awaited > 0 || this.isUnsaved;
  }

  get hasRejections(): boolean {
    return this.#rejections !== undefined;
  }

  /** Another object takes this one's place: callers that still have this one go there. */
  retire(): void {
    this.#copy.distrust();
  }

  /** How long ago the copy was compared with the store, milliseconds. Below 0, if the clock was put back. */
  ageMs(now: number): number {
    return this.#copy.ageMs(now);
  }

  /** Whether the set may be used without asking the store. */
  isTrusted(now: number = this.#around.clock()): boolean {
    if (this.#unsaved?.served) return true;
    const ageMs = this.#copy.ageMs(now);
    return this.#copy.set !== undefined && ageMs >= 0 && ageMs < this.#around.cacheMs;
  }

  isLive(set: TokenSet, now: number = this.#around.clock()): boolean {
    return this.isLiveAccess(set.access, now);
  }

  isLiveAccess(access: AccessToken, now: number): boolean {
    return !isExpired(access, now) && !this.isRejected(access.value);
  }

  /** The access token that this process has now, if it is live. */
  get liveAccess(): AccessToken | undefined {
    return this.set && this.isLive(this.set) ? this.set.access : undefined;
  }

  isRejected(value: string): boolean {
    return this.#rejections?.has(value) ?? false;
  }

  /** Notes that the API rejected this set's access token. False: not believed, since the API rejects every token. */
  reject(set: TokenSet): boolean {
    this.#rejections ??= new Rejections();
    return this.#rejections.note(set, this.#around.clock());
  }

  /** Remembers what a note or a mark says, for this process: the store may not keep it. */
  remember(noted: TokenSet): void {
    this.#noted = noted;
  }

  /** The same tokens, with what this process remembers of them. */
  remembered(set: TokenSet): TokenSet {
    const noted = this.#noted;
    return noted?.refreshToken === set.refreshToken && haveSameAccess(noted, set) ? noted : set;
  }

  /** Whether a renewal of this set now would be refused, as one before was. A token that the API rejected has ended. */
  isTooEarly(set: TokenSet): boolean {
    return this.isRefusedEarly(set) && this.isLive(set);
  }

  isRefusedEarly(set: TokenSet): boolean {
    return isNotedAsTooEarly(set) || isNotedAsTooEarly(this.remembered(set));
  }

  /**
   * Asks the store, once for all who ask before it is asked. If it fails, a live set is used instead.
   *
   * @param enough gives the set that serves the caller as well, once a look that began before is over.
   */
  async look(enough?: () => TokenSet | undefined): Promise<TokenSet | undefined> {
    await this.#looking.ended();
    return enough?.() ?? this.#looking.join(STORE_MAY_TAKE_MS, () => this.#looked());
  }

  async #looked(): Promise<TokenSet | undefined> {
    try {
      const set = await (this.#unsaved?.served ? this.reload() : this.load());
      const mark = set && set.refusedAt === undefined ? this.remembered(set) : undefined;
      if (mark?.refusedAt === undefined) return set;
      return await this.note(set as TokenSet, mark).catch(() => set); // the store did not take it
    } catch (error) {
      const { set } = this;
      if (!set || !this.isLive(set)) throw error;
      if (!this.#unsaved?.served) this.#copy.trust(this.#around.clock());
      this.#around.unread(this, error);
      return set;
    }
  }

  /** What the store holds now. */
  async load(): Promise<TokenSet | undefined> {
    for (;;) {
      const question = this.#ask();
      const stored = await this.#around.store.load(this.domainPrefix, this.set);
      if (this.#take(stored, question)) return stored;
    }
  }

  /**
   * What the store holds now that it has taken what was unsaved.
   *
   * @throws {StoreFailedError} the store cannot be asked, or does not take it.
   */
  async #loadSaved(): Promise<TokenSet | undefined> {
    for (;;) {
      await this.#saved();
      const stored = await this.load();
      if (!this.#unsaved) return stored; // else late tokens came meanwhile
    }
  }

  /** The same; or the unsaved set: who cannot write may be reading from a copy of the store that is behind. */
  async reload(): Promise<TokenSet | undefined> {
    try {
      return await this.#loadSaved();
    } catch (error) {
      if (!this.#unsaved) throw error;
      return this.#unsaved.set;
    }
  }

  /**
   * Keeps a set that the service has issued, and puts it into the store in place of `stored`.
   *
   * @param tries called before each try.
   * @returns the set that counts from now on: `next`, or one that somebody else stored meanwhile; `undefined` if the
   * retailer was disconnected.
   */
  async replace(stored: TokenSet, next: TokenSet, tries?: () => void): Promise<TokenSet | undefined> {
    const unsaved = this.#keep(stored, next);
    if (!unsaved) return this.reload();
    let error: unknown;
    for (const pauseMs of TRIES_AFTER_MS) {
      if (pauseMs > 0) await sleep(pauseMs);
      tries?.();
      error = await this.saveAgain();
      if (this.#unsaved !== unsaved)
        return this.#unsaved || !this.#copy.stands ? this.reload() : this.#copy.set;
      if (isNoAnswer(error)) break; // the caller has waited five seconds already
    }
    return this.#serveUnsaved(unsaved, error);
  }

  #keep(stored: TokenSet, next: TokenSet): Unsaved | undefined {
    const before = this.#unsaved;
    if (before && !mayReplace(before.set, [stored], next)) return undefined; // newer, and the store does not know of it
    const over = before ? [...before.over, before.set] : [];
    if (before?.set !== stored) over.push(stored);
    Object.freeze(next.access);
    this.#unsaved = { set: next, over: mostOf(over), order: this.#copy.answered, served: before?.served };
    return this.#unsaved;
  }

  /** The store does not take the set. A login or a disconnect that became known meanwhile still wins. */
  #serveUnsaved(unsaved: Unsaved, error: unknown): TokenSet | undefined {
    const { set: known } = this.#copy;
    if (this.#copy.stands && !(known && mayReplace(known, unsaved.over, unsaved.set))) {
      this.#unsaved = undefined;
      return known;
    }
    if (!unsaved.served) this.#around.background(saveLater(this));
    unsaved.served = unsaved.set;
    this.#around.unsaved(this.domainPrefix, error);
    return unsaved.set;
  }

  /**
   * Tries to save what is unsaved, once for all who ask before it is tried. Every use does so until the store takes it.
   *
   * @returns why the store did not take it.
   */
  async saveAgain(): Promise<unknown> {
    await this.#saving.ended();
    return this.#saving.join(STORE_MAY_TAKE_MS, () => this.#trySaving());
  }

  async #trySaving(): Promise<unknown> {
    const unsaved = this.#unsaved;
    if (!unsaved) return undefined;
    const question = this.#ask();
    try {
      const kept = await this.#around.store.putQuietly(unsaved.set, unsaved.over);
      if (this.#unsaved === unsaved) this.#unsaved = undefined;
      this.#take(kept, question);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #saved(): Promise<void> {
    while (this.#unsaved) {
      const error = await this.saveAgain();
      if (error && this.#unsaved) throw error;
    }
  }

  /**
   * Writes a note or a mark on the stored set.
   *
   * @returns the set that the store holds afterwards: `noted`, or one that somebody else stored meanwhile.
   * @throws {StoreFailedError} also if the store does not take what is unsaved, which may be newer.
   */
  async note(stored: TokenSet, noted: TokenSet): Promise<TokenSet | undefined> {
    await this.#saved();
    const question = this.#ask();
    const kept = await this.#around.store.put(noted, [stored]);
    return this.#take(kept, question) ? kept : this.#loadSaved();
  }

  /** A login or, without a set, a disconnect. `change` writes it to the store without comparing. */
  async logIn(set: TokenSet | undefined, change: () => Promise<void>): Promise<void> {
    const question = this.#ask();
    try {
      await this.keepFor(change());
    } catch (error) {
      this.#copy.distrust(); // the change may have been made all the same
      throw error;
    }
    this.#rejections?.startAnew();
    if (this.#unsaved && this.#unsaved.order > question.order) {
      await this.saveAgain(); // renewed perhaps from this very login: the store knows
    } else {
      this.#unsaved = undefined;
      this.#take(set, question);
    }
  }

  /** Joins the renewal under way, or begins one: it is done once for all who ask at the same time. */
  renewOnce(mayTakeMs: number, work: (progress: Progress) => Promise<Renewal>): Promise<Renewal> {
    const begins = !this.isRenewing || this.isRenewalOverdue;
    const renewal = this.#renewing.join(mayTakeMs, work);
    if (begins) this.#around.background(renewal);
    return renewal;
  }

  /** Until this work is over, no other object takes this one's place. */
  async keepFor<T>(work: Promise<T>): Promise<T> {
    this.#awaited += 1;
    try {
      return await work;
    } finally {
      this.#awaited -= 1;
    }
  }

  #ask(): Question {
    return this.#copy.ask(this.#around.clock());
  }

  #take(answer: TokenSet | undefined, question: Question): boolean {
    if (answer) Object.freeze(answer.access); // it is handed out
    return this.#copy.take(answer, question);
  }
}

/** The store may hold the set from before the first try, or one of the latest tries; the rest is dropped. */
function mostOf([first, ...later]: readonly TokenSet[]): TokenSet[] {
  return [...(first ? [first] : []), ...later.slice(-MOST_UNSAVED)];
}
