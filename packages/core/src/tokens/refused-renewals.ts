import type { Heartbeat } from "../platform/heartbeat.js";
import { sleep } from "../platform/timers.js";
import {
  isRetailPosError,
  NotConnectedError,
  type ReconnectRequiredError,
  type RefusedEarlyError,
} from "../vocabulary/errors.js";
import { laterLimit, REFUSED_FOR_MS, refusalOf } from "../vocabulary/token-life.js";
import { type AccessToken, haveSameAccess, redacted, type TokenSet } from "../vocabulary/token-set.js";
import type { Deps } from "./deps.js";
import type { RetailerCache } from "./retailer-cache.js";

/** The difference that we expect between this process's clock and the service's. */
export const USUAL_SKEW_MS = 2000;
/** A wait is over so soon after its time. */
const WAKES_WITHIN_MS = 1000;

/**
 * The service refused the refresh token (behaviour 8). If the store holds a newer set, that one is used. Else the
 * stored set is marked, for all processes and for an hour, and callers are told to log in again.
 *
 * @param refusal the error for the caller, with the service's words.
 * @returns the newer set, or the same tokens as another process has changed them.
 */
export async function handleInvalidGrant(
  cached: RetailerCache,
  stored: TokenSet,
  refusal: ReconnectRequiredError,
  { versions, backOff, clock, tell }: Deps,
): Promise<TokenSet> {
  const now = clock();
  const refusedBefore = stored.refusedAt ?? cached.localNote(stored)?.set.refusedAt;
  const mark = { ...stored, refusedAt: refusedBefore ?? now };
  const nextTryAt = now + REFUSED_FOR_MS;
  const limitedUntil = laterLimit(stored, nextTryAt, now);
  const marked = redacted({ ...mark, version: versions.next(), limitedUntil });
  const newest = await cached
    .update(stored, marked)
    .catch((error: unknown) => storedNow(error)) // the mark cannot be saved, but perhaps the store can be read
    .catch((error: unknown) => {
      // It is unknown whether the refused token is still the stored one: a person may have logged in. So there is no
      // verdict, and a second request has to wait.
      if (isRetailPosError(error)) backOff.failed(cached.domainPrefix, error);
      throw error;
    });
  if (!newest) throw new NotConnectedError(cached);
  if (newest.version !== marked.version && newest.version !== stored.version) {
    const theirs = refusalOf(newest, now); // another process marked the set
    if (theirs) throw theirs;
    return newest;
  }
  const isStored = newest.version === marked.version;
  const set = redacted({ ...mark, version: versions.next(), limitedUntil: nextTryAt });
  cached.keepLocalNote({ set, refusal, isStored });
  if (refusedBefore === undefined) tell({ type: "reconnect_required", domainPrefix: cached.domainPrefix });
  throw refusal;

  async function storedNow(error: unknown): Promise<TokenSet | undefined> {
    const set = await cached.reload();
    if (cached.isUnsaved && set?.version === stored.version) throw error; // a newer set is unsaved, and cannot be seen
    return set;
  }
}

/**
 * The service refused an early renewal, perhaps because it renews no token before its end. That is no verdict, and
 * there is no second try before the end: `refusedEarlyAt` on the stored set tells the other processes (behaviour 8).
 *
 * @returns a newer set, if the store holds one.
 * @throws the given error, else.
 */
export async function handleRefusedEarly(
  cached: RetailerCache,
  stored: TokenSet,
  error: RefusedEarlyError,
  { versions, clock }: Deps,
): Promise<TokenSet> {
  const changed = redacted({ ...stored, version: versions.next(), refusedEarlyAt: clock() });
  cached.keepLocalNote({ set: changed, isStored: false });
  const newest = await cached.update(stored, changed).catch(() => undefined);
  if (newest && !haveSameAccess(newest, stored) && cached.isLive(newest)) return newest;
  throw error;
}

/**
 * Waits until `ms` after the access token's expiry, if it expired less than `ms` ago. A service that refuses early
 * renewals counts a token's life from its answer, and this process from its request: a request at once would be early
 * once more.
 *
 * @returns whether there was something to wait for: then the store has to be asked again.
 */
export async function waitPastExpiry(
  ms: number,
  cached: RetailerCache,
  access: AccessToken,
  clock: () => number,
  heartbeat: Heartbeat,
): Promise<boolean> {
  const leftMs = cached.isRejected(access.value) ? 0 : (access.expiresAt ?? 0) + ms - clock();
  if (leftMs <= 0 || leftMs > ms) return false;
  heartbeat.next(leftMs + WAKES_WITHIN_MS);
  await sleep(leftMs);
  return true;
}
