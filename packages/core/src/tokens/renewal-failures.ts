import type { TokenAnswer } from "../endpoint/token-endpoint.js";
import {
  isStoreFailure,
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RejectedByApiError,
  RetailPosError,
  StoredTokensError,
  TokenResponseError,
} from "../vocabulary/errors.js";
import type { TokenEvents } from "../vocabulary/events.js";
import { quiet, type TokenSet } from "../vocabulary/token-set.js";
import type { Versions } from "../vocabulary/token-set-versions.js";
import type { HeldTokens } from "./held-tokens.js";
import type { BackOff } from "./renewal-back-off.js";

/** Who has to know that a renewal failed: the next attempt, and the observer. */
export interface ToldOfFailure {
  readonly backOff: BackOff;
  readonly events: TokenEvents;
}

/** Makes the next renewal of this retailer wait as long as this failure asks for, and tells the observer. */
export function noteFailure(held: HeldTokens, error: unknown, { backOff, events }: ToldOfFailure): void {
  const { domainPrefix, set } = held;
  if (error instanceof ReconnectRequiredError || error instanceof NotConnectedError) return;
  if (isStoreFailure(error)) {
    backOff.pause(domainPrefix);
    if (error.operation === "lock") events.storeFailed(error, domainPrefix); // the store tells its own failures
    return;
  }
  if (error instanceof RetailPosError && !(error instanceof StoredTokensError))
    backOff.failed(domainPrefix, error);
  else backOff.pause(domainPrefix);
  if (error instanceof RateLimitedError) return; // told when the answer came
  events.renewalFailed(domainPrefix, error, set !== undefined && held.isLive(set));
}

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

/** Why callers have no use for an answer. It is saved all the same. */
export function uselessness(
  held: HeldTokens,
  { response: { access } }: TokenAnswer,
): RetailPosError | undefined {
  if (access && !held.isRejected(access.value)) return undefined;
  const issued = `The token endpoint of retailer "${held.domainPrefix}" issued`;
  if (access) return new RejectedByApiError(`${issued} an access token again that the API rejects`, held);
  return new TokenResponseError(`${issued} a refresh token but no usable access_token`, held);
}
