import { longestPauseAfter } from "./back-off.js";
import type { CheckedStore } from "./checked-store.js";
import { mayReplace } from "./compare-and-set.js";
import type { DomainPrefix } from "./domain-prefix.js";
import { Rejections } from "./rejections.js";
import type { RetailerClient } from "./retailer-client.js";
import { unref } from "./timers.js";
import { isExpired, renewalDueAt } from "./token-life.js";
import type { AccessToken, TokenSet } from "./token-set.js";

/** What all retailers of one application share. */
export interface Surroundings {
  readonly store: CheckedStore;
  readonly clock: () => number;
  readonly cacheMs: number;
  readonly renewEarlyMs: number;
  /** The store did not take a set; this process keeps it and goes on trying. */
  readonly unsaved: (domainPrefix: DomainPrefix, error: unknown) => void;
  /** The store could not be read, and the live copy is used instead. */
  readonly unread: (held: HeldTokens, error: unknown) => void;
}

/** Something the store was asked or told, and what was known when it was. */
interface Question {
  /** Questions are numbered in the order in which they are sent. */
  readonly order: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly changes: number;
}

/** How a renewal ended. */
export interface Renewal {
  /** The set to use from now on. */
  readonly set: TokenSet;
  /** Whether the service issued it in this renewal; else another process or a login brought it. */
  readonly isIssuedHere: boolean;
}

/** A look at the store, shared by those who may trust it. */
interface Look {
  readonly order: number;
  readonly at: number;
  /** Whoever asks before any other code has run may share it, however strict they are. */
  isOfThisTurn: boolean;
  readonly result: Promise<TokenSet | undefined>;
  /** The look that follows, for those who asked after this one had begun. */
  next?: Promise<TokenSet | undefined>;
}

/** How many sets are remembered that the store may hold while it cannot be written. */
const MOST_UNSAVED = 16;

/**
 * One retailer's tokens as this process holds them: a copy of what the store has, kept in step with it.
 *
 * Loads, saves, logins and renewals overlap, and their answers come in any order. Three guards keep the copy true:
 * - Overlap: an answer that was on its way while the copy changed, and that disagrees with the copy, is not believed
 *   and not dropped; the store is asked again.
 * - Freshness: the age of a copy counts from its question, not from its answer; and nobody is told "not connected" or
 *   "log in again" because of a question that was sent before they asked.
 * - Unsaved: the store may have taken a save whose answer was lost. While a set is unsaved, every set that the store
 *   may hold is remembered, and any of these may be replaced.
 */
export class HeldTokens {
  /** While `checkedAt <= now < goodUntil` there is nothing to do but hand this out. */
  access: AccessToken | undefined = undefined;
  goodUntil: number = Number.NEGATIVE_INFINITY;
  /** When the question was sent whose answer the copy rests on, epoch milliseconds. */
  checkedAt: number = Number.NEGATIVE_INFINITY;
  readonly domainPrefix: DomainPrefix;
  /** The renewal under way; only `renew` of renewals.ts sets it. */
  renewing: Promise<Renewal> | undefined = undefined;

  /** Kept for the next who asks for it; only `client` of stored-tokens.ts sets it. */
  client: RetailerClient | undefined = undefined;

  readonly #around: Surroundings;
  #set: TokenSet | undefined = undefined;
  #rejections: Rejections | undefined = undefined;
  /** How often the copy became another. */
  #changes = 0;
  /** Questions sent so far, and the latest whose answer the copy rests on. */
  #asked = 0;
  #answered = 0;
  #look: Look | undefined = undefined;
  #saving: Promise<void> | undefined = undefined;
  /** Logins and disconnects whose save is under way. */
  #loggingIn = 0;
  /** The sets of which the store should still hold one; empty while it holds ours. */
  #unsavedOver: readonly TokenSet[] = NONE;

  constructor(domainPrefix: DomainPrefix, around: Surroundings) {
    this.domainPrefix = domainPrefix;
    this.#around = around;
  }

  get set(): TokenSet | undefined {
    return this.#set;
  }

  get isUnsaved(): boolean {
    return this.#unsavedOver.length > 0;
  }

