import type { AccessToken } from "./token-set.js";

/** How a caller asks for a token. */
export interface TokenAsk {
  /** Ends this caller's wait only; a renewal under way goes on and is saved. */
  signal?: AbortSignal;
  /** A token value the API just answered 401 to: it is not handed out again. */
  rejected?: string;
}

/** Anything that hands out bearer tokens. Callers cannot tell one kind from another. */
export interface TokenSource {
  /**
   * A token that is good now; waits for a renewal only if there is no such token.
   *
   * @throws {NotConnectedError} nothing is stored for the retailer.
   * @throws {ReconnectRequiredError} the service refused the refresh token, or a personal token was rejected.
   * @throws {RateLimitedError | TokenEndpointError | TokenResponseError | ClientRefusedError} no live token
   * is left and renewing failed.
   * @throws {StoreFailedError} no live token is left, and the store or the lock failed.
   * @throws {StoredTokensError} the stored record is no token set of this retailer and this application.
   * @throws the signal's reason, if the caller's own signal is aborted.
   */
  token(ask?: TokenAsk): Promise<AccessToken>;
  /**
   * The token, if it can be handed out without waiting for anything: this process holds a live one and
   * `cacheMs` has not passed. As with {@link token}, a renewal that is due starts beside it.
   * Optional: a source without it is asked with {@link token}.
   */
  tokenNow?(): AccessToken | undefined;
}
