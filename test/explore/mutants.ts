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
    "a reload that overlapped is believed",
    "if (this.#agrees(stored, question)) return this.#hold(stored, question);",
    "return this.#hold(stored, question);",
    { story: "a login elsewhere" },
  ),
  swapped(
    "a save that overlapped is believed",
    "return this.#agrees(kept, question) ? this.#hold(kept, question) : this.#askAgain();",
    "return this.#hold(kept, question);",
    { nth: 0, story: "a disconnect here" },
  ),
  swapped(
    "a mark that overlapped is believed",
    "return this.#agrees(kept, question) ? this.#hold(kept, question) : this.#askAgain();",
    "return this.#hold(kept, question);",
    {
      nth: 1,
      story: "a refusal, and a login here",
      equivalent:
        "Only a set whose token has ended is marked. Its copy is served to no caller, and a verdict needs a look that " +
        "began after the caller came.",
    },
  ),
  swapped(
    "a login that overlapped is believed",
    "if (this.isUnsaved || this.#agrees(set, question)) this.#hold(set, question);\n    else this.#forget();",
    "this.#hold(set, question);",
    { story: "a login and a disconnect at once" },
  ),
  swapped(
    "nothing is no news if there is no copy",
    "if (!set || !this.isCopyOf(set))",
    "if (!this.isCopyOf(set))",
    { story: "a disconnect before anybody looked" },
  ),
  dropped("changes are not counted", "if (!set || !this.isCopyOf(set)) this.#changes += 1;", {
    story: "a login elsewhere",
  }),
  swapped(
    "age counts from the answer",
    "this.#checked(set, question?.at ?? this.#around.clock());",
    "this.#checked(set, this.#around.clock());",
    { story: "a copy that was slow to come" },
  ),
  swapped(
    "any look serves",
    "const isFresh = look.order > asked || (ageMs >= 0 && ageMs < maxAgeMs);",
    "const isFresh = true || [ageMs, asked, maxAgeMs];",
    { story: "an older look, and a live token" },
  ),
  swapped(
    "any answer is late enough",
    "this.#answered = Math.max(this.#answered, question?.order ?? 0);",
    "this.#answered = this.#asked;",
    { story: "an older look" },
  ),
  swapped(
    "a copy is trusted twice as long",
    "ageMs >= 0 && ageMs < this.#around.cacheMs)",
    "ageMs >= 0 && ageMs < 2 * this.#around.cacheMs)",
  ),
  dropped(
    "a verdict needs no look of one's own",
    "if (!held.isSince(asked)) set = await held.look(asked, 0);",
  ),
  dropped(
    "a login that failed leaves the copy trusted",
    "this.#distrust(); // the change may have been made all the same",
    { story: "a disconnect that fails" },
  ),
  swapped(
    "what others stored may be replaced",
    "if (!stored || !mayReplace(stored, replacing, next)) return stored;",
    "if (!stored) return stored;",
  ),
  swapped(
    "a failed save overwrites what became known",
    "if (!known || !mayReplace(known, replacing, next)) return known;",
    "if (!known) return known;",
    { story: "a login elsewhere" },
  ),
  dropped(
    "a failed save overwrites a disconnect",
    "if (!known || !mayReplace(known, replacing, next)) return known;",
    { story: "a disconnect elsewhere" },
  ),
  swapped(
    "a login that overlapped leaves the copy, untrusted",
    "else this.#forget();",
    "else this.#distrust();",
    { story: "a login here" },
  ),
  swapped(
    "a mark replaces a mark",
    "(isOlder || (!isNote && haveSameAccess(ours, stored)))",
    "(isOlder || haveSameAccess(ours, stored))",
    {
      equivalent:
        "Nearly: the set is read just before it is marked, so a process would have to stand still between the two while " +
        "another one is refused, and marks the set. `held-tokens.test.ts` plays that.",
    },
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
    "return !isExpired(access, now) && !this.isRejected(access.value);",
    "return !this.isRejected(access.value);",
  ),
  swapped(
    "what is rejected is live",
    "return !isExpired(access, now) && !this.isRejected(access.value);",
    "return !isExpired(access, now);",
  ),
  swapped("a rejected copy is good", "!this.isUnsaved && this.isLive(set);", "!this.isUnsaved;"),
  dropped("a rejection is not noted in the copy", "if (isBelieved) this.#goodForMs = 0;"),
  dropped(
    "a rejection is noted after the look",
    "if (held.access?.value === rejected && held.set) held.reject(held.set);",
  ),
  swapped(
    "early is a tenth of the life",
    "return expiresAt - Math.min(renewEarlyMs, lifetimeMs / 10);",
    "return expiresAt - lifetimeMs / 10;",
  ),
  swapped("a limit is over at once", "return now < limitedUntil &&", "return now > limitedUntil &&"),
  swapped(
    "a mark does not count",
    "return refusedAt !== undefined && Math.abs(now - refusedAt) < REFUSED_FOR_MS;",
    "return refusedAt !== undefined && Math.abs(now - refusedAt) > REFUSED_FOR_MS;",
  ),
  swapped(
    "there is no pause after a failure",
    "error.retryAt : at + pauseAfter(failures);",
    "error.retryAt : at;",
  ),
  swapped(
    "a renewal that is due is tried all the time",
    "if (isDue && !held.isTooEarly(set) && !backOff.early(held.domainPrefix))",
    "if (isDue)",
    { story: "tokens that live for a minute" },
  ),
];

