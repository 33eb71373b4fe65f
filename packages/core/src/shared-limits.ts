import type { RateLimitedError } from "./errors.js";
import type { HeldTokens } from "./held-tokens.js";
import type { TokenEvents } from "./token-events.js";
import { quiet, type TokenSet } from "./token-set.js";
import type { Versions } from "./token-set-versions.js";

/** Tells all processes that share the store of a 429: each sees it when it reloads under the lock (behaviour 7). */
export interface SharedLimits {
  /** Notes it on the stored set, if there is one, and the store can. */
  noteLimit(held: HeldTokens, stored: TokenSet, error: RateLimitedError): Promise<void>;
  /** A renewal met it: the observer is told as well. */
  limited(held: HeldTokens, stored: TokenSet, error: RateLimitedError): Promise<void>;
}

export interface SharedLimitsOptions {
  versions: Versions;
  events: TokenEvents;
}

export function sharedLimits({ versions, events }: SharedLimitsOptions): SharedLimits {
  return { noteLimit, limited };

  function noteLimit(held: HeldTokens, stored: TokenSet, { retryAt }: RateLimitedError): Promise<void> {
    return held.note(stored, quiet({ ...stored, version: versions.next(), limitedUntil: retryAt }));
  }

  async function limited(held: HeldTokens, stored: TokenSet, error: RateLimitedError): Promise<void> {
    events.rateLimited(held.domainPrefix, error);
    await noteLimit(held, stored, error);
  }
}
