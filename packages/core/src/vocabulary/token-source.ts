import type { AccessToken } from "./token-set.js";

/** How a caller asks for a token. */
export interface TokenAsk {
  /** Ends this caller's wait only; a renewal under way goes on and is saved. */
  signal?: AbortSignal;
  /** A token value that the API just answered 401 to: callers do not get it again. */
  rejected?: string;
}

/** Gives out bearer tokens: those of one retailer's login, or one Personal Token. */
export interface TokenSource {
  /**
   * A token that is valid now. It waits for a renewal only if there is none.
   *
   * @throws {NotConnectedError} nothing is stored for the retailer.
   * @throws {ReconnectRequiredError} the service refused the refresh token, or a personal token was rejected.
   * @throws {RateLimitedError | TokenEndpointError | TokenResponseError | ClientRefusedError} there is no valid token,
   * and the renewal failed.
   * @throws {StoreFailedError} there is no valid token, and the store or the lock failed.
   * @throws {StoredTokensError} the stored record is no token set of this retailer and this application.
   * @throws the signal's reason, if the caller's own signal is aborted.
   */
  token(ask?: TokenAsk): Promise<AccessToken>;
}
