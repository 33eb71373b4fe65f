import { type RetailerClient, retailerClients } from "./client/retailer-client.js";
import { tokenEndpoint } from "./endpoint/token-endpoint.js";
import type { ExchangeExtra } from "./endpoint/token-grants.js";
import { pagesThrough } from "./fleet/all-retailers.js";
import { dueRenewals, type RenewDueAsk, type RenewDueReport } from "./fleet/renew-due.js";
import { type AuthorizationRequest, authorizationUrl } from "./login/authorization-url.js";
import { exchanges } from "./login/exchange.js";
import { loginBackOff as newLoginBackOff } from "./login/login-back-off.js";
import { checkOptions, type RetailPosOptions } from "./settings/options.js";
import { checkedStore } from "./store/checked-store.js";
import { clientClaims } from "./store/claims.js";
import { memoryLock } from "./store/locks.js";
import { memoryStore } from "./store/memory-store.js";
import { backOff as newBackOff } from "./tokens/renewal-back-off.js";
import { storedTokens } from "./tokens/stored-tokens.js";
import type { DomainPrefix } from "./vocabulary/domain-prefix.js";
import { tokenEvents } from "./vocabulary/events.js";
import type { RetailerStatus } from "./vocabulary/retailer-status.js";
import type { TokenSet } from "./vocabulary/token-set.js";
import { versionsOf } from "./vocabulary/token-set-versions.js";
import type { TokenSource } from "./vocabulary/token-source.js";

/** Login, tokens and calls for all retailers of one application. */
export interface RetailPos {
  /**
   * The address to send the retailer's browser to (4.1).
   *
   * @param state unique, random and non-guessable; kept by the caller and compared in the callback (R2).
   * @param more settings of this login; a `redirectUri` has to be given to {@link exchange} too.
   * @throws {TypeError} `state` has fewer than 8 characters; or `authUrl` or `redirectUri` was left out of the options.
   */
  authorizationUrl(state: string, more?: AuthorizationRequest): URL;
  /**
   * Exchanges the callback's code at that retailer's token endpoint (4.2). It stores nothing and does not retry. All
   * processes that share the lock send one exchange of a retailer at a time.
   *
   * @throws {InvalidDomainPrefixError} before anything is sent.
   * @throws {RetailerNotAcceptedError} `acceptRetailer` said no; nothing was sent.
   * @throws {TypeError} `code` is empty; or `redirectUri` was left out of the options, or is not secure.
   * @throws {TokenEndpointError} the endpoint cannot be used; or, with `error: "invalid_grant"` and status 403, the
   * service refused the code: start the login again.
   * @throws {RateLimitedError} the service answered 429; or the rest of its rate limit is kept for renewals; or it
   * refused a code of this retailer in the last seconds. Try again at `retryAt`.
   * @throws {TokenResponseError} a 2xx that is no usable token response.
   * @throws {ClientRefusedError} the service refuses this application.
   * @throws {StoreFailedError} the lock could not be taken; nothing was sent.
   * @throws an error of `acceptRetailer`, and one that `parseErrorResponse` returns or throws.
   */
  exchange(domainPrefix: string, code: string, extra?: ExchangeExtra): Promise<TokenSet>;
  /**
   * Stores a new login. It replaces the retailer's stored set, if there is one. If the API rejected this access token
   * before, it stays rejected.
   *
   * @throws {TypeError} `tokens` is no token set; the message names the field.
   * @throws {InvalidDomainPrefixError}
   * @throws {StoreFailedError} the store rejected, or did not answer within five seconds: it may keep the login later.
   * @throws {StoredTokensError} the store holds the tokens of another application (client id); nothing was changed.
   */
  connect(tokens: TokenSet): Promise<void>;
  /**
   * Removes the retailer's tokens from the store. The service is not told, because it cannot revoke tokens.
   * Other processes may use their cached tokens for `cacheMs`.
   *
   * @throws {InvalidDomainPrefixError}
   * @throws {StoreFailedError} the store rejected, or did not answer within five seconds: it may remove them later.
   */
  disconnect(domainPrefix: string): Promise<void>;
  /** The retailer's tokens. @throws {InvalidDomainPrefixError} */
  tokens(domainPrefix: string): TokenSource;
  /** The client for the retailer's API, which adds the bearer to every call. @throws {InvalidDomainPrefixError} */
  retailer(domainPrefix: string): RetailerClient;
  /**
   * Loads the retailer's status from the store, without a token; `undefined` if nothing is stored.
   *
   * @throws {InvalidDomainPrefixError}
   * @throws {StoreFailedError} the store rejected, or did not answer within five seconds.
   * @throws {StoredTokensError} the record is no token set of this retailer and this application.
   */
  status(domainPrefix: string): Promise<RetailerStatus | undefined>;
  /**
   * All retailers in the store, without tokens. A retailer that is stored all the time is listed exactly once.
   *
   * @param ask `signal`: if it is aborted, the iteration throws its reason.
   * @throws {TypeError} the store has no `list`.
   * @throws {StoreFailedError} from the iteration: the store rejected, did not answer, or its list does not end.
   */
  retailers(ask?: { signal?: AbortSignal | undefined }): AsyncIterable<RetailerStatus>;
  /**
   * Renews all tokens in the store that expire soon or have expired, so that the next call for a retailer without
   * traffic does not wait. Run it in a job, now and then; several runs at once renew each retailer once (behaviour 14).
   * It leaves out tokens in the first half of their life, refused refresh tokens, and retailers that have to wait after
   * a failure or a 429. If an answer does not come within `timeoutMs`, it waits up to twice as long again, because the
   * service may have ended the old refresh token (R4).
   *
   * @throws {TypeError} naming what is wrong: `withinMs`, `concurrency`, or a store without `list`.
   * @throws {StoreFailedError} the store could not list; the renewals that had started have ended.
   */
  renewDue(ask?: RenewDueAsk): Promise<RenewDueReport>;
  /**
   * Lets one caller win: the first to ask for a key gets `true`, and all others get `false` for `forMs` milliseconds.
   * It counts in all processes that share the store, if the store has `claim`; else only in this client. Core finishes
   * each login once with it (behaviour 15). Applications with different client ids never share a key.
   *
   * @throws {TypeError} for an empty key, or a time that is no number of milliseconds above 0.
   * @throws {StoreFailedError} the store rejected or did not answer; whether it recorded the claim is unknown.
   */
  claim(key: string, forMs: number): Promise<boolean>;
}

