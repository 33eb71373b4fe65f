import type { TokenAnswer } from "../endpoint/token-endpoint.js";
import type { Progress } from "../platform/progress.js";
import { underLock } from "../store/locks.js";
import { STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import {
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  type RetailPosError,
  TokenEndpointError,
} from "../vocabulary/errors.js";
import { isExpired, limitOf, refusalOf } from "../vocabulary/token-life.js";
import { haveSameAccess, type TokenSet } from "../vocabulary/token-set.js";
import type { Application } from "./application.js";
import type { HeldTokens, Renewal } from "./held-tokens.js";
import { lateAnswers, saveIssued } from "./issued-tokens.js";
import {
  ENDS_WITHIN_MS,
  newerThanRefused,
  newerThanRefusedEarly,
  tooEarly,
  untilEndedFor,
} from "./refusals.js";
import { noteFailure, noteLimit } from "./renewal-failures.js";

/** Renews stored tokens: one token request per expiry, however many callers ask (behaviour 4). */
export interface Renewals {
  /**
   * Renews, or joins the renewal that is under way.
   *
   * @param stale the set that has to be replaced: one with another version that lives is returned instead.
   */
  renew(held: HeldTokens, stale: TokenSet): Promise<Renewal>;
  /** What the service may still say after the deadline of a renewal, and its saving: whether new tokens came of it. */
  comingLate(held: HeldTokens): Promise<boolean>;
  /** Why no token request may go out for this set right now. */
  blocked(held: HeldTokens, set: TokenSet): RetailPosError | undefined;
}

/** Long enough for a lock whose owner was killed to be free again, and for a set that was renewed to be saved. */
const WAIT_FOR_OTHERS_MS = 30_000;
/** A token request has ended so soon after `timeoutMs`, or its runtime has ended it. */
const REQUEST_ENDS_WITHIN_MS = 1000;
/** Of the time between two looks no more than this counts: if more has passed, this process stood still. */
const LOOKS_WITHIN_MS = 1000;

export function renewals(app: Application): Renewals {
  const { endpoint, backOff, lock, clientId, timeoutMs, clock } = app;
  const late = lateAnswers(app);
  const surelyMs = ENDS_WITHIN_MS + timeoutMs; // the answer that brought a token may have been slow
  /** The service has renewed a token after its end that it refused to renew before: it does so with all retailers. */
  let renewsOnlyEnded = false;
  return { renew, comingLate: late.coming, blocked };

  /** One renewal for all callers in this process; the lock makes it one for all processes. */
  function renew(held: HeldTokens, stale: TokenSet): Promise<Renewal> {
    return held.renewOnce(timeoutMs + REQUEST_ENDS_WITHIN_MS, async (progress) => {
      try {
        const key = `${clientId}/${held.domainPrefix}`;
        const work = () => renewLocked(held, stale, progress);
        const instead = renewedElsewhere(held, stale, timeoutMs + WAIT_FOR_OTHERS_MS, progress);
        return await underLock(lock, key, work, { instead, progress });
      } catch (error) {
        if (error instanceof Blocked) throw error.reason;
        noteFailure(held, error, app);
        throw error;
      }
    });
  }

  /**
   * The heart: under the lock reload, compare, refresh, save, and only then hand out.
   *
   * @param waitedMs for a token that ended just now: so long the service was given to end it, too (behaviour 8).
   */
  async function renewLocked(
    held: HeldTokens,
    stale: TokenSet,
    progress: Progress,
    waitedMs = 0,
  ): Promise<Renewal> {
    progress.next(STORE_MAY_TAKE_MS);
    const stored = await held.reload(); // never a set that was read before the lock was ours
    if (!stored) throw new NotConnectedError(held);
    if (isRenewed(held, stored, stale)) return adopted(stored); // while we queued
    const reason = blocked(held, stored);
    if (reason) throw new Blocked(reason);
    const [isEarly, wasRefusedEarly] = [held.isLive(stored), held.isRefusedEarly(stored)];
    const mayBeEarly = !isEarly && (renewsOnlyEnded || wasRefusedEarly);
    const waitsFor = async (ms: number) =>
      mayBeEarly && waitedMs < ms && (await untilEndedFor(ms, held, stored, app, progress));
    if (await waitsFor(ENDS_WITHIN_MS)) return renewLocked(held, stale, progress, ENDS_WITHIN_MS);
    let answer: TokenAnswer;
    progress.next(timeoutMs + REQUEST_ENDS_WITHIN_MS);
    try {
      answer = await endpoint.refresh(held.domainPrefix, stored.refreshToken, {
        accessToken: stored.access.value,
        isEarly,
        late: (coming) => late.keep(held, stored, coming),
      });
    } catch (error) {
      progress.next(STORE_MAY_TAKE_MS);
      if (error instanceof RateLimitedError) await noteLimit(held, stored, error, app);
      if (error instanceof RefusedEarlyError)
        return adopted(await newerThanRefusedEarly(held, stored, error, app));
      if (!(error instanceof ReconnectRequiredError)) throw error;
      if (await waitsFor(surelyMs)) return renewLocked(held, stale, progress, surelyMs);
      return live(held, await newerThanRefused(held, stored, app), progress);
    }
    renewsOnlyEnded = !isEarly && (renewsOnlyEnded || (wasRefusedEarly && isExpired(stored.access, clock())));
    const kept = await saveIssued(held, stored, answer, app, () => progress.next(STORE_MAY_TAKE_MS));
    return kept.isIssuedHere ? kept : live(held, kept.set, progress);
  }

  /** A set that somebody else stored counts only while it lives. */
  function live(held: HeldTokens, set: TokenSet, progress: Progress): Renewal | Promise<Renewal> {
    return held.isLive(set) ? adopted(set) : renewLocked(held, set, progress);
  }

  function blocked(held: HeldTokens, set: TokenSet): RetailPosError | undefined {
    const now = clock();
    const refusal = refusalOf(set, now) ?? refusalOf(held.remembered(set), now);
    const reason = refusal ?? backOff.renewal(set.domainPrefix) ?? limitOf(set, now);
    return reason ?? (held.isTooEarly(set) ? tooEarly(held) : undefined);
  }
}

/** Wraps the reason why no request went out, so that it is not noted as a new failure. */
class Blocked {
  readonly reason: RetailPosError;
  constructor(reason: RetailPosError) {
    this.reason = reason;
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
  held: HeldTokens,
  stale: TokenSet,
  patienceMs: number,
  progress: Progress,
): () => Promise<Renewal | undefined> {
  const { domainPrefix } = held;
  let waitedMs = 0;
  let lookedAt = performance.now();
  let isReadable = true;
  return async () => {
    progress.next(STORE_MAY_TAKE_MS); // the one who waits is alive
    const stored = isReadable && !held.isUnsaved ? await read() : undefined;
    if (stored && isRenewed(held, stored, stale)) return adopted(stored);
    const now = performance.now();
    waitedMs += Math.min(now - lookedAt, LOOKS_WITHIN_MS);
    lookedAt = now;
    if (waitedMs < patienceMs) return undefined;
    const why = `other processes have tried for ${Math.round(waitedMs / 1000)} s`;
    throw new TokenEndpointError(`The tokens of retailer "${domainPrefix}" are not renewed: ${why}`, {
      domainPrefix,
    });
  };

  async function read(): Promise<TokenSet | undefined> {
    try {
      return await held.load();
    } catch {
      isReadable = false;
      return undefined;
    }
  }
}

function isRenewed(held: HeldTokens, stored: TokenSet, stale: TokenSet): boolean {
  return !haveSameAccess(stored, stale) && held.isLive(stored);
}

function adopted(set: TokenSet): Renewal {
  return { set, isIssuedHere: false };
}
