import type { DomainPrefix } from "./domain-prefix.js";
import type { RateLimit } from "./rate-limit.js";

/** What every event carries. */
interface EventBase {
  readonly domainPrefix: DomainPrefix;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What `observe` is told. Never a token, a code or the client secret. */
export type RetailPosEvent =
  /** A fresh login was stored. */
  | (EventBase & { readonly type: "connected" })
  /** The retailer was forgotten. */
  | (EventBase & { readonly type: "disconnected" })
  /** A new access token was stored. `rotated`: with a new refresh token (R4). `tookMs`: request to saved. */
  | (EventBase & { readonly type: "renewed"; readonly rotated: boolean; readonly tookMs: number })
  /** A renewal did not succeed, or the store could not be asked. `servedHeldToken`: callers noticed nothing. */
  | (EventBase & {
      readonly type: "renewal_failed";
      readonly error: unknown;
      readonly servedHeldToken: boolean;
    })
  /** The token endpoint answered 429; nothing goes out for this retailer before `retryAt` (epoch ms). */
  | (EventBase & {
      readonly type: "rate_limited";
      readonly retryAt: number;
      readonly rateLimit: RateLimit | undefined;
    })
  /** The service refused the refresh token: a person has to log in with the store again. */
  | (EventBase & { readonly type: "reconnect_required" })
  /** The store did not take a new set; this process keeps it and goes on trying. Look at the store. */
  | (EventBase & { readonly type: "unsaved"; readonly error: unknown });

/** Tells an observer; one that throws or rejects disturbs nothing. */
export function tell(observe: ((event: RetailPosEvent) => unknown) | undefined, event: RetailPosEvent): void {
  try {
    const answer = observe?.(event);
    if (answer instanceof Promise) answer.catch(() => {});
  } catch {
    // An observer's mistake is not the caller's.
  }
}
