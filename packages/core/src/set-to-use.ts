import { NotConnectedError, RejectedByApiError } from "./errors.js";
import type { HeldTokens } from "./held-tokens.js";
import type { Renewals } from "./renewals.js";
import type { TokenSet } from "./token-set.js";

/** Which set a caller is served from: this process's copy, or what the store holds. */
export interface SetsToUse {
  /** This process's copy, if it is to be used. At once: so the first of many callers begins the renewal for all. */
  ofCopy(held: HeldTokens, rejected: string | undefined): TokenSet | undefined;
  /**
   * The set to use: this process's copy while it may be trusted, else the one in the store.
   *
   * @throws {NotConnectedError} a look that began after this call found nothing.
   */
  current(held: HeldTokens, rejected: string | undefined): Promise<TokenSet>;
}

export function setsToUse(renewals: Renewals): SetsToUse {
  return { ofCopy, current };

  function ofCopy(held: HeldTokens, rejected: string | undefined): TokenSet | undefined {
    const set = rejected === undefined && held.isTrusted() ? held.set : undefined;
    return set && isUsable(held, set) ? set : undefined;
  }

  /** Whether a set serves this caller, or a renewal of it may. */
  function isUsable(held: HeldTokens, set: TokenSet): boolean {
    return held.isLive(set) || held.renewing !== undefined || !renewals.blocked(set);
  }

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

function rejectsAll(held: HeldTokens): RejectedByApiError {
  const message = `The API of retailer "${held.domainPrefix}" rejects every access token, also those just issued`;
  return new RejectedByApiError(message, held);
}
