import type { DomainPrefix } from "./domain-prefix.js";
import {
  isRetailPosError,
  type RateLimitedError,
  type StoreFailedError,
  type StoreOperation,
} from "./errors.js";
import type { RateLimit } from "./rate-limit.js";
import type { TokenSet } from "./token-set.js";

/** The fields of every event. */
interface EventBase {
  /** The retailer concerned. */
  readonly domainPrefix: DomainPrefix;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** One event for `observe`. It never shows a token, a code or the client secret. */
export type RetailPosEvent =
  | (EventBase & {
      /** A fresh login was stored. */
      readonly type: "connected";
    })
  | (EventBase & {
      /** The retailer's tokens were removed from the store. */
      readonly type: "disconnected";
    })
  | (EventBase & {
      /** A new access token was stored. */
      readonly type: "renewed";
      /** Whether the service also sent a new refresh token (R4). */
      readonly rotated: boolean;
      /** From the token request to the end of the save, milliseconds by the real clock. */
      readonly tookMs: number;
    })
  | (EventBase & {
      /** A renewal did not succeed, or the store could not be asked. */
      readonly type: "renewal_failed";
      /** What went wrong; one of this library's errors, or the store's. */
      readonly error: unknown;
      /** Whether callers got the cached token, because it is still valid. */
      readonly servedHeldToken: boolean;
    })
  | (EventBase & {
      /** The token endpoint answered 429: no token request is sent for this retailer until `retryAt`. */
      readonly type: "rate_limited";
      /** When the next token request may be sent, epoch milliseconds. */
      readonly retryAt: number;
      /** The service's rate limit, if the answer had a usable one. */
      readonly rateLimit: RateLimit | undefined;
    })
  | (EventBase & {
      /** The service refused the refresh token: a person has to log in with the store again. */
      readonly type: "reconnect_required";
    })
  | (EventBase & {
      /** The store did not save a new set; this process keeps it and tries again. Check the store. */
      readonly type: "unsaved";
      /** The store's error. */
      readonly error: unknown;
    })
  | (EventBase & {
      /** A request to the token endpoint has ended; there is exactly one event for each request. */
      readonly type: "token_request";
      /** `authorization_code` for a login, `refresh_token` for a renewal. */
      readonly grant: "authorization_code" | "refresh_token";
      /** When it was sent, epoch milliseconds by the real clock. */
      readonly startedAt: number;
      /** How long it took with its body, milliseconds by the real clock. */
      readonly tookMs: number;
      /** The HTTP status, if there was an answer. */
      readonly status?: number;
      /** Why there is no usable answer; one of this library's errors. */
      readonly error?: unknown;
    })
  | (Partial<EventBase> & {
      /** A login's code was not exchanged for tokens. */
      readonly type: "exchange_failed";
      /** Epoch milliseconds. */
      readonly at: number;
      /** What went wrong; one of this library's errors. */
      readonly error: unknown;
    })
  | (Partial<EventBase> & {
      /**
       * A caller asked for a token and got an error; one event for each caller. Also an error of `connect`,
       * `disconnect` or `status` that has no other event: a bad domain prefix, or an unusable record.
       */
      readonly type: "caller_failed";
      /** Epoch milliseconds. */
      readonly at: number;
      /** The error that the caller got; one of this library's errors. */
      readonly error: unknown;
    })
  | (Partial<EventBase> & {
      /** The store rejected or did not answer, or the lock rejected; one event, however often core tried. */
      readonly type: "store_failed";
      /** Epoch milliseconds. */
      readonly at: number;
      /** The operation that failed. */
      readonly operation: StoreOperation;
      /** A `StoreFailedError`. */
      readonly error: unknown;
    });

/** One request to the token endpoint, and what became of it. */
export type TokenRequestReport = Omit<Extract<RetailPosEvent, { type: "token_request" }>, "type" | "at">;

/** Tells an observer. */
function tell(observe: ((event: RetailPosEvent) => unknown) | undefined, event: RetailPosEvent): void {
  if (observe) callSafely(() => observe(event));
}

/** Calls a function of the application's. If it throws, or rejects with a promise of any realm, that is ignored. */
export function callSafely(call: () => unknown): void {
  try {
    const answer = call();
    // If its `then` throws, the promise around it rejects.
    if (isObject(answer)) new Promise((resolve) => resolve(answer)).catch(() => {});
  } catch {
    // The function's mistake is not the caller's.
  }
}

function isObject(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Tells `observe` of everything that happens to stored tokens. */
export interface TokenEvents {
  tokenRequest(request: TokenRequestReport): void;
  connected(domainPrefix: DomainPrefix): void;
  disconnected(domainPrefix: DomainPrefix): void;
  /** @param beganAt when the token request was sent, by `performance.now()`. */
  renewed(stored: TokenSet, next: TokenSet, beganAt: number): void;
  renewalFailed(domainPrefix: DomainPrefix, error: unknown, servedHeldToken: boolean): void;
  rateLimited(domainPrefix: DomainPrefix, error: RateLimitedError): void;
  reconnectRequired(domainPrefix: DomainPrefix): void;
  unsaved(domainPrefix: DomainPrefix, error: unknown): void;
  /** @param domainPrefix the retailer, if the error names none: a lock knows keys, not retailers. */
  storeFailed(error: StoreFailedError, domainPrefix?: DomainPrefix): void;
  /** @param domainPrefix absent if the login's domain prefix is not valid. */
  exchangeFailed(domainPrefix: DomainPrefix | undefined, error: unknown): void;
  /** @param domainPrefix absent if the caller's domain prefix is not valid. */
  callerFailed(domainPrefix: DomainPrefix | undefined, error: unknown): void;
  /** The same for calls other than `token`. A store's failure is left out: it has had its event. */
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
    tokenRequest: (request) => tell(observe, { type: "token_request", at: clock(), ...request }),
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
    exchangeFailed: (domainPrefix, error) =>
      tell(observe, { type: "exchange_failed", ...about(domainPrefix), at: clock(), error }),
    askFailed(error) {
      if (!isRetailPosError(error) || error.code === "store_failed") return; // a `TypeError`, or reported already
      callerFailed(error.domainPrefix as DomainPrefix | undefined, error);
    },
  };
}

function about(domainPrefix: DomainPrefix | undefined): { domainPrefix?: DomainPrefix } {
  return domainPrefix === undefined ? {} : { domainPrefix };
}
