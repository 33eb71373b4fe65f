import { type RetailerClient, retailerClients } from "./client/retailer-client.js";
import { tokenEndpoint } from "./endpoint/token-endpoint.js";
import type { ExchangeExtra } from "./endpoint/token-requests.js";
import { pagesThrough } from "./fleet/all-retailers.js";
import { dueRenewals, type RenewDueAsk, type RenewDueReport } from "./fleet/renew-due.js";
import { type AuthorizationRequest, authorizationUrl } from "./login/authorization-url.js";
import { exchanges } from "./login/exchange.js";
import { loginBackOff as newLoginBackOff } from "./login/login-back-off.js";
import { derivedSecrets } from "./secrets/derived-secrets.js";
import { checkOptions, type RetailPosOptions } from "./settings/options.js";
import { checkedStore } from "./store/checked-store.js";
import { clientClaims } from "./store/claims.js";
import { memoryLock } from "./store/locks.js";
import { memoryStore } from "./store/memory-store.js";
import { backOff as newBackOff } from "./tokens/renewal-back-off.js";
import { storedTokens } from "./tokens/stored-tokens.js";
import { parseDomainPrefix } from "./vocabulary/domain-prefix.js";
import { teller } from "./vocabulary/events.js";
import type { RetailerStatus } from "./vocabulary/retailer-status.js";
import type { TokenSet } from "./vocabulary/token-set.js";
import { versionsOf } from "./vocabulary/token-set-versions.js";
import type { TokenSource } from "./vocabulary/token-source.js";

/** What tells an application from all others. */
export interface RetailPosApplication {
  /** The registered client id (2.1). */
  readonly clientId: string;
  /** The consent page, `{auth_url}/connect` (4.1); `undefined` if `authUrl` was left out. */
  readonly authorizationUrl: string | undefined;
  /** `{base_url}`, with `{domain_prefix}` in it. */
  readonly baseUrl: string;
  /** The registered `redirect_uri`; `undefined` if each login names one. */
  readonly redirectUri: string | undefined;
}