const ORDER: readonly Mutant[] = [
  swapped(
    "no reload under the lock",
    "const stored = await held.reload(); // never",
    "const stored = held.set; // never",
  ),
  dropped("no comparison under the lock", "if (isRenewed(held, stored, stale)) return adopted(stored);"),
  swapped(
    "who waits is served whatever is stored",
    "if (stored && isRenewed(held, stored, stale)) return adopted(stored);",
    "if (stored) return adopted(stored);",
  ),
  dropped("no look at the back-off under the lock", "if (reason) throw new Blocked(reason);"),
  swapped("no lock", "return await underLock(lock,", "return await underLock((_, work) => work(),", {
    nth: 1,
  }),
  swapped(
    "handed out before it is saved",
    "const kept = await held.replace(stored, next, tries);",
    "void held.replace(stored, next, tries);\n  const kept: TokenSet | undefined = next;",
  ),
  swapped(
    "resurrected after a disconnect",
    "if (!kept) throw new NotConnectedError(held); // disconnected meanwhile",
    "if (!kept) return { set: next, isIssuedHere: true };",
  ),
  dropped(
    "what somebody else stored is passed over",
    "if (kept.version !== next.version) return adopted(kept);",
  ),
  swapped(
    "the new refresh token is forgotten",
    "refreshToken: response.refreshToken ?? stored.refreshToken,",
    "refreshToken: stored.refreshToken,",
  ),
  swapped(
    "a refusal is a verdict at once",
    "const newest = await held.mark(stored, marked)",
    "const newest = await Promise.resolve(marked as TokenSet | undefined)",
  ),
  swapped(
    "after a refusal nothing is reloaded",
    "const latest = await this.reload(); // somebody may have logged in since\n      if (this.isUnsaved) throw error;",
    "const latest = stored as TokenSet | undefined;",
    { story: "refused, then logged in" },
  ),
  swapped(
    "an early refusal is a verdict",
    "[held.isLive(stored), held.isRefusedEarly(stored)]",
    "[false, held.isRefusedEarly(stored)]",
    {
      story: "refused early",
    },
  ),
  dropped("an early refusal is forgotten", "held.refuseEarly(stored);", { story: "refused early" }),
  swapped(
    "a 429 is not noted for the others",
    "await held.note(set, quiet({ ...set, version: versions.next(), ...limitedUntil(set, error.retryAt) }));",
    "void [set, held, versions];",
  ),
  swapped(
    "what could not be saved is dropped",
    "this.#hold(next, undefined, replacing);",
    "this.#distrust();",
  ),
  swapped(
    "earlier tries are forgotten",
    "const replacing = this.isUnsaved ? withOneMore(this.#unsavedOver, stored) : [stored];",
    "const replacing = [stored];",
    { story: "a store that fails" },
  ),
  swapped("the store's failure hides a live copy", "if (!set) throw error;", "throw error;"),
  dropped("a login meanwhile does not help who waits", "if (held.standIn) return held.standIn.access;"),
  swapped(
    "who joined is given what has ended",
    "const isGood = !isJoining || held.isLiveAccess(access, clock());",
    "const isGood = true || isJoining;",
    { story: "a day passes in a renewal" },
  ),
  swapped(
    "who joined is told an old verdict",
    "if (!isJoining || !isVerdict(error)) throw error;",
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
    "if (!before) return this.#startRenewal(mayTakeMs, work);",
    "return this.#startRenewal(mayTakeMs, work);",
  ),
  dropped("an unsaved set is not tried before a reload", "if (this.isUnsaved) await this.saveAgain();", {
    story: "a store that fails",
  }),
  swapped(
    "a save is tried once before it counts as failed",
    "kept = await this.#around.store.putPatiently(next, replacing, tries);",
    "kept = await this.#around.store.put(next, replacing);",
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
    "const kept = await held.replace(stored, next).catch(() => undefined);",
    "const kept = await held.replace((await held.reload()) ?? stored, next).catch(() => undefined);",
    { story: "a late answer, and a login" },
  ),
  swapped(
    "late tokens that could not be saved at once are dropped",
    "const kept = await held.replace(stored, next).catch(() => undefined);",
    "await held.note(stored, next);\n    const kept = held.set;",
    { story: "a late answer" },
  ),
  dropped(
    "a renewal does not wait for late tokens",
    "if (saving) return saving.then(() => renewLocked(held, stale, progress));",
    {
      story: "a late answer",
    },
  ),
  swapped(
    "callers wait for what is late",
    "return within(timeoutMs, working,",
    "return within(timeoutMs * LATE, working,",
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
