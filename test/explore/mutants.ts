/** One mistake that somebody could make in the heart of core. */
export interface Mutant {
  /** What is wrong with it. */
  readonly name: string;
  /** Stands once in core's source; `nth` counts from 0 if it stands there more often. */
  readonly from: string;
  readonly to: string;
  readonly nth?: number;
  /** The story of `stories.ts` that shows it; most show in any. */
  readonly story?: string;
  /** Why the search cannot be expected to show it. */
  readonly equivalent?: string;
}

const dropped = (name: string, from: string, more: Partial<Mutant> = {}): Mutant => ({
  name,
  from,
  to: "",
  ...more,
});
const swapped = (name: string, from: string, to: string, more: Partial<Mutant> = {}): Mutant => ({
  name,
  from,
  to,
  ...more,
});

const GUARDS: readonly Mutant[] = [
  swapped(
    "an answer that overlapped is believed",
    "const isTaken = isSame || changes === this.#changes;",
    "const isTaken = isSame || changes <= this.#changes;",
    { story: "a login elsewhere" },
  ),
  swapped(
    "a reload that overlapped is believed",
    "if (this.#take(stored, question)) return stored;",
    "this.#take(stored, question);\n      return stored;",
    { story: "a login elsewhere" },
  ),
  swapped(
    "a save that overlapped is believed",
    "return this.#unsaved || !this.#copy.stands ? this.reload() : this.#copy.set;",
    "return this.#copy.set;",
    { story: "a login here" },
  ),
  swapped(
    "a mark that overlapped is believed",
    "return this.#take(now, question) ? now : this.#saveThenLoad();",
    "this.#take(now, question);\n    return now;",
    { story: "a refusal, and a login here" },
  ),
  swapped(
    "nothing is no news if there is no copy",
    "if (!answer || !isSame) this.#changes += 1;",
    "if (!isSame) this.#changes += 1;",
    { story: "a disconnect before anybody looked" },
  ),
  dropped("changes are not counted", "if (!answer || !isSame) this.#changes += 1;", {
    story: "a login elsewhere",
  }),
  swapped(
    "age counts from the answer",
    "return this.#copy.take(answer, question);",
    "return this.#copy.take(answer, { ...question, at: this.#deps.clock() });",
    { story: "a copy that was slow to come" },
  ),
  dropped("any load serves", "await this.#loading.ended();", { story: "an older look" }),
  swapped(
    "what was slow to come serves",
    "return enough?.() ?? this.#loading",
    "return enough?.() ?? this.set ?? this.#loading",
    { story: "an older look, and a live token" },
  ),
  swapped(
    "a copy is trusted twice as long",
    "this.#copy.set !== undefined && ageMs >= 0 && ageMs < this.#deps.cacheMs;",
    "this.#copy.set !== undefined && ageMs >= 0 && ageMs < 2 * this.#deps.cacheMs;",
  ),
  swapped(
    "a verdict needs no look of one's own",
    "return !(decision instanceof Error) || cached.isRenewing ? set : undefined;",
    "return set;",
  ),
  dropped(
    "a login that failed leaves the copy trusted",
    "this.#copy.distrust(); // the change may have been made all the same",
    { story: "a disconnect that fails" },
  ),
  swapped(
    "what others stored may be replaced",
    "if (!stored || !mayReplace(stored, replacing, next)) return stored;",
    "if (!stored) return stored;",
  ),
  swapped(
    "a failed save overwrites what became known",
    "if (this.#copy.stands && !(known && mayReplace(known, unsaved.over, unsaved.set))) {",
    "if (this.#copy.stands && !known) {",
    { story: "a login elsewhere" },
  ),
  swapped(
    "a failed save overwrites a disconnect",
    "if (this.#copy.stands && !(known && mayReplace(known, unsaved.over, unsaved.set))) {",
    "if (this.#copy.stands && known && !mayReplace(known, unsaved.over, unsaved.set)) {",
    { story: "a disconnect elsewhere" },
  ),
  swapped(
    "a login that overlapped leaves the copy, untrusted",
    "this.#set = isTaken ? answer : undefined;",
    "if (isTaken) this.#set = answer;",
    { story: "a login here" },
  ),
  swapped(
    "a login leaves what was issued before it",
    "this.#unsaved = undefined;\n      this.#take(set, question);",
    "this.#take(set, question);",
    {
      story: "a login here",
      equivalent:
        "What the store has not taken is served until the store answers, and the store then says that the login counts. " +
        "`unsaved.test.ts` says that it is not served that long.",
    },
  ),
  swapped(
    "a login ends what was issued on it",
    "if (this.#unsaved && this.#unsaved.answeredBefore > question.order) {",
    "if (this.#unsaved && this.#unsaved.answeredBefore < 0) {",
    {
      story: "a login here",
      equivalent:
        "The login's answer would have to come after a renewal on its tokens, which the store does not take. " +
        "`retailer-cache.unsaved.test.ts` plays that.",
    },
  ),
  swapped(
    "a mark replaces a mark",
    "(isOlder || (!isNote && haveSameAccess(ours, stored)))",
    "(isOlder || haveSameAccess(ours, stored))",
    { story: "refused" },
  ),
  swapped(
    "a mark keeps good tokens out",
    "(isOlder || (!isNote && haveSameAccess(ours, stored)))",
    "isOlder",
    {
      equivalent:
        "Only where nothing rotates can one process get tokens while another is refused or meets a 429 with the same " +
        "refresh token. Callers then go on as that refusal or 429 says, and the next request brings other tokens: no " +
        "promise is broken. `compare-and-set.test.ts` says that these tokens are kept all the same.",
    },
  ),
  swapped(
    "late tokens replace newer ones that were marked",
    "(isOlder || (!isNote && haveSameAccess(ours, stored)))",
    "(isOlder || (!isNote && stored.refusedAt !== undefined))",
    { story: "a late answer, and nothing rotates" },
  ),
  swapped("the fleet's job forgets everybody", "if (visited.has(retailer) &&", "if (", {
    story: "the fleet's job comes first",
  }),
];

