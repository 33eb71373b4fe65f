import type { TokenAnswer } from "../endpoint/token-endpoint.js";
import type { Heartbeat } from "../platform/heartbeat.js";
import { underLock } from "../store/locks.js";
import { STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import {
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  RetailPosError,
  TokenEndpointError,
} from "../vocabulary/errors.js";
import { isExpired } from "../vocabulary/token-life.js";
import { haveSameAccess, type TokenSet } from "../vocabulary/token-set.js";
import type { Deps } from "./deps.js";
import { type LateAnswers, lateAnswers, saveIssued } from "./issued-tokens.js";
import { handleInvalidGrant, handleRefusedEarly, USUAL_SKEW_MS, waitPastExpiry } from "./refused-renewals.js";
import { recordFailure, recordRetryAfter } from "./renewal-failures.js";
import type { Renewal, RetailerCache } from "./retailer-cache.js";

/** Renews stored tokens: one token request per expiry, however many callers ask (behaviour 4). */
export interface Renewals {
  /**
   * Renews, or joins the renewal that is under way.
   *
   * @param stale the set that has to be replaced: a live one with another access token is returned instead.
   * @param begins called if this call begins the renewal, and does not join one.
   */
  renew(cached: RetailerCache, stale: TokenSet, begins?: () => void): Promise<Renewal>;
  /** What the service may still say after the deadline of a renewal, and its saving: whether new tokens came of it. */
  comingLate(cached: RetailerCache): Promise<boolean>;
}

/** Long enough for a lock whose owner was killed to be free again, and for a set that was renewed to be saved. */
const WAIT_FOR_OTHERS_MS = 30_000;
/** A token request has ended so soon after `timeoutMs`, or its runtime has ended it. */
export const REQUEST_ENDS_WITHIN_MS = 1000;
/** A gap between two calls counts as this long at most: in a longer one, this process stood still. */
const LONGEST_GAP_MS = 1000;

export function renewals(deps: Deps): Renewals {
  const { lock, clientId, timeoutMs, clock } = deps;
  const late = lateAnswers(deps);
  const maxSkewMs = USUAL_SKEW_MS + timeoutMs; // the answer that brought a token may have been slow
  /** The service has renewed a token after its end that it refused to renew before: it does so with all retailers. */
  let renewsOnlyEnded = false;
  return { renew, comingLate: late.bringTokens };

  /** One renewal for all callers in this process; the lock makes it one for all processes. */
  function renew(cached: RetailerCache, stale: TokenSet, begins?: () => void): Promise<Renewal> {
    return cached.renewOnce(timeoutMs + REQUEST_ENDS_WITHIN_MS, async (heartbeat) => {
      begins?.();
      const key = `${clientId}/${cached.domainPrefix}`;
      const work = () => renewLocked(cached, stale, heartbeat);
      const whileWaiting = renewedElsewhere(cached, stale, timeoutMs + WAIT_FOR_OTHERS_MS, heartbeat);
      const end = await underLock(lock, key, work, { whileWaiting, heartbeat }).catch((error: unknown) => {
        recordFailure(cached, error, deps);
        throw error;
      });
      if (end instanceof RetailPosError) throw end; // held back: nothing was sent, so there is no failure to record
      return end;
    });
  }

  /**
   * The heart: under the lock reload, compare, refresh, save, and only then hand out.
   *
   * @returns an error if no token request may be sent now.
   */
  async function renewLocked(
    cached: RetailerCache,
    stale: TokenSet,
    heartbeat: Heartbeat,
  ): Promise<Renewal | RetailPosError> {
    let outdated = stale;
    let waitedMs = 0;
    for (;;) {
      heartbeat.next(STORE_MAY_TAKE_MS);
      const stored = await cached.reload(); // never a set that was read before the lock was ours
      if (!stored) throw new NotConnectedError(cached);
      if (isRenewed(cached, stored, outdated)) return fromElsewhere(stored); // while we queued
      const heldBack = cached.heldBackBy(stored);
      if (heldBack) return heldBack;

      const isEarly = cached.isLive(stored);
      const refusedEarlyAt = stored.refusedEarlyAt ?? cached.localNote(stored)?.set.refusedEarlyAt;
      const wasRefusedEarly = refusedEarlyAt !== undefined;
      const serviceMayCallItEarly = !isEarly && (renewsOnlyEnded || wasRefusedEarly);
      if (serviceMayCallItEarly && (await waitedFor(USUAL_SKEW_MS, stored))) continue;

      const answer = await refreshed(cached, stored, isEarly, heartbeat, late, deps);
      if (answer instanceof RefusedEarlyError)
        return fromElsewhere(await handleRefusedEarly(cached, stored, answer, deps));
      if (answer instanceof ReconnectRequiredError) {
        if (serviceMayCallItEarly && (await waitedFor(maxSkewMs, stored))) continue;
        outdated = await handleInvalidGrant(cached, stored, answer, deps);
        if (cached.isLive(outdated)) return fromElsewhere(outdated);
        continue;
      }

      const wasEnded = wasRefusedEarly && isExpired(stored.access, clock());
      renewsOnlyEnded = !isEarly && (renewsOnlyEnded || wasEnded);
      const kept = await saveIssued(cached, stored, answer, deps, () => heartbeat.next(STORE_MAY_TAKE_MS));
      if (kept.isIssuedHere || cached.isLive(kept.set)) return kept;
      outdated = kept.set; // another process stored it, and it has ended meanwhile
    }

    /** Gives the service so long to end a token that ended just now; waits once for each length. */
    async function waitedFor(ms: number, { access }: TokenSet): Promise<boolean> {
      if (waitedMs >= ms) return false;
      waitedMs = ms;
      return waitPastExpiry(ms, cached, access, clock, heartbeat);
    }
  }
}

/** @returns the answer, or how the service refused the refresh token. */
async function refreshed(
  cached: RetailerCache,
  stored: TokenSet,
  isEarly: boolean,
  heartbeat: Heartbeat,
  late: LateAnswers,
  deps: Deps,
): Promise<TokenAnswer | RefusedEarlyError | ReconnectRequiredError> {
  heartbeat.next(deps.timeoutMs + REQUEST_ENDS_WITHIN_MS);
  try {
    return await deps.endpoint.refresh(cached.domainPrefix, stored.refreshToken, {
      accessToken: stored.access.value,
      isEarly,
      late: (coming) => late.add(cached, stored, coming),
    });
  } catch (error) {
    heartbeat.next(2 * STORE_MAY_TAKE_MS); // to save what is unsaved, to mark, and to reload
    if (error instanceof RefusedEarlyError || error instanceof ReconnectRequiredError) return error;
    if (error instanceof RateLimitedError) await recordRetryAfter(cached, stored, error, deps);
    throw error;
  }
}

/**
 * What the owner of the lock has stored, for callers who wait for the lock. Reading needs no lock, so all of them are
 * served at once; under the lock they would be one after the other. A store that cannot be read is not asked again, and
 * nothing is saved here: both come under the lock.
 *
 * While the token endpoint does not answer, one process after the other takes the lock and tries. A caller who has
 * waited for `patienceMs` by then fails as those did.
 */
function renewedElsewhere(
  cached: RetailerCache,
  stale: TokenSet,
  patienceMs: number,
  heartbeat: Heartbeat,
): () => Promise<Renewal | undefined> {
  const { domainPrefix } = cached;
  let waitedMs = 0;
  let calledAt = performance.now();
  let isReadable = true;
  return async () => {
    heartbeat.next(STORE_MAY_TAKE_MS); // waiting for the lock counts as progress
    const stored = isReadable && !cached.isUnsaved ? await load() : undefined;
    if (stored && isRenewed(cached, stored, stale)) return fromElsewhere(stored);
    const now = performance.now();
    waitedMs += Math.min(now - calledAt, LONGEST_GAP_MS);
    calledAt = now;
    if (waitedMs < patienceMs) return undefined;
    const why = `other processes have tried for ${Math.round(waitedMs / 1000)} s`;
    throw new TokenEndpointError(`The tokens of retailer "${domainPrefix}" are not renewed: ${why}`, {
      domainPrefix,
    });
  };

  async function load(): Promise<TokenSet | undefined> {
    try {
      return await cached.loadNow();
    } catch {
      isReadable = false;
      return undefined;
    }
  }
}

function isRenewed(cached: RetailerCache, stored: TokenSet, stale: TokenSet): boolean {
  return !haveSameAccess(stored, stale) && cached.isLive(stored);
}

/** Another process or a login brought the set. */
function fromElsewhere(set: TokenSet): Renewal {
  return { set, isIssuedHere: false };
}