/**
 * Makes the client for all retailers of one application.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function retailPos(options: RetailPosOptions): RetailPos {
  const checked = checkOptions(options);
  const { addresses, clientId, clock, observe, fetch, lock = memoryLock() } = checked;
  const events = tokenEvents(observe, clock);
  const versions = versionsOf(clientId);
  const [backOff, loginBackOff] = [newBackOff(clock), newLoginBackOff(clock)];
  const endpoint = tokenEndpoint({ ...checked, events, logins: loginBackOff });
  const store = checkedStore(checked.store ?? memoryStore(), versions, events.storeFailed);
  const app = { ...checked, store, lock, events, versions, endpoint, backOff };
  const tokens = storedTokens(app);
  const { retailers, renewals } = tokens;
  const exchange = exchanges({ ...app, retailers, loginBackOff, isShared: checked.lock !== undefined });
  const clientOf = retailerClients({ fetch, renews: true, sharesOrigin: addresses.sharesOrigin });

  return {
    authorizationUrl: (state, more) => authorizationUrl(checked, state, more),
    exchange,
    connect: tokens.connect,
    disconnect: tokens.disconnect,
    tokens: tokens.source,
    // A copy, so that callers cannot change each other's client.
    retailer: (domainPrefix) => ({ ...tokens.client(domainPrefix, client) }),
    status: tokens.status,
    retailers: (ask) => pagesThrough(store, ask?.signal, events.storeFailed),
    renewDue: dueRenewals(app, retailers, renewals),
    claim: clientClaims(store, clientId, clock),
  };

  function client(domainPrefix: DomainPrefix, source: TokenSource): RetailerClient {
    return clientOf(domainPrefix, addresses.baseUrl(domainPrefix), source);
  }
}
