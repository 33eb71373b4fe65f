import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import { RateLimitedError, TokenResponseError } from "./errors.js";
import { tell } from "./events.js";
import { holdBack } from "./hold-back.js";
import { checkOptions, type RetailPosOptions } from "./options.js";
import { type RetailerClient, retailerClient } from "./retailer-client.js";
import { storedTokens } from "./stored-tokens.js";
import { type ExchangeExtra, type TokenAnswer, tokenEndpoint } from "./token-endpoint.js";
import { newVersion, quiet, type TokenSet } from "./token-set.js";
import type { TokenSource } from "./token-source.js";

/**
 * Up to so many clients are kept to be handed out again, then all are dropped: a server wants one for each
 * request, and what requests leave behind costs more than what they compute.
 */
const MOST_CLIENTS = 1_000;

/** Login, tokens and calls for all retailers of one application. */
export interface RetailPos {
  /**
   * Where to send the retailer's browser (4.1).
   *
   * @param state unique, random and non-guessable; kept by the caller and compared in the callback (R2).
   * @throws {TypeError} under 8 characters.
   */
  authorizationUrl(state: string): URL;
  /**
   * Trades the callback's code at that retailer's token endpoint (4.2). Stores nothing, and is never
   * retried. A refused code is a `TokenEndpointError` with `error: "invalid_grant"`.
   *
   * @throws {InvalidDomainPrefixError} before anything is sent.
   * @throws {RateLimitedError | TokenEndpointError | TokenResponseError | ClientRefusedError}
   */
  exchange(domainPrefix: string, code: string, extra?: ExchangeExtra): Promise<TokenSet>;
  /** Keeps a fresh login: replaces whatever is stored for its retailer. */
  connect(tokens: TokenSet): Promise<void>;
  /** Forgets the retailer. The service has no way to revoke tokens (section 3), so none is told. */
  disconnect(domainPrefix: string): Promise<void>;
  /** The retailer's tokens. @throws {InvalidDomainPrefixError} */
  tokens(domainPrefix: string): TokenSource;
  /** The retailer's API with the bearer on every call. @throws {InvalidDomainPrefixError} */
  retailer(domainPrefix: string): RetailerClient;
  /**
   * Lets one caller win: the first to ask for a key gets `true`, everybody else `false` for `forMs` milliseconds. In
   * all processes that share the store, if the store can `claim`; else among the users of this client. A login is
   * finished once by it (behaviour 15). Applications with different client ids never meet in one key.
   *
   * @throws {TypeError} for an empty key, or a time that is no number of milliseconds above 0.
   * @throws {StoreFailedError} the store rejected or did not answer; whether it recorded the claim is unknown.
   */
  claim(key: string, forMs: number): Promise<boolean>;
}

/**
 * The one call most people need.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function retailPos(options: RetailPosOptions): RetailPos {
  const checked = checkOptions(options);
  const { service, clientId, redirectUri, clock, observe, fetch } = checked;
  const held = holdBack(clock);
  const endpoint = tokenEndpoint(checked);
  const stored = storedTokens({ ...checked, endpoint, holdBack: held });
  const clients = new Map<DomainPrefix, RetailerClient>();

  return {
    authorizationUrl,
    exchange,
    connect: stored.connect,
    disconnect,
    tokens: stored.source,
    retailer,
    claim: stored.claim,
  };

  function authorizationUrl(state: string): URL {
    if (typeof state !== "string" || state.length < 8)
      throw new TypeError("state must have at least 8 characters");
    const url = new URL(service.connectUrl);
    url.search = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      state,
    }).toString();
    return url;
  }

  async function exchange(domainPrefix: string, code: string, extra?: ExchangeExtra): Promise<TokenSet> {
    const retailer = parseDomainPrefix(domainPrefix);
    if (typeof code !== "string" || code === "") throw new TypeError("code must be a non-empty text");
    const reason = held.exchange(retailer);
    if (reason) throw reason;
    try {
      const answer = await endpoint.exchange(retailer, code, extra);
      held.succeeded(retailer, answer.rateLimit);
      return firstSet(answer, retailer);
    } catch (error) {
      if (error instanceof RateLimitedError) {
        held.failed(retailer, error);
        const { retryAt, rateLimit } = error;
        tell(observe, { type: "rate_limited", domainPrefix: retailer, at: clock(), retryAt, rateLimit });
      }
      throw error;
    }
  }

  async function disconnect(domainPrefix: string): Promise<void> {
    const prefix = parseDomainPrefix(domainPrefix);
    await stored.disconnect(prefix);
    clients.delete(prefix);
  }

  function retailer(domainPrefix: string): RetailerClient {
    // A name that is known was checked when it became so.
    const client = clients.get(domainPrefix as DomainPrefix) ?? clientOf(parseDomainPrefix(domainPrefix));
    return { ...client }; // what a caller changes of it is that caller's alone
  }

  function clientOf(domainPrefix: DomainPrefix): RetailerClient {
    const known = clients.get(domainPrefix);
    if (known) return known;
    const client = retailerClient({
      domainPrefix,
      baseUrl: service.baseUrl(domainPrefix),
      source: stored.source(domainPrefix),
      fetch,
      renews: true,
    });
    if (clients.size >= MOST_CLIENTS) clients.clear();
    clients.set(domainPrefix, client);
    return client;
  }
}

/** A login is read strictly: nothing is lost yet, and nothing wrong may get in (2.2, R4). */
function firstSet({ response, requestedAt }: TokenAnswer, domainPrefix: TokenSet["domainPrefix"]): TokenSet {
  const { access, refreshToken, oddities } = response;
  const problem = !access
    ? "it holds no usable access_token"
    : refreshToken
      ? oddities[0]
      : "it holds no refresh_token";
  if (problem || !access || !refreshToken) {
    throw new TokenResponseError(
      `The token response for the login of retailer "${domainPrefix}" is unusable: ${problem}`,
      { domainPrefix },
    );
  }
  return quiet({ domainPrefix, access, refreshToken, issuedAt: requestedAt, version: newVersion() });
}
