import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import {
  isStoreFailure,
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RefusedEarlyError,
  RetailPosError,
  StoredTokensError,
} from "../vocabulary/errors.js";
import { tellStoreFailed } from "../vocabulary/events.js";
import { laterLimit } from "../vocabulary/token-life.js";
import { type AccessToken, redacted, type TokenSet } from "../vocabulary/token-set.js";
import type { Deps } from "./deps.js";

/** The part of a retailer's cache that a failure concerns. */
interface FailedRetailer {
  readonly domainPrefix: DomainPrefix;
  /** The access token that callers get all the same. */
  readonly liveAccess: AccessToken | undefined;
  update(stored: TokenSet, changed: TokenSet): Promise<unknown>;
}

/** Makes the next renewal of this retailer wait as long as this failure asks for, and tells the observer. */
export function recordFailure(
  { domainPrefix, liveAccess }: FailedRetailer,
  error: unknown,
  { backOff, tell }: Deps,
): void {
  if (error instanceof ReconnectRequiredError || error instanceof NotConnectedError) return;
  if (error instanceof RateLimitedError) return; // recorded when the answer came
  if (isStoreFailure(error)) {
    backOff.storeFailed(domainPrefix);
    if (error.operation === "lock") tellStoreFailed(tell, error, domainPrefix); // the store tells its own failures
    return;
  }
  if (error instanceof RefusedEarlyError) {
    // No pause: the next request comes at the token's end, and callers wait for that one.
  } else if (error instanceof RetailPosError && !(error instanceof StoredTokensError))
    backOff.failed(domainPrefix, error);
  else backOff.storeFailed(domainPrefix);
  tell({ type: "renewal_failed", domainPrefix, error, servedHeldToken: liveAccess !== undefined });
}

/**
 * The service answered 429: this process waits, the observer is told, and `limitedUntil` on the stored set tells all
 * processes that share the store, each when it reloads under the lock (behaviour 7).
 *
 * @param stored what is stored for the retailer, if anything is.
 */
export async function recordRetryAfter(
  cached: FailedRetailer,
  stored: TokenSet | undefined | Promise<TokenSet | undefined>,
  error: RateLimitedError,
  { backOff, clock, tell, versions }: Deps,
): Promise<void> {
  backOff.failed(cached.domainPrefix, error);
  const { retryAt, rateLimit } = error;
  tell({ type: "rate_limited", domainPrefix: cached.domainPrefix, retryAt, rateLimit });
  const set = await stored;
  if (!set) return;
  const limitedUntil = laterLimit(set, error.retryAt, clock());
  const changed = redacted({ ...set, version: versions.next(), limitedUntil });
  await cached.update(set, changed).catch(() => {}); // told by the store; this process remembers the limit by itself
}
