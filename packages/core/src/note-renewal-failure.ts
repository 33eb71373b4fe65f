import {
  isStoreFailure,
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RetailPosError,
  StoredTokensError,
} from "./errors.js";
import type { HeldTokens } from "./held-tokens.js";
import type { BackOff } from "./renewal-back-off.js";
import type { TokenEvents } from "./token-events.js";

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
