import {
  isStoreFailure,
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  RetailPosError,
  StoredTokensError,
} from "../vocabulary/errors.js";
import { limitedUntil } from "../vocabulary/token-life.js";
import { quiet, type TokenSet } from "../vocabulary/token-set.js";
import type { Application } from "./application.js";
import type { HeldTokens } from "./held-tokens.js";

/** Makes the next renewal of this retailer wait as long as this failure asks for, and tells the observer. */
export function noteFailure(held: HeldTokens, error: unknown, { backOff, events }: Application): void {
  const { domainPrefix, set } = held;
  if (error instanceof ReconnectRequiredError || error instanceof NotConnectedError) return;
  if (error instanceof RateLimitedError) return; // noted when the answer came
  if (isStoreFailure(error)) {
    backOff.pause(domainPrefix);
    if (error.operation === "lock") events.storeFailed(error, domainPrefix); // the store tells its own failures
    return;
  }
  if (error instanceof RefusedEarlyError) {
    // No pause: the next request comes at the token's end, and callers wait for that one.
  } else if (error instanceof RetailPosError && !(error instanceof StoredTokensError))
    backOff.failed(domainPrefix, error);
  else backOff.pause(domainPrefix);
  events.renewalFailed(domainPrefix, error, set !== undefined && held.isLive(set));
}

/**
 * The service answered 429: this process waits, the observer is told, and a note on the stored set tells all processes
 * that share the store, each when it reloads under the lock (behaviour 7).
 *
 * @param stored what is stored for the retailer, if anything is.
 */
export async function noteLimit(
  held: HeldTokens,
  stored: TokenSet | undefined | Promise<TokenSet | undefined>,
  error: RateLimitedError,
  { backOff, events, versions }: Application,
): Promise<void> {
  backOff.failed(held.domainPrefix, error);
  events.rateLimited(held.domainPrefix, error);
  const set = await stored;
  if (!set) return;
  const noted = quiet({ ...set, version: versions.next(), ...limitedUntil(set, error.retryAt) });
  await held.note(set, noted).catch(() => {}); // told by the store; this process remembers the limit by itself
}
