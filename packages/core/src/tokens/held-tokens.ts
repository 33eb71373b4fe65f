import type { RetailerClient } from "../client/retailer-client.js";
import { Progress, SharedWork, STUCK } from "../platform/progress.js";
import type { CheckedStore } from "../store/checked-store.js";
import { mayReplace } from "../store/compare-and-set.js";
import { saveLater } from "../store/save-later.js";
import { STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { isExpired, isNotedAsTooEarly, renewalDueAt } from "../vocabulary/token-life.js";
import type { AccessToken, TokenSet } from "../vocabulary/token-set.js";
import { Rejections } from "./rejected-tokens.js";

/** The parts that all retailers of one application share. */
export interface Surroundings {
  readonly store: CheckedStore;
  readonly clock: () => number;
  readonly cacheMs: number;
  readonly renewEarlyMs: number;
  /** The store did not take a set; this process keeps it and goes on trying. */
  readonly unsaved: (domainPrefix: DomainPrefix, error: unknown) => void;
  /** The store could not be read, and the live copy is used instead. */
  readonly unread: (held: HeldTokens, error: unknown) => void;
  readonly background: (work: Promise<unknown>) => void;
}

/** One question to the store, a load or a save, and the state of the copy when it was sent. */
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
  readonly work: SharedWork<TokenSet | undefined>;
}

/** While the store cannot be written, so many sets that it may hold are remembered. */
const MOST_UNSAVED = 16;

/**
 * One retailer's tokens as this process holds them: a copy of what the store has, kept in step with it.
 *
 * Loads, saves, logins and renewals overlap, and their answers come in any order. Three guards keep the copy true:
 * - Overlap: if the copy changed while an answer was on its way, and the answer disagrees with the copy, it is neither
 *   believed nor dropped: the store is asked again.
 * - Freshness: the age of a copy counts from its question, not from its answer; and no caller is told "not connected"
 *   or "log in again" because of a question that was sent before they asked.
 * - Unsaved: the store may have taken a save whose answer was lost. While a set is unsaved, every set that the store
 *   may hold is remembered, and any of these may be replaced.
 */
export class HeldTokens {
  readonly domainPrefix: DomainPrefix;
  /** The copy; its access token is the very object that is handed out. */
  #set: TokenSet | undefined = undefined;
  /** So long after the copy was checked, its token is handed out and nothing else needs to be done. */
  #goodForMs = 0;
  /** The copy is the answer to a question; this is when that question was sent, epoch milliseconds. */
  #checkedAt: number | undefined = undefined;
  /** The store has given an answer that disagrees with the copy, and was not asked again yet. */
  #isContradicted = false;

  readonly #around: Surroundings;
  /** How often the copy was replaced by another set. */
  #changes = 0;
  /** The number of questions sent so far, and the number of the one that the copy answers. */
  #asked = 0;
  #answered = 0;
  #client: RetailerClient | undefined = undefined;
  #look: Look | undefined = undefined;
  #renewing: SharedWork<Renewal> | undefined = undefined;
  #saving: SharedWork<void> | undefined = undefined;
  /** Logins and disconnects whose save is under way. */
  #loggingIn = 0;
  /** Answers that may still come after their deadline. */
  #late = 0;
  /** The store holds one of these sets instead of ours; empty if it holds ours. */
  #unsavedOver: readonly TokenSet[] = NONE;
  #rejections: Rejections | undefined = undefined;
  /** The access token that the service did not renew before its end. */
  #refusedEarly: string | undefined = undefined;

  constructor(domainPrefix: DomainPrefix, around: Surroundings) {
    this.domainPrefix = domainPrefix;
    this.#around = around;
  }

  /** Whether a renewal is under way, or was and is stuck. */
  get isRenewing(): boolean {
    return this.#renewing !== undefined;
  }

  /** Whether the renewal under way takes longer than it may: its runtime has ended it, or this thread stood still. */
  get isRenewalOverdue(): boolean {
    return this.#renewing?.progress.isOverdue ?? false;
  }