const COMPARISONS: readonly Mutant[] = [
  swapped(
    "a token lives in its last instant",
    "expiresAt !== undefined && now >= expiresAt",
    "expiresAt !== undefined && now > expiresAt",
  ),
  swapped(
    "what has ended is live",
    "return !isExpired(access, this.#deps.clock()) && !this.isRejected(access.value);",
    "return !this.isRejected(access.value);",
  ),
  swapped(
    "what has ended is served",
    "return !isRejected && !isExpired(access, now);",
    "return !isRejected;",
  ),
  swapped(
    "what is rejected is served",
    "return !isRejected && !isExpired(access, now);",
    "return !isExpired(access, now);",
  ),
  dropped("an old copy is served", "if (!cached.isFresh()) return undefined;"),
  swapped(
    "a rejection is recorded after the load",
    "if (!set || (set.access.value === rejected && !cached.reject(set))) return undefined;",
    "if (!set || set.access.value === rejected) return undefined;",
  ),
  swapped(
    "early is a tenth of the life",
    "return expiresAt - Math.min(renewEarlyMs, lifetimeMs / 10);",
    "return expiresAt - lifetimeMs / 10;",
  ),
  swapped("a limit is over at once", "return now < until &&", "return now > until &&"),
  swapped(
    "a mark does not count",
    "if (refusedAt === undefined || !isLimited(set, now)) return undefined;",
    "if (refusedAt === undefined || isLimited(set, now)) return undefined;",
  ),
  swapped("a refusal is told with each hourly try", "if (refusedBefore === undefined) tell({", "tell({", {
    story: "refused",
  }),
  swapped(
    "a process whose clock is behind shortens the pause of the others",
    "const limitedUntil = laterLimit(stored, nextTryAt, now);",
    "const limitedUntil = nextTryAt;",
    {
      equivalent: "The other processes then ask once more than they need. `refused.test.ts` plays that.",
    },
  ),
  swapped(
    "there is no pause after a failure",
    "error.retryAt : at + pauseAfter(failures);",
    "error.retryAt : at;",
  ),
  swapped(
    "a renewal that is due is tried all the time",
    "return isDue && !facts.pause && !heldBackBy(set, facts) ?",
    "return isDue ?",
    { story: "tokens that live for a minute" },
  ),
];