/** Login, tokens and calls for all retailers of one application. */
export interface RetailPos {
  /** Which application this client belongs to, as configured. No secret is in it. */
  readonly application: RetailPosApplication;
  /**
   * The address to send the retailer's browser to (4.1).
   *
   * @param state unique, random and not guessable. Keep it, and compare it with the callback's `state` (R2).
   * @param more settings of this login. If you give a `redirectUri`, give it to {@link exchange} too.
   * @throws {TypeError} `state` has fewer than 8 characters; or `authUrl` or `redirectUri` was left out of the options.
   */
  authorizationUrl(state: string, more?: AuthorizationRequest): URL;
  /**
   * Exchanges the callback's code for tokens at that retailer's token endpoint (4.2). It stores nothing and does not
   * retry. Processes that share a lock exchange one code of a retailer at a time.
   *
   * @throws {InvalidDomainPrefixError} `domainPrefix` is not valid; nothing was sent.
   * @throws {RetailerNotAcceptedError} `acceptRetailer` did not answer `true`; nothing was sent.
   * @throws {TypeError} `code` is empty; or `redirectUri` was left out of the options, or is not secure.
   * @throws {TokenEndpointError} the endpoint cannot be used; or, with `error: "invalid_grant"` and status 403, the
   * service refused the code: start the login again.
   * @throws {RateLimitedError} the service answered 429; or the rest of its rate limit is reserved for renewals; or the
   * service refused a code of this retailer in the last seconds. Try again at `retryAt`.
   * @throws {TokenResponseError} the endpoint answered 2xx without a usable token response.
   * @throws {ClientRefusedError} the service refused the application's client id or secret.
   * @throws {StoreFailedError} the lock could not be taken; nothing was sent.
   * @throws an error that `acceptRetailer` throws, or that `parseErrorResponse` returns or throws.
   */
  exchange(domainPrefix: string, code: string, extra?: ExchangeExtra): Promise<TokenSet>;
  /**
   * Stores a new login's tokens, which replace the retailer's stored tokens. If the API rejected this access token
   * before, the token stays rejected.
   *
   * @throws {TypeError} `tokens` is no token set; the message names the field.
   * @throws {InvalidDomainPrefixError}
   * @throws {StoreFailedError} the store failed, or did not answer within five seconds; it may still save the login.
   * @throws {StoredTokensError} the store holds tokens of another application (another client id); nothing was changed.
   */
  connect(tokens: TokenSet): Promise<void>;
  /**
   * Removes the retailer's tokens from the store. The service is not told, because it cannot revoke tokens. Other
   * processes may use their cached tokens for up to `cacheMs`.
   *
   * @throws {InvalidDomainPrefixError}
   * @throws {StoreFailedError} the store failed, or did not answer within five seconds; it may still remove the tokens.
   */
  disconnect(domainPrefix: string): Promise<void>;
  /** The retailer's tokens. @throws {InvalidDomainPrefixError} */
  tokens(domainPrefix: string): TokenSource;
  /** The client for the retailer's API, which adds the bearer to every call. @throws {InvalidDomainPrefixError} */
  retailer(domainPrefix: string): RetailerClient;
  /**
   * Loads the retailer's status from the store; `undefined` if nothing is stored. The status contains no token.
   *
   * @throws {InvalidDomainPrefixError}
   * @throws {StoreFailedError} the store failed, or did not answer within five seconds.
   * @throws {StoredTokensError} the record is no token set of this retailer and this application.
   */
  status(domainPrefix: string): Promise<RetailerStatus | undefined>;
  /**
   * Lists the status of all retailers in the store. A retailer that stays stored while you iterate is listed exactly
   * once.
   *
   * @param ask `signal`: if you abort it, the iteration throws the signal's reason.
   * @throws {TypeError} the store has no `list`.
   * @throws {StoreFailedError} during the iteration: the store failed, did not answer, or its list does not end.
   */
  retailers(ask?: { signal?: AbortSignal | undefined }): AsyncIterable<RetailerStatus>;
  /**
   * Renews all stored tokens that have expired or expire soon, so that the next call for a retailer without traffic
   * does not wait; or, with `issuedBefore`, all tokens of the time before a leak. Run it regularly in a job; if several
   * runs overlap, each retailer is renewed once (behaviour 14). It skips tokens in the first half of their lifetime,
   * refused refresh tokens, and retailers that have to wait after a failure or a 429. If the token endpoint does not
   * answer within `timeoutMs`, it waits up to twice as long again, because a late answer may bring the only valid
   * refresh token (R4).
   *
   * @throws {TypeError} `withinMs`, `issuedBefore` or `concurrency` is wrong, or the store has no `list`.
   * @throws {StoreFailedError} the store could not list its retailers; every renewal that had started has ended.
   */
  renewDue(ask?: RenewDueAsk): Promise<RenewDueReport>;
  /**
   * Answers `true` to the first caller who asks for a key, and `false` to all others for `forMs` milliseconds. If the
   * store has `claim`, these are the callers of all processes that share the store; else only those of this client.
   * Core uses `claim` to finish each login only once (behaviour 15). Applications with different client ids never share
   * a key.
   *
   * @throws {TypeError} `key` is empty, or `forMs` is not a number above 0.
   * @throws {StoreFailedError} the store failed or did not answer; whether it recorded the claim is unknown.
   */
  claim(key: string, forMs: number): Promise<boolean>;
  /**
   * A secret for a purpose of your own, such as sealing a cookie: 64 letters, derived from the client secret. All
   * processes with the same client id and secret get the same, and each purpose has another. With a new client secret
   * it is another one.
   *
   * @throws {TypeError} `purpose` is empty.
   */
  secretFor(purpose: string): Promise<string>;
}

/**
 * Makes the client for all retailers of one application.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function retailPos(options: RetailPosOptions): RetailPos {
  const checked = checkOptions(options);
  const { addresses, clientId, clock, observe, fetch, lock = memoryLock() } = checked;
  const tell = teller(observe, clock, checked.background);
  const versions = versionsOf(clientId);
  const [backOff, loginBackOff] = [newBackOff(clock), newLoginBackOff(clock)];
  const endpoint = tokenEndpoint({ ...checked, tell, logins: loginBackOff });
  const store = checkedStore(checked.store ?? memoryStore(), versions, tell);
  const deps = { ...checked, store, lock, tell, versions, endpoint, backOff };
  const tokens = storedTokens(deps);
  const { retailers, renewals } = tokens;
  const exchange = exchanges({ ...deps, retailers, loginBackOff, isShared: checked.lock !== undefined });
  const clientOf = retailerClients({ fetch, renews: true, sharesOrigin: addresses.sharesOrigin });

  return {
    application: {
      clientId,
      authorizationUrl: addresses.connectUrl,
      baseUrl: addresses.template,
      redirectUri: checked.redirectUri,
    },
    authorizationUrl: (state, more) => authorizationUrl(checked, state, more),
    exchange,
    connect: tokens.connect,
    disconnect: tokens.disconnect,
    tokens: tokens.source,
    retailer(name) {
      const source = tokens.source(name);
      const domainPrefix = parseDomainPrefix(name);
      return clientOf(domainPrefix, addresses.baseUrl(domainPrefix), source);
    },
    status: tokens.status,
    retailers: (ask) => pagesThrough(store, ask?.signal, tell),
    renewDue: dueRenewals(deps, retailers, renewals),
    claim: clientClaims(store, clientId, clock),
    secretFor: derivedSecrets(clientId, checked.clientSecret),
  };
}
