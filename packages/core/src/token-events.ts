import type { DomainPrefix } from "./domain-prefix.js";
import { isRetailPosError, type RateLimitedError, type StoreFailedError } from "./errors.js";
import { type RetailPosEvent, tell } from "./events.js";
import type { TokenSet } from "./token-set.js";

/** Tells `observe` of everything that happens to stored tokens. */
export interface TokenEvents {
  connected(domainPrefix: DomainPrefix): void;
  disconnected(domainPrefix: DomainPrefix): void;
  /** @param beganAt when the token request was sent, as `performance.now()` says it. */
  renewed(stored: TokenSet, next: TokenSet, beganAt: number): void;
  renewalFailed(domainPrefix: DomainPrefix, error: unknown, servedHeldToken: boolean): void;
  rateLimited(domainPrefix: DomainPrefix, error: RateLimitedError): void;
  reconnectRequired(domainPrefix: DomainPrefix): void;
  unsaved(domainPrefix: DomainPrefix, error: unknown): void;
  /** @param domainPrefix the retailer, if the error does not say: a lock has keys, no retailers. */
  storeFailed(error: StoreFailedError, domainPrefix?: DomainPrefix): void;
  /** @param domainPrefix absent if what the caller gave is no domain prefix. */
  callerFailed(domainPrefix: DomainPrefix | undefined, error: unknown): void;
  /** The same, for what asks for no token: an error that the store told already is not told again. */
  askFailed(error: unknown): void;
}

export function tokenEvents(
  observe: ((event: RetailPosEvent) => void) | undefined,
  clock: () => number,
): TokenEvents {
  const callerFailed = (domainPrefix: DomainPrefix | undefined, error: unknown) =>
    tell(observe, { type: "caller_failed", ...about(domainPrefix), at: clock(), error });

  return {
    callerFailed,
    connected: (domainPrefix) => tell(observe, { type: "connected", domainPrefix, at: clock() }),
    disconnected: (domainPrefix) => tell(observe, { type: "disconnected", domainPrefix, at: clock() }),
    renewed(stored, next, beganAt) {
      const { domainPrefix } = next;
      const rotated = next.refreshToken !== stored.refreshToken;
      const tookMs = performance.now() - beganAt;
      tell(observe, { type: "renewed", domainPrefix, at: clock(), rotated, tookMs });
    },
    renewalFailed: (domainPrefix, error, servedHeldToken) =>
      tell(observe, { type: "renewal_failed", domainPrefix, at: clock(), error, servedHeldToken }),
    rateLimited: (domainPrefix, { retryAt, rateLimit }) =>
      tell(observe, { type: "rate_limited", domainPrefix, at: clock(), retryAt, rateLimit }),
    reconnectRequired: (domainPrefix) =>
      tell(observe, { type: "reconnect_required", domainPrefix, at: clock() }),
    unsaved: (domainPrefix, error) => tell(observe, { type: "unsaved", domainPrefix, at: clock(), error }),
    storeFailed: (error, domainPrefix) =>
      tell(observe, {
        type: "store_failed",
        ...about((error.domainPrefix as DomainPrefix | undefined) ?? domainPrefix),
        at: clock(),
        operation: error.operation,
        error,
      }),
    askFailed(error) {
      if (!isRetailPosError(error) || error.code === "store_failed") return; // a program's mistake, or told
      callerFailed(error.domainPrefix as DomainPrefix | undefined, error);
    },
  };
}

function about(domainPrefix: DomainPrefix | undefined): { domainPrefix?: DomainPrefix } {
  return domainPrefix === undefined ? {} : { domainPrefix };
}
