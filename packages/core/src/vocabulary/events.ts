import type { DomainPrefix } from "./domain-prefix.js";
import type { StoreFailedError, StoreOperation } from "./errors.js";
import type { RateLimit } from "./rate-limit.js";

/** The fields of every event. */
interface EventBase {
  /** The retailer concerned. */
  readonly domainPrefix: DomainPrefix;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** An event that may concern no known retailer. */
interface EventOfAny {
  /** The retailer concerned, if its domain prefix is valid. */
  readonly domainPrefix?: DomainPrefix | undefined;
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
  | (EventOfAny & {
      /** A login's code was not exchanged for tokens. */
      readonly type: "exchange_failed";
      /** What went wrong; one of this library's errors. */
      readonly error: unknown;
    })
  | (EventOfAny & {
      /**
       * A caller asked for a token and got an error; one event for each caller. Also an error of `connect`,
       * `disconnect` or `status` that has no other event: a bad domain prefix, or an unusable record.
       */
      readonly type: "caller_failed";
      /** The error that the caller got; one of this library's errors. */
      readonly error: unknown;
    })
  | (EventOfAny & {
      /** The store rejected or did not answer, or the lock rejected; one event, however often core tried. */
      readonly type: "store_failed";
      /** The operation that failed. */
      readonly operation: StoreOperation;
      /** A `StoreFailedError`. */
      readonly error: unknown;
    });

/**
 * Calls a function of the application's. If it throws, or rejects with a promise of any realm, that is ignored.
 *
 * @returns if it returned an object: what resolves once that has settled, if it is a promise.
 */
export function callSafely(call: () => unknown): Promise<void> | undefined {
  try {
    const answer = call();
    // If its `then` throws, the promise around it rejects.
    if (isObject(answer)) return new Promise((resolve) => resolve(answer)).then(nothing, nothing);
  } catch {
    // The function's mistake is not the caller's.
  }
  return undefined;
}

const nothing = () => {};

function isObject(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

type WithoutTime<Event> = Event extends RetailPosEvent ? Omit<Event, "at"> : never;
/** Tells `observe` of an event, with the time. */
export type Tell = (event: WithoutTime<RetailPosEvent>) => void;

/** Tells `observe` of everything that happens to stored tokens, and `background` of what `observe` goes on to do. */
export function teller(
  observe: ((event: RetailPosEvent) => void) | undefined,
  clock: () => number,
  background?: (work: Promise<unknown>) => void,
): Tell {
  return ({ type, domainPrefix, ...facts }) => {
    if (!observe) return;
    const about = domainPrefix !== undefined && { domainPrefix };
    const told = callSafely(() => observe({ type, ...about, at: clock(), ...facts } as RetailPosEvent));
    if (told) background?.(told);
  };
}

/** @param domainPrefix the retailer, if the error names none: a lock knows keys, not retailers. */
export function tellStoreFailed(tell: Tell, error: StoreFailedError, domainPrefix?: DomainPrefix): void {
  const about = (error.domainPrefix as DomainPrefix | undefined) ?? domainPrefix;
  tell({ type: "store_failed", domainPrefix: about, operation: error.operation, error });
}
