import { isRetailPosError, type StoredTokensError, type StoreFailedError } from "./errors.js";
import type { RetailerStatus } from "./retailer-status.js";

/** In one word, whether calls for a retailer can succeed. */
export interface RetailerState {
  /** `connected`, or the code of the error that a call would meet now. */
  readonly state:
    | "connected"
    | "not_connected"
    | "reconnect_required"
    | "rate_limited"
    | "store_failed"
    | "bad_stored_tokens";
  /** With `rate_limited`: when the service takes the next token request, epoch milliseconds. */
  readonly retryAt?: number;
  /** Why the state could not be read, if it could not: the token store failed, or the record is unusable. */
  readonly error?: StoreFailedError | StoredTokensError;
}

/**
 * Says in one word whether calls for a retailer can succeed. It asks the token store alone: nothing is sent to the
 * service.
 *
 * - `connected`: its tokens are good, as far as the store knows.
 * - `not_connected`: there are none.
 * - `reconnect_required`: the service refused its refresh token, so a person has to log in again.
 * - `rate_limited`: its access token has ended, and the service takes no token request before `retryAt`.
 * - `store_failed`, `bad_stored_tokens`: the record could not be read; `error` says why. Nobody has to log in again.
 *
 * @param client what `retailPos` returned.
 * @param domainPrefix the retailer.
 * @param now epoch milliseconds; the clock of the machine, unless given.
 * @throws {InvalidDomainPrefixError} the name is no domain prefix.
 */
export async function retailerState(
  client: { status(domainPrefix: string): Promise<RetailerStatus | undefined> },
  domainPrefix: string,
  now: number = Date.now(),
): Promise<RetailerState> {
  try {
    return stateOf(await client.status(domainPrefix), now);
  } catch (error) {
    if (!isRetailPosError(error)) throw error;
    if (error.code !== "store_failed" && error.code !== "bad_stored_tokens") throw error;
    return { state: error.code, error };
  }
}

function stateOf(status: RetailerStatus | undefined, now: number): RetailerState {
  if (status === undefined) return { state: "not_connected" };
  const { expiresAt = Number.POSITIVE_INFINITY, refusedAt, limitedUntil } = status;
  if (refusedAt !== undefined) return { state: "reconnect_required" };
  const isLimited = limitedUntil !== undefined && limitedUntil > now && expiresAt <= now;
  return isLimited ? { state: "rate_limited", retryAt: limitedUntil } : { state: "connected" };
}
