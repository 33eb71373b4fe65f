import type { Progress } from "../platform/progress.js";
import { sleep } from "../platform/timers.js";
import { isRetailPosError, NotConnectedError, RefusedEarlyError } from "../vocabulary/errors.js";
import { refusalOf, tooEarlyBefore } from "../vocabulary/token-life.js";
import { haveSameAccess, quiet, type TokenSet } from "../vocabulary/token-set.js";
import type { Application } from "./application.js";
import type { HeldTokens } from "./held-tokens.js";

/** So much later than by this process's reckoning a token ends by the service's, as a rule. */
export const ENDS_WITHIN_MS = 2000;
/** A wait is over so soon after its time. */
const WAKES_WITHIN_MS = 1000;

/** Adopts a newer set of the store and never erases it; if there is none, marks the set and fails (behaviour 8). */
export async function newerThanRefused(
  held: HeldTokens,
  stored: TokenSet,
  { versions, backOff, clock, events }: Application,
): Promise<TokenSet> {
  const refusedAt = clock(); // the verdict's instant, too: the clock may be set while the mark is saved
  const marked = quiet({ ...stored, version: versions.next(), refusedAt });
  let unsaved: unknown;
  // The mark is saved only in place of this very set. If it cannot be saved, the store can perhaps be read.
  const marking = held.note(stored, marked).catch(async (error: unknown) => {
    unsaved = error;
    const newest = await held.reload();
    if (held.isUnsaved && newest?.version === stored.version) throw error; // nor can it be read
    return newest;
  });
  const newest = await marking.catch((problem: unknown) => {
    // Somebody may have logged in meanwhile, so there is no verdict; and a second request has to wait.
    if (isRetailPosError(problem)) backOff.failed(held.domainPrefix, problem);
    throw problem;
  });
  if (!newest) throw new NotConnectedError(held);
  const isRefused = newest.version === marked.version || newest.version === stored.version;
  const verdict = refusalOf(isRefused ? marked : newest, refusedAt); // the same error that later callers get
  if (!verdict) return newest;
  if (isRefused) {
    held.remember(marked);
    if (newest.version === stored.version) events.unsaved(held.domainPrefix, unsaved);
    events.reconnectRequired(held.domainPrefix);
  }
  throw verdict;
}

/**
 * The service refused an early renewal, perhaps because it renews no token before its end. No verdict, and no second
 * try before the end: a note on the stored set tells the other processes (behaviour 8).
 */
export async function newerThanRefusedEarly(
  held: HeldTokens,
  stored: TokenSet,
  error: RefusedEarlyError,
  { versions }: Application,
): Promise<TokenSet> {
  const noted = quiet({ ...stored, version: versions.next(), ...tooEarlyBefore(stored) });
  held.remember(noted);
  const newest = await held.note(stored, noted).catch(() => undefined);
  if (newest && !haveSameAccess(newest, stored) && held.isLive(newest)) return newest;
  throw error;
}

/**
 * Waits until an access token has ended so long ago, if it ended just now. A service that refuses early renewals counts
 * a token's life from its answer, and this process from its request: a request at once would be early once more.
 *
 * @returns whether there was something to wait for: then the store has to be asked again.
 */
export async function untilEndedFor(
  ms: number,
  held: HeldTokens,
  { access }: TokenSet,
  { clock }: Application,
  progress: Progress,
): Promise<boolean> {
  const leftMs = held.isRejected(access.value) ? 0 : (access.expiresAt ?? 0) + ms - clock();
  if (leftMs <= 0 || leftMs > ms) return false;
  progress.next(leftMs + WAKES_WITHIN_MS);
  await sleep(leftMs);
  return true;
}

/** The error for a renewal that would be refused early once more. */
export function tooEarly(held: HeldTokens): RefusedEarlyError {
  const what = `An early renewal of the tokens of retailer "${held.domainPrefix}" was refused before`;
  return new RefusedEarlyError(`${what}; the next request comes at the access token's end`, held);
}
