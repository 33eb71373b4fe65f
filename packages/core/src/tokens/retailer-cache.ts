import { type Heartbeat, Once } from "../platform/heartbeat.js";
import { sleep } from "../platform/timers.js";
import { mayReplace } from "../store/compare-and-set.js";
import { saveLater } from "../store/save-later.js";
import { type Question, StoreCopy } from "../store/store-copy.js";
import { isNoAnswer, STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { isStoreFailure, type RetailPosError } from "../vocabulary/errors.js";
import { tellStoreFailed } from "../vocabulary/events.js";
import { isExpired } from "../vocabulary/token-life.js";
import { type AccessToken, haveSameAccess, type TokenSet } from "../vocabulary/token-set.js";
import { type Decision, decide, type Facts, heldBackBy, type LocalNote } from "./decide.js";
import type { Deps } from "./deps.js";
import { Rejections } from "./rejected-tokens.js";
import { recordFailure } from "./renewal-failures.js";

/** A set that the service has issued and the store has not taken yet. */
interface Unsaved {
  readonly set: TokenSet;
  /** What the store may hold instead: the set that was renewed, and those that it did not take before. */
  readonly over: readonly TokenSet[];
  /**
   * The latest question that the store had answered when the set was issued: later than a login, it may be the login's.
   */
  readonly answeredBefore: number;
  /** What callers get meanwhile: this set, once the store has failed to take it; until then the unsaved one before. */
  usable: TokenSet | undefined;
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
 * What this process knows of one retailer: what the store said last, and what it has not taken yet.
 *
 * - **The store's answers** may contradict each other: {@link StoreCopy}.
 * - **A caller is turned away** only by a load that began after the caller came: {@link RetailerCache.load}.
 * - **What the service has issued** is kept at once, until the store takes it or holds a newer set, or until a login or
 *   a disconnect. It is handed out once it is saved, or if the store fails to take it.
 */
export class RetailerCache {
  readonly domainPrefix: DomainPrefix;
  readonly #deps: Deps;
  readonly #copy = new StoreCopy();
  #unsaved: Unsaved | undefined = undefined;
  #localNote: LocalNote | undefined = undefined;
  #rejections: Rejections | undefined = undefined;
  /** By then, work whose end this object has to see (logins, disconnects, late answers) has surely ended. */
  #neededUntil = 0;
  readonly #loading = new Once<TokenSet | undefined>();
  readonly #saving = new Once<unknown>();
  readonly #renewing = new Once<Renewal>();

  constructor(domainPrefix: DomainPrefix, deps: Deps) {
    this.domainPrefix = domainPrefix;
    this.#deps = deps;
  }

  /** The set that is used. */
  get set(): TokenSet | undefined {
    return this.#unsaved?.usable ?? this.#copy.set;
  }

  /** Whether a try to save is under way. */
  get isSaving(): boolean {
    return this.#saving.isUnderWay;
  }

  get isUnsaved(): boolean {
    return this.#unsaved !== undefined;
  }

  /** Whether a renewal is under way, or was and is abandoned. */
  get isRenewing(): boolean {
    return this.#renewing.isUnderWay;
  }

  /** Whether the renewal under way takes longer than it may: its runtime has ended it, or this thread stood still. */
  get isRenewalOverdue(): boolean {
    return this.#renewing.isOverdue;
  }

  /** Whether dropping this object would lose something: work under way, or an unsaved set. */
  get isNeeded(): boolean {
    const isUnderWay = this.#loading.isUnderWay || this.#saving.isUnderWay || this.#renewing.isUnderWay;
    return isUnderWay || performance.now() < this.#neededUntil || this.isUnsaved;
  }

  /** For so long, no other object takes this one's place. */
  keepFor(ms: number): void {
    this.#neededUntil = Math.max(this.#neededUntil, performance.now() + ms);
  }

  get hasRejections(): boolean {
    return this.#rejections !== undefined;
  }

  /** How long ago the copy was compared with the store, milliseconds. Below 0, if the clock was put back. */
  ageMs(now: number): number {
    return this.#copy.ageMs(now);
  }

  /** Whether the set may be used without asking the store: it was asked lately, or has not taken the set. */
  isFresh(now: number = this.#deps.clock()): boolean {
    if (this.#unsaved?.usable) return true;
    const ageMs = this.#copy.ageMs(now);
    return this.#copy.set !== undefined && ageMs >= 0 && ageMs < this.#deps.cacheMs;
  }

  isLive({ access }: TokenSet): boolean {
    return !isExpired(access, this.#deps.clock()) && !this.isRejected(access.value);
  }

  /** The access token that this process has now, if it is live. */
  get liveAccess(): AccessToken | undefined {
    return this.set && this.isLive(this.set) ? this.set.access : undefined;
  }

  isRejected(value: string): boolean {
    return this.#rejections?.has(value) ?? false;
  }

  /** Records that the API rejected this set's access token. False: not believed, since the API rejects every token. */
  reject(set: TokenSet): boolean {
    this.#rejections ??= new Rejections();
    return this.#rejections.record(set, this.#deps.clock());
  }

  /** What a caller gets of a set that is fresh, or was loaded for the caller. */
  decide(set: TokenSet, now?: number): Decision {
    return decide(set, this.#facts(set, now));
  }

  /** Why no token request may be sent for the set now. */
  heldBackBy(set: TokenSet): RetailPosError | undefined {
    return heldBackBy(set, this.#facts(set));
  }

  #facts(set: TokenSet, now: number = this.#deps.clock()): Facts {
    return {
      now,
      renewEarlyMs: this.#deps.renewEarlyMs,
      isRejected: this.isRejected(set.access.value),
      localNote: this.localNote(set),
      pause: this.#deps.backOff.pause(this.domainPrefix, now),
    };
  }

  keepLocalNote(note: LocalNote): void {
    this.#localNote = note;
  }

  /** What this process knows of a refusal of these tokens. */
  localNote(set: TokenSet): LocalNote | undefined {
    const note = this.#localNote;
    return note?.set.refreshToken === set.refreshToken && haveSameAccess(note.set, set) ? note : undefined;
  }

  /**
   * Asks the store, once for all who ask before it is asked. If it fails, a live set is used instead (as with
   * `stale-if-error`, RFC 5861).
   *
   * @param enough gives the set that serves the caller as well, once a load that began before is over.
   */
  async load(enough?: () => TokenSet | undefined): Promise<TokenSet | undefined> {
    await this.#loading.ended();
    return enough?.() ?? this.#loading.join(STORE_MAY_TAKE_MS, () => this.#loadOrStale());
  }

  async #loadOrStale(): Promise<TokenSet | undefined> {
    try {
      const set = await (this.#unsaved?.usable ? this.reload() : this.loadNow());
      const note = set && this.localNote(set);
      if (!note || note.isStored || note.set.refusedAt === undefined || set.refusedAt !== undefined)
        return set;
      const stored = await this.update(set, note.set).catch(() => set); // the store did not take the mark before
      if (stored?.version === note.set.version) this.keepLocalNote({ ...note, isStored: true });
      return stored;
    } catch (error) {
      const { set } = this;
      if (!set || !this.isLive(set)) throw error;
      if (!this.#unsaved?.usable) this.#copy.trust(this.#deps.clock());
      recordFailure(this, error, this.#deps);
      return set;
    }
  }

  /** What the store holds now. */
  async loadNow(): Promise<TokenSet | undefined> {
    for (;;) {
      const question = this.#ask();
      const stored = await this.#deps.store.load(this.domainPrefix, this.set);
      if (this.#take(stored, question)) return stored;
    }
  }

  /**
   * What the store holds once it has taken what was unsaved.
   *
   * @throws {StoreFailedError} the store cannot be asked, or does not take it.
   */
  async #saveThenLoad(): Promise<TokenSet | undefined> {
    for (;;) {
      await this.#untilSaved();
      const stored = await this.loadNow();
      if (!this.#unsaved) return stored; // else late tokens came meanwhile
    }
  }

  /**
   * Saves what is unsaved, then loads. While the store does not take the unsaved set, that set itself: a store that
   * cannot be written may be read from a copy that is behind.
   */
  async reload(): Promise<TokenSet | undefined> {
    try {
      return await this.#saveThenLoad();
    } catch (error) {
      if (!this.#unsaved) throw error;
      return this.#unsaved.set;
    }
  }

  /**
   * Keeps a set that the service has issued, and puts it into the store in place of `stored`.
   *
   * @param beforeEachTry called before each try to save.
   * @returns the set that counts from now on: `next`, or one that was stored meanwhile; `undefined` if the retailer was
   * disconnected.
   */
  async replace(stored: TokenSet, next: TokenSet, beforeEachTry?: () => void): Promise<TokenSet | undefined> {
    const unsaved = this.#keep(stored, next);
    if (!unsaved) return this.reload();
    let error: unknown;
    for (const pauseMs of TRIES_AFTER_MS) {
      if (pauseMs > 0) await sleep(pauseMs);
      beforeEachTry?.();
      error = await this.saveUnsaved();
      // The store has answered, or a login or newer tokens came: the copy counts if it is certain.
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
    this.#unsaved = {
      set: next,
      over: mostOf(over),
      answeredBefore: this.#copy.answered,
      usable: before?.usable,
    };
    return this.#unsaved;
  }

  /** The store does not take the set. A login or a disconnect that became known meanwhile still wins. */
  #serveUnsaved(unsaved: Unsaved, error: unknown): TokenSet | undefined {
    const { set: known } = this.#copy;
    if (this.#copy.stands && !(known && mayReplace(known, unsaved.over, unsaved.set))) {
      this.#unsaved = undefined;
      return known;
    }
    const { tell, background } = this.#deps;
    if (!unsaved.usable) background(saveLater(this));
    unsaved.usable = unsaved.set;
    if (isStoreFailure(error)) tellStoreFailed(tell, error);
    tell({ type: "unsaved", domainPrefix: this.domainPrefix, error });
    return unsaved.set;
  }

  /**
   * Tries to save what is unsaved, once for all who ask before it is tried. Every use does so until the store takes it.
   *
   * @returns why the store did not take it.
   */
  async saveUnsaved(): Promise<unknown> {
    await this.#saving.ended();
    return this.#saving.join(STORE_MAY_TAKE_MS, () => this.#trySave());
  }

  async #trySave(): Promise<unknown> {
    const unsaved = this.#unsaved;
    if (!unsaved) return undefined;
    const question = this.#ask();
    try {
      const stored = await this.#deps.store.putQuietly(unsaved.set, unsaved.over);
      if (this.#unsaved === unsaved) this.#unsaved = undefined;
      this.#take(stored, question);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #untilSaved(): Promise<void> {
    while (this.#unsaved) {
      const error = await this.saveUnsaved();
      if (error && this.#unsaved) throw error;
    }
  }

  /**
   * Writes what became known of the stored tokens (`refusedAt`, `refusedEarlyAt`, `limitedUntil`) into the store.
   *
   * @param changed the same tokens with those fields, under a new version.
   * @returns the set that the store holds afterwards: `changed`, or one that was stored meanwhile.
   * @throws {StoreFailedError} also if the store does not take what is unsaved, which may be newer.
   */
  async update(stored: TokenSet, changed: TokenSet): Promise<TokenSet | undefined> {
    await this.#untilSaved();
    const question = this.#ask();
    const now = await this.#deps.store.put(changed, [stored]);
    return this.#take(now, question) ? now : this.#saveThenLoad();
  }

  /** A login or, without a set, a disconnect. `change` writes it to the store without comparing. */
  async logIn(set: TokenSet | undefined, change: () => Promise<void>): Promise<void> {
    const question = this.#ask();
    try {
      this.keepFor(STORE_MAY_TAKE_MS);
      await change();
    } catch (error) {
      this.#copy.distrust(); // the change may have been made all the same
      throw error;
    }
    this.#rejections?.startAnew();
    this.#localNote = undefined;
    if (this.#unsaved && this.#unsaved.answeredBefore > question.order) {
      await this.saveUnsaved(); // renewed perhaps from this very login: the store knows
    } else {
      this.#unsaved = undefined;
      this.#take(set, question);
    }
  }

  /** Joins the renewal under way, or begins one: it is done once for all who ask at the same time. */
  renewOnce(mayTakeMs: number, work: (heartbeat: Heartbeat) => Promise<Renewal>): Promise<Renewal> {
    const begins = !this.isRenewing || this.isRenewalOverdue;
    const renewal = this.#renewing.join(mayTakeMs, work);
    if (begins) this.#deps.background(renewal);
    return renewal;
  }

  #ask(): Question {
    return this.#copy.ask(this.#deps.clock());
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
