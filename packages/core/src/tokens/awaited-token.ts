import {
  NotConnectedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  RejectedByApiError,
} from "../vocabulary/errors.js";
import type { AccessToken, TokenSet } from "../vocabulary/token-set.js";
import type { HeldTokens, Renewal } from "./held-tokens.js";
import type { Renewals } from "./renewals.js";

/**
 * The token of a caller whom the copy does not serve at once: it waits for a look at the store, for a renewal, or both.
 *
 * @param serve hands out the token of a set that lives.
 * @returns a function; its `rejected` is the access token that the API rejected, if the caller reports one.
 */
export function awaitedTokens(
  renewals: Renewals,
  serve: (held: HeldTokens, set: TokenSet) => AccessToken,
  clock: () => number,
): (held: HeldTokens, rejected: string | undefined) => Promise<AccessToken> {
  return obtain;

  async function obtain(held: HeldTokens, rejected: string | undefined): Promise<AccessToken> {
    for (let isLater = false; ; isLater = true) {
      const set = ofCopy(held, rejected) ?? (await found(held, rejected));
      if (held.isLive(set)) return serve(held, set);
      const isJoining = held.isRenewing;
      const reason = isJoining ? undefined : renewals.blocked(held, set);
      if (reason) throw reason;
      const token = await outcome(held, renewals.renew(held, set), isJoining && !isLater);
      if (token) return token;
    }
  }

  /**
   * What a renewal brings to a caller; nothing, if the caller has to ask again.
   *
   * @param isJoining whether the renewal began before the caller came.
   */
  async function outcome(held: HeldTokens, renewing: Promise<Renewal>, isJoining: boolean) {
    try {
      const { access } = (await renewing).set;
      // A token that ended while it was saved is handed to the caller who asked for it, and not to one who joined. A
      // token that the API has rejected meanwhile is handed to neither.
      const isGood = !isJoining || held.isLiveAccess(access, clock());
      return isGood && !held.isRejected(access.value) ? access : undefined;
    } catch (error) {
      // A person may have logged in meanwhile: a token that lives now is served although the renewal failed.
      if (held.liveAccess) return held.liveAccess;
      // It was refused before the token's end, and this caller came at the end: the next renewal is no longer early.
      if (error instanceof RefusedEarlyError) return undefined;
      // A renewal that began before this call may not know of a login that came between; the next one began later.
      if (!isJoining || !isVerdict(error)) throw error;
      return undefined;
    }
  }

  /**
   * What this process holds, if it may be trusted and serves this caller, or if a renewal of it may. At once: so the
   * first of many callers begins the renewal for all; and others, whose look is answered before this caller's, are not
   * handed a token that this caller reports.
   */
  function ofCopy(held: HeldTokens, rejected: string | undefined): TokenSet | undefined {
    const { set } = held;
    if (!set || (set.access.value === rejected && !held.reject(set)) || !held.isTrusted()) return undefined;
    return held.isLive(set) || held.isRenewing || !renewals.blocked(held, set) ? set : undefined;
  }

  /**
   * The set in the store. Who is turned away because of it was told by a look that began after this call: another
   * process may have renewed, or a person may have logged in.
   *
   * @throws {NotConnectedError} the store holds nothing.
   */
  async function found(held: HeldTokens, rejected: string | undefined): Promise<TokenSet> {
    const set = await held.look(() => ofCopy(held, rejected));
    if (!set) throw new NotConnectedError(held);
    if (set.access.value === rejected && !held.reject(set)) throw rejectsAll(held);
    return set;
  }
}

function isVerdict(error: unknown): boolean {
  return error instanceof NotConnectedError || error instanceof ReconnectRequiredError;
}

function rejectsAll(held: HeldTokens): RejectedByApiError {
  const message = `The API of retailer "${held.domainPrefix}" rejects every access token, also those just issued`;
  return new RejectedByApiError(message, held);
}
