import {
  NotConnectedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  RejectedByApiError,
} from "../vocabulary/errors.js";
import type { AccessToken, TokenSet } from "../vocabulary/token-set.js";
import type { HeldTokens, Renewal } from "./held-tokens.js";
import type { Renewals } from "./renewals.js";

export interface AwaitedTokenOptions {
  renewals: Renewals;
  /** Hands out the token of a set that lives. */
  serve(held: HeldTokens, set: TokenSet): AccessToken;
  clock: () => number;
}

/**
 * The token of a caller whom the copy does not serve at once: it waits for a look at the store, for a renewal, or both.
 *
 * @returns a function; its `rejected` is the access token that the API rejected, if the caller reports one.
 */
export function awaitedTokens({
  renewals,
  serve,
  clock,
}: AwaitedTokenOptions): (held: HeldTokens, rejected: string | undefined) => Promise<AccessToken> {
  return (held, rejected) => obtain(held, rejected);

  async function obtain(held: HeldTokens, rejected: string | undefined): Promise<AccessToken> {
    for (let isLater = false; ; isLater = true) {
      const set = ofCopy(held, rejected) ?? (await current(held, rejected));
      if (held.isLive(set)) return serve(held, set);
      const isJoining = held.isRenewing;
      const reason = isJoining ? undefined : renewals.blocked(set);
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
      if (held.standIn) return held.standIn.access;
      // It was refused before the token's end, and this caller came at the end: the next renewal is no longer early.
      if (error instanceof RefusedEarlyError) return undefined;
      // A renewal that began before this call may not know of a login that came between; the next one began later.
      if (!isJoining || !isVerdict(error)) throw error;
      return undefined;
    }
  }

  /** This process's copy, if it is to be used. At once: so the first of many callers begins the renewal for all. */
  function ofCopy(held: HeldTokens, rejected: string | undefined): TokenSet | undefined {
    const set = rejected === undefined && held.isTrusted() ? held.set : undefined;
    return set && isUsable(held, set) ? set : undefined;
  }

  /** Whether a set serves this caller, or a renewal of it may. */
  function isUsable(held: HeldTokens, set: TokenSet): boolean {
    return held.isLive(set) || held.isRenewing || !renewals.blocked(set);
  }

  /**
   * The set to use: this process's copy while it may be trusted, else the one in the store.
   *
   * @throws {NotConnectedError} a look that began after this call found nothing.
   */
  async function current(held: HeldTokens, rejected: string | undefined): Promise<TokenSet> {
    const { asked } = held;
    // At once: others, whose look is answered before this one's, shall not be handed it.
    if (held.access?.value === rejected && held.set) held.reject(held.set);
    let set = held.isTrusted() ? held.set : await held.look(asked);
    if (set && set.access.value === rejected && !held.reject(set)) {
      set = await held.look(asked, 0);
      if (set?.access.value === rejected) throw rejectsAll(held);
    }
    if (set && isUsable(held, set)) return set;
    // This caller would be turned away: another process may have renewed, or a person may have logged in.
    if (!held.isSince(asked)) set = await held.look(asked, 0);
    if (set && set.access.value === rejected) held.reject(set);
    if (!set) throw new NotConnectedError(held);
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