  /** Whether dropping this object would lose something: work under way, or an unsaved set. */
  get isNeeded(): boolean {
    return Boolean(this.#look || this.renewing || this.#saving || this.#loggingIn) || this.isUnsaved;
  }

  get hasRejections(): boolean {
    return this.#rejections !== undefined;
  }

  isLive(set: TokenSet, now: number = this.#around.clock()): boolean {
    return !isExpired(set, now) && !this.isRejected(set.access.value);
  }

  isRejected(value: string): boolean {
    return this.#rejections?.has(value) ?? false;
  }

  /** Whether the copy may be used without asking the store. */
  isTrusted(now: number = this.#around.clock()): boolean {
    const ageMs = now - this.checkedAt;
    return this.#set !== undefined && (this.isUnsaved || (ageMs >= 0 && ageMs < this.#around.cacheMs));
  }

  /** Notes that the API rejected this set's access token. False: not believed, the API rejects whatever is issued. */
  reject(set: TokenSet): boolean {
    this.#rejections ??= new Rejections();
    const isBelieved = this.#rejections.note(set, this.#around.clock());
    if (isBelieved) this.goodUntil = Number.NEGATIVE_INFINITY;
    return isBelieved;
  }

  /** Stands for "now" in {@link look} and {@link isSince}: questions with a higher number are sent later. */
  get asked(): number {
    return this.#look?.isOfThisTurn ? this.#look.order - 1 : this.#asked;
  }

  /** Whether the copy rests on a question that was sent after `asked` was read. */
  isSince(asked: number): boolean {
    return this.#answered > asked;
  }

  /**
   * Reads the store, once for all who ask at the same time. If it fails, a live copy is used instead.
   *
   * @param asked as read when the caller came: a look that began later always serves.
   * @param maxAgeMs a look that began earlier serves while it is younger than this.
   */
  look(asked: number, maxAgeMs: number = this.#around.cacheMs): Promise<TokenSet | undefined> {
    const look = this.#look;
    if (!look) return this.#startLook();
    const ageMs = this.#around.clock() - look.at;
    if (look.order > asked || (ageMs >= 0 && ageMs < maxAgeMs)) return look.result;
    const after = () => this.#look?.result ?? this.#startLook();
    look.next ??= look.result.then(after, after);
    return look.next;
  }

  /** What the store holds, never older than this call; while a set is unsaved, that one. */
  async reload(): Promise<TokenSet | undefined> {
    if (this.isUnsaved) await this.saveAgain();
    for (;;) {
      if (this.isUnsaved) return this.#set;
      const question = this.#ask();
      const stored = await this.#around.store.load(this.domainPrefix, this.#set);
      if (this.#agrees(stored, question)) return this.#hold(stored, question);
    }
  }

  /**
   * Puts a set into the store in place of `stored`, and returns what counts from now on: `next`, or what somebody else
   * stored meanwhile, or nothing if the retailer was disconnected. What the store cannot take, this process keeps.
   */
  async replace(stored: TokenSet, next: TokenSet): Promise<TokenSet | undefined> {
    const { replacing, question } = await this.#beforeReplacing(stored);
    let kept: TokenSet | undefined;
    try {
      kept = await this.#around.store.putPatiently(next, replacing);
    } catch (error) {
      return this.#keepUnsaved(next, replacing, error);
    }
    return this.#agrees(kept, question) ? this.#hold(kept, question) : this.reload();
  }

  /**
   * The same for a mark on the stored set, that its refresh token was refused. What it returns was compared with the
   * store after the refusal: it may be newer, and then the refusal is nobody's concern.
   *
   * @throws {StoreFailedError} nobody knows what the store holds.
   */
  async mark(stored: TokenSet, marked: TokenSet): Promise<TokenSet | undefined> {
    const { replacing, question } = await this.#beforeReplacing(stored);
    let kept: TokenSet | undefined;
    try {
      kept = await this.#around.store.put(marked, replacing);
    } catch (error) {
      const found = await this.reload();
      if (this.isUnsaved) throw error;
      return found?.version === stored.version ? this.#keepUnsaved(marked, replacing, error) : found;
    }
    return this.#agrees(kept, question) ? this.#hold(kept, question) : this.reload();
  }

  /** Writes a note on the stored set. Nothing depends on it: what the store does not take is let be. */
  async note(stored: TokenSet, noted: TokenSet): Promise<void> {
    const { replacing, question } = await this.#beforeReplacing(stored);
    try {
      const kept = await this.#around.store.put(noted, replacing);
      if (this.#agrees(kept, question)) this.#hold(kept, question);
      else this.#distrust();
    } catch {
      // Told by the store; this process remembers the limit by itself.
    }
  }

  /** A login or, without a set, a disconnect. `change` makes it in the store, whatever that holds. */
  async logIn(set: TokenSet | undefined, change: () => Promise<void>): Promise<void> {
    const question = this.#ask();
    this.#loggingIn += 1;
    try {
      await change();
    } catch (error) {
      this.#distrust(); // it may have taken effect
      throw error;
    } finally {
      this.#loggingIn -= 1;
    }
    this.#rejections?.startAnew();
    if (this.isUnsaved || this.#agrees(set, question)) this.#hold(set, question);
    else this.#distrust();
  }

  /** Another try to save; on every use, until the store takes what this process holds. */
  async saveAgain(): Promise<void> {
    await this.#saving; // that attempt may have begun before this call
    if (!this.isUnsaved) return;
    this.#saving ??= this.#trySaving().finally(() => {
      this.#saving = undefined;
    });
    await this.#saving;
  }

  async #trySaving(): Promise<void> {
    const set = this.#set;
    const question = this.#ask();
    try {
      const kept = set && (await this.#around.store.putQuietly(set, this.#unsavedOver));
      if (this.#agrees(kept, question)) this.#hold(kept, question);
      else this.#distrust();
    } catch {
      // Observed when it first failed; the set stays in this process and is tried again.
    }
  }

  /** For the time when nobody asks: meanwhile another process may be refused the spent refresh token. */
  #saveLater(tries = 1): void {
    const timer = setTimeout(async () => {
      await this.saveAgain();
      if (this.isUnsaved) this.#saveLater(tries + 1);
    }, longestPauseAfter(tries));
    unref(timer);
  }

  /** The store did not take it. What became known of a login or a disconnect meanwhile counts nevertheless. */
  #keepUnsaved(next: TokenSet, replacing: readonly TokenSet[], error: unknown): TokenSet | undefined {
    const known = this.#set;
    if (!known || !mayReplace(known, replacing, next)) return known;
    if (!this.isUnsaved) this.#saveLater();
    this.#hold(next, undefined, replacing);
    this.#around.unsaved(this.domainPrefix, error);
    return next;
  }

  async #beforeReplacing(stored: TokenSet): Promise<{ replacing: readonly TokenSet[]; question: Question }> {
    await this.#saving; // or the store could hold more than we know
    const replacing = this.isUnsaved ? withOneMore(this.#unsavedOver, stored) : [stored];
    return { replacing, question: this.#ask() };
  }

  #startLook(): Promise<TokenSet | undefined> {
    const { clock } = this.#around;
    const order = this.#asked + 1;
    const result = this.#read();
    const look: Look = { order, at: clock(), isOfThisTurn: true, result };
    this.#look = look;
    queueMicrotask(() => {
      look.isOfThisTurn = false;
    });
    const over = () => {
      if (this.#look === look) this.#look = undefined;
    };
    result.then(over, over);
    return result;
  }

  async #read(): Promise<TokenSet | undefined> {
    try {
      return await this.reload();
    } catch (error) {
      if (!this.#set || !this.isLive(this.#set)) throw error;
      this.#checked(this.#around.clock());
      this.#around.unread(this, error);
      return this.#set;
    }
  }

  #ask(): Question {
    this.#asked += 1;
    return { order: this.#asked, at: this.#around.clock(), changes: this.#changes };
  }

  /** The guard against overlaps: nothing else became known since the question, or it says the same. */
  #agrees(answer: TokenSet | undefined, { changes }: Question): boolean {
    return this.#changes === changes || answer?.version === this.#set?.version;
  }

  /** Without a question the store has not answered: the set is unsaved. */
  #hold(
    set: TokenSet | undefined,
    question: Question | undefined,
    unsavedOver: readonly TokenSet[] = NONE,
  ): TokenSet | undefined {
    if (set) Object.freeze(set.access); // it is handed out
    if (set?.version !== this.#set?.version) this.#changes += 1;
    this.#set = set;
    this.#unsavedOver = unsavedOver;
    this.#answered = Math.max(this.#answered, question?.order ?? 0);
    this.#checked(question?.at ?? this.#around.clock());
    return set;
  }

  /** The copy was compared with the store: until when is there nothing to do about it? */
  #checked(at: number): void {
    const set = this.#set;
    const { cacheMs, renewEarlyMs } = this.#around;
    this.checkedAt = at;
    this.access = set?.access;
    const isGood = set !== undefined && !this.isUnsaved && this.isLive(set);
    this.goodUntil = isGood
      ? Math.min(at + cacheMs, renewalDueAt(set, renewEarlyMs))
      : Number.NEGATIVE_INFINITY;
  }

  /** The next to ask looks at the store. */
  #distrust(): void {
    this.checkedAt = Number.NEGATIVE_INFINITY;
    this.goodUntil = Number.NEGATIVE_INFINITY;
  }
}

const NONE: readonly never[] = [];

/** Of many tries, the set that was stored before them and the latest are the ones a store may hold. */
function withOneMore([first, ...later]: readonly TokenSet[], stored: TokenSet): TokenSet[] {
  return [...(first ? [first] : []), ...later.slice(-MOST_UNSAVED), stored];
}
