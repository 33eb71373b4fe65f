import { unlessAborted } from "../platform/abort.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import {
  NotConnectedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  RejectedByApiError,
} from "../vocabulary/errors.js";
import type { AccessToken, TokenSet } from "../vocabulary/token-set.js";
import type { TokenAsk, TokenSource } from "../vocabulary/token-source.js";
import { type Decision, serves } from "./decide.js";
import type { Deps } from "./deps.js";
import type { KnownRetailers } from "./known-retailers.js";
import type { Renewals } from "./renewals.js";
import type { Renewal, RetailerCache } from "./retailer-cache.js";

/** Hands out the tokens of one retailer: from memory while they live, else after the renewal that is due. */
export function tokenSources(
  { clock, tell, background }: Deps,
  retailers: KnownRetailers,
  renewals: Renewals,
): (domainPrefix: DomainPrefix) => TokenSource {
  /** What the callers of this turn wait for. */
  const waits = new Map<RetailerCache, Promise<AccessToken>>();
  return (domainPrefix) => ({ token: (ask) => token(domainPrefix, ask) });

  async function token(
    domainPrefix: DomainPrefix,
    { signal, rejected }: TokenAsk = {},
  ): Promise<AccessToken> {
    signal?.throwIfAborted();
    const cached = retailers.of(domainPrefix);
    const now = rejected === undefined ? tokenNow(cached) : undefined;
    if (now) return now;
    try {
      const wait = rejected === undefined ? sharedWait(cached) : obtain(cached, rejected);
      return await unlessAborted(wait, signal);
    } catch (error) {
      // Told in the async context of the caller; one who left is told of no failure.
      if (!(signal?.aborted && error === signal.reason)) tell({ type: "caller_failed", domainPrefix, error });
      throw error;
    }
  }

  /** Nearly every call ends here, and has nothing to wait for. */
  function tokenNow(cached: RetailerCache): AccessToken | undefined {
    const now = clock();
    const { set } = cached;
    if (!set || !cached.isFresh(now)) return undefined;
    const decision = cached.decide(set, now);
    return serves(decision) ? serve(cached, set, decision) : undefined;
  }

  /** Hands out a live token at once, and starts the save or the renewal that is due beside it. */
  function serve(cached: RetailerCache, set: TokenSet, decision: Decision): AccessToken {
    if (cached.isRenewing && !cached.isRenewalOverdue) return set.access;
    if (cached.isUnsaved && !cached.isSaving) background(cached.saveUnsaved());
    if (decision === "serve and renew") renewals.renew(cached, set).catch(() => {}); // told already
    return set.access;
  }

  /** Callers of one synchronous run share one wait, because no answer can arrive between their calls. */
  function sharedWait(cached: RetailerCache): Promise<AccessToken> {
    const shared = waits.get(cached);
    if (shared) return shared;
    const wait = obtain(cached, undefined);
    waits.set(cached, wait);
    void Promise.resolve().then(() => waits.delete(cached));
    return wait;
  }

  /**
   * The token of a caller whom the copy does not serve at once: it waits for the store, for a renewal, or both.
   *
   * @param rejected the access token that the API rejected, if the caller reports one.
   */
  async function obtain(cached: RetailerCache, rejected: string | undefined): Promise<AccessToken> {
    for (let isLater = false; ; isLater = true) {
      const set = useful(cached, rejected) ?? (await loaded(cached, rejected));
      const decision = cached.decide(set);
      if (serves(decision)) return serve(cached, set, decision);
      const isJoining = cached.isRenewing;
      if (decision instanceof Error && !isJoining) throw decision;
      const beganBefore = isJoining && !isLater;
      const token = await outcome(cached, renewals.renew(cached, set), beganBefore);
      if (token) return token;
    }
  }
}

/**
 * What a renewal brings to a caller; nothing, if the caller has to ask again.
 *
 * @param beganBefore whether the renewal began before the caller came.
 */
async function outcome(cached: RetailerCache, renewing: Promise<Renewal>, beganBefore: boolean) {
  try {
    const { set } = await renewing;
    // A token that ended while it was saved is handed to the caller who asked for it, and not to one who joined. A
    // token that the API has rejected meanwhile is handed to neither.
    const isUsable = beganBefore ? cached.isLive(set) : !cached.isRejected(set.access.value);
    return isUsable ? set.access : undefined;
  } catch (error) {
    // A person may have logged in meanwhile: a token that lives now is served although the renewal failed.
    const { liveAccess } = cached;
    if (liveAccess) return liveAccess;
    // It was refused before the token's end, and this caller came at the end: the next renewal is no longer early.
    if (error instanceof RefusedEarlyError) return undefined;
    // A renewal that began before this call may not know of a login that came between; the next one began later.
    if (!beganBefore || !isVerdict(error)) throw error;
    return undefined;
  }
}

/**
 * What this process holds, if it is fresh and serves this caller, or if a renewal of it may. At once: so the first of
 * many callers begins the renewal for all; and others, whose load is answered before this caller's, are not handed a
 * token that this caller reports.
 */
function useful(cached: RetailerCache, rejected: string | undefined): TokenSet | undefined {
  const { set } = cached;
  if (!set || (set.access.value === rejected && !cached.reject(set))) return undefined;
  if (!cached.isFresh()) return undefined;
  const decision = cached.decide(set);
  return !(decision instanceof Error) || cached.isRenewing ? set : undefined;
}

/**
 * The set in the store. A caller is turned away because of it only if the load began after the call: another process
 * may have renewed, or a person may have logged in.
 *
 * @throws {NotConnectedError} the store holds nothing.
 */
async function loaded(cached: RetailerCache, rejected: string | undefined): Promise<TokenSet> {
  const set = await cached.load(() => useful(cached, rejected));
  if (!set) throw new NotConnectedError(cached);
  if (set.access.value === rejected && !cached.reject(set)) throw rejectsAll(cached);
  return set;
}

function isVerdict(error: unknown): boolean {
  return error instanceof NotConnectedError || error instanceof ReconnectRequiredError;
}

function rejectsAll(cached: RetailerCache): RejectedByApiError {
  const message = `The API of retailer "${cached.domainPrefix}" rejects every access token, also those just issued`;
  return new RejectedByApiError(message, cached);
}