  /** The client that was kept for the next request of this retailer. */
  get client(): RetailerClient | undefined {
    return this.#client;
  }

  keepClient(client: RetailerClient): RetailerClient {
    this.#client = client;
    return client;
  }

  get set(): TokenSet | undefined {
    return this.#set;
  }

  get access(): AccessToken | undefined {
    return this.#set?.access;
  }

  /** Whether it is a copy of this very set; of none, if there is none. */
  isCopyOf(set: TokenSet | undefined): boolean {
    return this.#set?.version === set?.version;
  }

  get isUnsaved(): boolean {
    return this.#unsavedOver.length > 0;
  }

  /** Whether dropping this object would lose something: work under way, or an unsaved set. */
  get isNeeded(): boolean {
    const isUnderWay = this.#look || this.#renewing || this.#saving || this.#loggingIn || this.#late;
    return Boolean(isUnderWay) || this.isUnsaved;
  }

  get hasRejections(): boolean {
    return this.#rejections !== undefined;
  }

  /** Another object takes this one's place: callers that still have this one go there. */
  retire(): void {
    this.#goodForMs = 0;
  }

  /** How long ago the copy was compared with the store, milliseconds. Below 0, if the clock was put back. */
  ageMs(now: number): number {
    return now - (this.#checkedAt ?? NEVER);
  }

  /** Whether the copy's token may be handed out and nothing else needs to be done. Nearly every call ends here. */
  isGood(now: number): boolean {
    const ageMs = this.ageMs(now);
    return ageMs >= 0 && ageMs < this.#goodForMs;
  }

  isLive(set: TokenSet, now: number = this.#around.clock()): boolean {
    return this.isLiveAccess(set.access, now);
  }

  isLiveAccess(access: AccessToken, now: number): boolean {
    return !isExpired(access, now) && !this.isRejected(access.value);
  }

  /** The copy, if it is used while the store cannot be asked: it is live, and no later answer has contradicted it. */
  get standIn(): TokenSet | undefined {
    return this.#set && !this.#isContradicted && this.isLive(this.#set) ? this.#set : undefined;
  }

  /** The service does not renew this set's access token before its end; kept here too, if the store keeps no note. */
  refuseEarly({ access }: TokenSet): void {
    this.#refusedEarly = access.value;
  }

  /** Whether a renewal of this set now would be refused, as one before was. A token that the API rejected has ended. */
  isTooEarly(set: TokenSet): boolean {
    return this.isRefusedEarly(set) && this.isLive(set);
  }

  isRefusedEarly(set: TokenSet): boolean {
    return isNotedAsTooEarly(set) || set.access.value === this.#refusedEarly;
  }

  isRejected(value: string): boolean {
    return this.#rejections?.has(value) ?? false;
  }

  /** Whether the copy may be used without asking the store. */
  isTrusted(now: number = this.#around.clock()): boolean {
    const ageMs = this.ageMs(now);
    return this.access !== undefined && (this.isUnsaved || (ageMs >= 0 && ageMs < this.#around.cacheMs));
  }

  /** Notes that the API rejected this set's access token. False: not believed, since the API rejects every token. */
  reject(set: TokenSet): boolean {
    this.#rejections ??= new Rejections();
    const isBelieved = this.#rejections.note(set, this.#around.clock());
    if (isBelieved) this.#goodForMs = 0;
    return isBelieved;
  }

  /** The number that stands for "now" in {@link look} and {@link isSince}: later questions have higher numbers. */
  get asked(): number {
    return this.#asked;
  }

  /** Whether the copy answers a question that was sent after `asked` was read. */
  isSince(asked: number): boolean {
    return this.#answered > asked;
  }

  /**
   * Reads the store, once for all who ask at the same time. If it fails, a live copy is used instead.
   *
   * @param asked as read when the caller came: a look that began later always serves.
   * @param maxAgeMs a look that began earlier serves while it is younger than this.
   */
  async look(asked: number, maxAgeMs: number = this.#around.cacheMs): Promise<TokenSet | undefined> {
    for (let look = this.#look; look; look = this.#look) {
      const ageMs = this.#around.clock() - look.at;
      const isFresh = look.order > asked || (ageMs >= 0 && ageMs < maxAgeMs);
      const end = look.work.wait();
      const found = await (isFresh ? end : end.catch(() => undefined)); // if it is not, the next look counts
      if (found !== STUCK && isFresh) return found;
      if (found === STUCK && this.#look === look) this.#look = undefined;
    }
    return this.#startLook();
  }

  /**
   * Loads what the store holds now. While a set is unsaved, that set counts instead: who cannot write may be reading
   * from a copy of the store that is behind. But a verdict that is unsaved gives way to a login in the store.
   */
  async reload(): Promise<TokenSet | undefined> {
    for (;;) {
      if (this.isUnsaved) await this.saveAgain();
      const unsaved = this.isUnsaved ? this.set : undefined;
      if (unsaved && unsaved.refusedAt === undefined) return unsaved;
      const question = this.#ask();
      const stored = await this.#loaded(unsaved);
      if (unsaved && (stored === unsaved || this.#isOlder(stored, unsaved))) return this.set;
      if (this.#agrees(stored, question)) return this.#hold(stored, question);
      this.#contradict(); // as in #askAgain
    }
  }

  /** @returns `otherwise`, if there is one and the store cannot be read. */
  async #loaded(otherwise: TokenSet | undefined): Promise<TokenSet | undefined> {
    try {
      return await this.#around.store.load(this.domainPrefix, this.set);
    } catch (error) {
      if (otherwise) return otherwise;
      throw error;
    }
  }

  #isOlder(stored: TokenSet | undefined, unsaved: TokenSet): boolean {
    return stored !== undefined && mayReplace(stored, this.#unsavedOver, unsaved);
  }

  /**
   * Puts a set into the store in place of `stored`. If the store cannot take it, this process keeps it.
   *
   * @param tries called before each try.
   * @returns the set that counts from now on: `next`, or one that somebody else stored meanwhile; `undefined` if the
   * retailer was disconnected.
   */
  async replace(stored: TokenSet, next: TokenSet, tries?: () => void): Promise<TokenSet | undefined> {
    const { replacing, question } = await this.#beforeReplacing(stored);
    let kept: TokenSet | undefined;
    try {
      kept = await this.#around.store.putPatiently(next, replacing, tries);
    } catch (error) {
      return this.#keepUnsaved(next, replacing, error);
    }
    return this.#agrees(kept, question) ? this.#hold(kept, question) : this.#askAgain();
  }

  /**
   * The same for a mark on the stored set, that its refresh token was refused. The store is asked first: if it holds
   * another set by now, that one is returned, and the refusal does not matter.
   *
   * @throws {StoreFailedError} the store could not be asked after the refusal.
   */
  async mark(stored: TokenSet, marked: TokenSet): Promise<TokenSet | undefined> {
    const found = await this.reload();
    if (found?.version !== stored.version) return found;
    const { replacing, question } = await this.#beforeReplacing(stored);
    if (this.#isUnsavedSince(stored)) return this.reload();
    let kept: TokenSet | undefined;
    try {
      kept = await this.#around.store.put(marked, replacing);
    } catch (error) {
      const latest = await this.reload(); // somebody may have logged in since
      if (this.isUnsaved) throw error;
      return latest?.version === stored.version ? this.#keepUnsaved(marked, replacing, error) : latest;
    }
    return this.#agrees(kept, question) ? this.#hold(kept, question) : this.#askAgain();
  }

  /** Writes a note on the stored set. Nothing depends on it, so a failure is not tried again. */
  async note(stored: TokenSet, noted: TokenSet): Promise<void> {
    const { replacing, question } = await this.#beforeReplacing(stored);
    if (this.#isUnsavedSince(stored)) return this.saveAgain();
    try {
      const kept = await this.#around.store.put(noted, replacing);
      if (this.#agrees(kept, question)) this.#hold(kept, question);
      else await this.#askAgain(); // a login that came between helps the callers who wait
    } catch {
      // Told by the store; this process remembers the limit by itself.
    }
  }

  /** A login or, without a set, a disconnect. `change` writes it to the store without comparing. */
  async logIn(set: TokenSet | undefined, change: () => Promise<void>): Promise<void> {
    const question = this.#ask();
    this.#loggingIn += 1;
    try {
      await change();
    } catch (error) {
      this.#distrust(); // the change may have been made all the same
      throw error;
    } finally {
      this.#loggingIn -= 1;
    }
    this.#rejections?.startAnew();
    if (this.isUnsaved && !this.#agrees(set, question)) {
      await this.saveAgain(); // the store knows whether it is newer than this change
      // Renewed from what the store held after this change was sent, so perhaps from this very login.
      if (this.isUnsaved && this.isSince(question.order)) return;
    }
    if (this.isUnsaved || this.#agrees(set, question)) this.#hold(set, question);
    else this.#forget();
  }

  /**
   * Joins the renewal under way, or starts one: it is done once for all who ask at the same time. A renewal that is
   * stuck is begun anew.
   *
   * @param mayTakeMs how long the work may take until it is at its next step.
   */
  renewOnce(mayTakeMs: number, work: (progress: Progress) => Promise<Renewal>): Promise<Renewal> {
    const before = this.#renewing;
    if (!before) return this.#startRenewal(mayTakeMs, work);
    const renewal = before.wait().then((end) => {
      if (end !== STUCK) return end;
      if (this.#renewing === before) this.#renewing = undefined;
      return this.renewOnce(mayTakeMs, work);
    });
    if (before.progress.isOverdue) this.#around.background(renewal); // it will probably begin the next one
    return renewal;
  }

  #startRenewal(mayTakeMs: number, work: (progress: Progress) => Promise<Renewal>): Promise<Renewal> {
    const progress = new Progress(mayTakeMs);
    const result = work(progress);
    const renewing = new SharedWork(progress, result);
    this.#renewing = renewing;
    this.#around.background(result);
    const over = () => {
      if (this.#renewing === renewing) this.#renewing = undefined;
    };
    result.then(over, over);
    return result;
  }

  /** Work whose tokens this object will hold: until it is over, no other object takes this one's place. */
  keepFor(work: Promise<unknown>): void {
    this.#late += 1;
    void work.finally(() => {
      this.#late -= 1;
    });
  }

  /** Tries again to save the copy. Every use does so until the store takes it. */
  async saveAgain(): Promise<void> {
    await this.#saved(); // that attempt may have begun before this call
    if (!this.isUnsaved) return;
    if (!this.#saving) {
      const result = this.#trySaving();
      const saving = new SharedWork(new Progress(STORE_MAY_TAKE_MS), result);
      this.#saving = saving;
      void result.then(() => {
        if (this.#saving === saving) this.#saving = undefined;
      });
    }
    await this.#saved();
  }

  /** The end of the attempt to save that is under way. */
  async #saved(): Promise<void> {
    const saving = this.#saving;
    const end = await saving?.wait();
    if (end === STUCK && this.#saving === saving) this.#saving = undefined;
  }

  async #trySaving(): Promise<void> {
    const set = this.set;
    const question = this.#ask();
    try {
      const kept = set && (await this.#around.store.putQuietly(set, this.#unsavedOver));
      if (this.#agrees(kept, question)) this.#hold(kept, question);
      else this.#contradict();
    } catch {
      // Observed when it first failed; the set stays in this process and is tried again.
    }
  }

  /** Asks the store again. Until it has answered, no caller is handed the copy. */
  #askAgain(): Promise<TokenSet | undefined> {
    this.#contradict();
    return this.reload();
  }

  /**
   * The store did not take the set. A login or a disconnect that became known meanwhile still wins.
   *
   * @throws `error`: logins overlapped meanwhile, so what the store holds is unknown.
   */
  #keepUnsaved(next: TokenSet, replacing: readonly TokenSet[], error: unknown): TokenSet | undefined {
    const known = this.set;
    if (!known && this.#checkedAt === undefined) throw error;
    if (!known || !mayReplace(known, replacing, next)) return known;
    const isFirst = !this.isUnsaved;
    this.#hold(next, undefined, replacing);
    if (isFirst) this.#around.background(saveLater(this));
    this.#around.unsaved(this.domainPrefix, error);
    return next;
  }

  /**
   * Whether a newer set waits to be saved: what the service says of `stored` came after a late answer to it. A mark or
   * a note on `stored` in the store would end that wait, and with it the newer tokens.
   */
  #isUnsavedSince(stored: TokenSet): boolean {
    return this.isUnsaved && !this.isCopyOf(stored);
  }

  async #beforeReplacing(stored: TokenSet): Promise<{ replacing: readonly TokenSet[]; question: Question }> {
    await this.#saved(); // or the store could hold a set that is not in the list
    const replacing = this.isUnsaved ? withOneMore(this.#unsavedOver, stored) : [stored];
    return { replacing, question: this.#ask() };
  }

  #startLook(): Promise<TokenSet | undefined> {
    const { clock } = this.#around;
    const order = this.#asked + 1;
    const result = this.#read();
    const look: Look = { order, at: clock(), work: new SharedWork(new Progress(STORE_MAY_TAKE_MS), result) };
    this.#look = look;
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
      const set = this.standIn;
      if (!set) throw error;
      this.#checked(set, this.#around.clock());
      this.#around.unread(this, error);
      return set;
    }
  }

  #ask(): Question {
    this.#asked += 1;
    return { order: this.#asked, at: this.#around.clock(), changes: this.#changes };
  }

  /** The guard against overlaps: the copy is the same as when the question was sent, or the answer says the same. */
  #agrees(answer: TokenSet | undefined, { changes }: Question): boolean {
    return this.#changes === changes || this.isCopyOf(answer);
  }

  /** Makes a set the copy. Without a question, the store has not answered: the set is unsaved. */
  #hold(
    set: TokenSet | undefined,
    question: Question | undefined,
    unsavedOver: readonly TokenSet[] = NONE,
  ): TokenSet | undefined {
    if (!set || !this.isCopyOf(set)) this.#changes += 1; // to learn that nothing is stored counts, also without a copy
    if (set) Object.freeze(set.access); // it is handed out
    this.#set = set;
    this.#isContradicted = false;
    this.#unsavedOver = unsavedOver;
    this.#answered = Math.max(this.#answered, question?.order ?? 0);
    this.#checked(set, question?.at ?? this.#around.clock());
    return set;
  }

  /** The copy was compared with the store at this time; works out until when it may be handed out without more. */
  #checked(set: TokenSet | undefined, at: number): void {
    const { cacheMs, renewEarlyMs } = this.#around;
    this.#checkedAt = at;
    const isGood = set !== undefined && !this.isUnsaved && this.isLive(set);
    this.#goodForMs = isGood ? Math.min(cacheMs, renewalDueAt(set, renewEarlyMs) - at) : 0;
  }

  /** Perhaps this very change has replaced the copy: if the store cannot be asked, no token is better than that. */
  #forget(): void {
    this.#hold(undefined, undefined);
    this.#distrust();
  }

  /** The same, and the copy does not stand in for the store's answer if the store cannot be asked again. */
  #contradict(): void {
    this.#distrust();
    this.#isContradicted = true;
  }

  /** The next caller looks at the store. */
  #distrust(): void {
    this.#checkedAt = undefined;
    this.#goodForMs = 0;
  }
}

const NONE: readonly never[] = [];
const NEVER = Number.NEGATIVE_INFINITY;

/** The store may hold the set from before the first try, or one of the latest tries; the rest is dropped. */
function withOneMore([first, ...later]: readonly TokenSet[], stored: TokenSet): TokenSet[] {
  return [...(first ? [first] : []), ...later.slice(-MOST_UNSAVED), stored];
}