const ORDER: readonly Mutant[] = [
  swapped(
    "no reload under the lock",
    "const stored = await cached.reload(); // never",
    "const stored = cached.set; // never",
  ),
  dropped(
    "no comparison under the lock",
    "if (isRenewed(cached, stored, outdated)) return fromElsewhere(stored); // while we queued",
  ),
  swapped(
    "who waits is served whatever is stored",
    "if (stored && isRenewed(cached, stored, stale)) return fromElsewhere(stored);",
    "if (stored) return fromElsewhere(stored);",
  ),
  dropped("no look at the back-off under the lock", "if (heldBack) return heldBack;"),
  swapped(
    "no lock",
    "await underLock(lock, key, work, { whileWaiting",
    "await underLock((_, run) => run(), key, work, { whileWaiting",
  ),
  swapped(
    "handed out before it is saved",
    "const kept = await cached.replace(stored, next, beforeEachTry);",
    "void cached.replace(stored, next, beforeEachTry);\n  const kept: TokenSet | undefined = next;",
  ),
  swapped(
    "resurrected after a disconnect",
    "if (!kept) throw new NotConnectedError(cached); // disconnected meanwhile",
    "if (!kept) return { set: next, isIssuedHere: true };",
  ),
  dropped(
    "what somebody else stored is passed over",
    "if (!isIssuedHere) return { set: kept, isIssuedHere };",
  ),
  swapped(
    "the new refresh token is forgotten",
    "refreshToken: response.refreshToken ?? stored.refreshToken,",
    "refreshToken: stored.refreshToken,",
  ),
  swapped(
    "a refusal is a verdict at once",
    "const newest = await cached\n    .update(stored, marked)",
    "const newest = await Promise.resolve(marked as TokenSet | undefined)",
  ),
  swapped(
    "after a refusal nothing is reloaded",
    "const set = await cached.reload();\n    if (cached.isUnsaved",
    "return stored;\n    const set = await cached.reload();\n    if (cached.isUnsaved",
    {
      story: "refused, then logged in",
      equivalent:
        "The store held the refused set when the caller came, so the promise is kept. `retailer-cache.test.ts` says that the " +
        "caller is told of the store's failure.",
    },
  ),
  swapped(
    "an early refusal is a verdict",
    "const isEarly = cached.isLive(stored);",
    "const isEarly = false;",
    {
      story: "refused early",
    },
  ),
  dropped("an early refusal is forgotten", "cached.keepLocalNote({ set: changed, isStored: false });", {
    story: "refused early",
  }),
  swapped(
    "a 429 is not recorded for the others",
    "await cached.update(set, changed).catch(() => {});",
    "void changed;",
  ),
  swapped(
    "what could not be saved is dropped",
    "unsaved.usable = unsaved.set;\n",
    "this.#unsaved = undefined;\n",
  ),
  swapped(
    "earlier tries are forgotten",
    "const over = before ? [...before.over, before.set] : [];",
    "const over: TokenSet[] = [];",
    { story: "a store that fails" },
  ),
  swapped(
    "the store's failure hides a live copy",
    "if (!set || !this.isLive(set)) throw error;",
    "throw error;",
  ),
  dropped("a login meanwhile does not help who waits", "if (liveAccess) return liveAccess;"),
  swapped(
    "who joined is given what has ended",
    "const isUsable = beganBefore ? cached.isLive(set) :",
    "const isUsable = beganBefore ? true :",
    { story: "a day passes in a renewal" },
  ),
  swapped(
    "who joined is told an old verdict",
    "if (!beganBefore || !isVerdict(error)) throw error;",
    "throw error;",
    { story: "refused, then logged in" },
  ),
  swapped(
    "the store may be silent for ever",
    "return await within(ANSWER_WITHIN_MS, ask(), () => new NoAnswerError());",
    "return await ask();",
  ),
  swapped(
    "the service may be silent for ever",
    "return within(timeoutMs, working, () => {",
    "return working; within(timeoutMs, working, () => {",
  ),
  swapped(
    "a lease is taken without asking",
    "while (!(await within(ANSWER_WITHIN_MS, attempt(take, lease), noAnswer))) {",
    "for (; !(await within(ANSWER_WITHIN_MS, attempt(take, lease), noAnswer)); ) {\n        break;",
  ),
];

const SAVING: readonly Mutant[] = [
  swapped(
    "renewals of one process do not join",
    "return this.#work ? this.#joined(this.#work, mayTakeMs, begin) : this.#begun(mayTakeMs, begin);",
    "return this.#work ? this.#begun(mayTakeMs, begin) : this.#begun(mayTakeMs, begin);",
  ),
  swapped(
    "an unsaved set is not tried before a reload",
    "await this.#untilSaved();\n      const stored",
    "const stored",
    {
      story: "a store that fails",
    },
  ),
  swapped(
    "a save is tried once before it counts as failed",
    "const TRIES_AFTER_MS = [0, 50, 150, 400, 900, 1500];",
    "const TRIES_AFTER_MS = [0];",
    {
      equivalent:
        "The set stays in this process and is tried again on each use: it is only told as unsaved sooner.",
    },
  ),
];

const LATE: readonly Mutant[] = [
  swapped("late tokens are dropped", "late(Promise.race([working, never]));", "never.catch(() => {});"),
  swapped(
    "late tokens replace whatever is stored",
    "return (await saveIssued(cached, stored, said, deps)).isIssuedHere;",
    "return (await saveIssued(cached, (await cached.reload()) ?? stored, said, deps)).isIssuedHere;",
    { story: "a late answer, and a login" },
  ),
  swapped(
    "late tokens that could not be saved at once are dropped",
    "return (await saveIssued(cached, stored, said, deps)).isIssuedHere;",
    "return (await cached.update(stored, tokenSetFromRefresh(stored, said, deps.versions.next()))) === undefined;",
    { story: "a late answer" },
  ),
  swapped(
    "a renewal does not wait for late tokens",
    "if (!this.#unsaved) return stored; // else late tokens came meanwhile",
    "return stored;",
    {
      story: "a late answer, and nothing rotates",
    },
  ),
  swapped(
    "callers wait for what is late",
    "return within(timeoutMs, working,",
    "return within(timeoutMs * LATE_TIMEOUT_FACTOR, working,",
    {
      story: "a late answer",
    },
  ),
  swapped(
    "a 429 that is late is no limit",
    "return error instanceof RateLimitedError ? error : undefined;",
    "return undefined;",
    { story: "a late answer" },
  ),
];

export const MUTANTS: readonly Mutant[] = [...GUARDS, ...COMPARISONS, ...ORDER, ...SAVING, ...LATE];
