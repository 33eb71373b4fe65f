import { redirectUriOfLogin } from "./authorization-url.js";
import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import { isStoreFailure, RateLimitedError, TokenResponseError } from "./errors.js";
import { type RetailPosEvent, tell } from "./events.js";
import type { LoginBackOff } from "./login-back-off.js";
import { type LoginTurnOptions, loginTurns } from "./login-turns.js";
import type { LoginLimits } from "./noted-limits.js";
import type { CheckedOptions } from "./options.js";
import type { BackOff } from "./renewal-back-off.js";
import { type AcceptRetailer, throwUnlessAccepted } from "./retailer-acceptance.js";
import type { TokenAnswer, TokenEndpoint } from "./token-endpoint.js";
import type { ExchangeExtra } from "./token-grants.js";
import { quiet, type TokenSet } from "./token-set.js";
import type { Versions } from "./token-set-versions.js";

export interface ExchangeOptions
  extends LoginTurnOptions,
    Pick<CheckedOptions, "addresses" | "redirectUri" | "isShared"> {
  endpoint: TokenEndpoint;
  backOff: BackOff;
  /** The 429 that is noted in the store: by other processes, and for them. */
  stored: LoginLimits;
  loginBackOff: LoginBackOff;
  versions: Versions;
  observe: ((event: RetailPosEvent) => void) | undefined;
  acceptRetailer: AcceptRetailer | undefined;
}

/**
 * Trades codes for tokens (4.2). Exchanges of one retailer go out one at a time, in all processes that share the lock:
 * the next is sent only after the rate limit in the last answer is known.
 */
export function exchanges(options: ExchangeOptions) {
  const { endpoint, backOff, loginBackOff, stored, versions, clock, observe } = options;
  const turns = loginTurns(options);

  return async (domainPrefix: string, code: string, given?: ExchangeExtra): Promise<TokenSet> => {
    let retailer: DomainPrefix | undefined;
    try {
      retailer = parseDomainPrefix(domainPrefix);
      if (typeof code !== "string" || code === "") throw new TypeError("code must be a non-empty text");
      const extra = { ...given, redirectUri: redirectUriOfLogin(options, given?.redirectUri) };
      await throwUnlessAccepted(retailer, options.acceptRetailer);
      return await exchange(retailer, code, extra);
    } catch (error) {
      tellFailure(retailer, error);
      throw error;
    }
  };

  async function exchange(retailer: DomainPrefix, code: string, extra: ExchangeExtra): Promise<TokenSet> {
    throwIfHeldUp(retailer);
    return turns.take(retailer, async () => {
      if (options.isShared) await stored.lookForLimit(retailer);
      throwIfHeldUp(retailer); // a login before this one may have been refused
      return send(retailer, code, extra);
    });
  }

  async function send(retailer: DomainPrefix, code: string, extra: ExchangeExtra): Promise<TokenSet> {
    try {
      const answer = await endpoint.exchange(retailer, code, extra);
      backOff.succeeded(retailer, answer.rateLimit);
      loginBackOff.succeeded(retailer);
      return firstSet(answer, retailer, versions);
    } catch (error) {
      if (error instanceof RateLimitedError) await limited(retailer, error);
      throw error;
    }
  }

  async function limited(domainPrefix: DomainPrefix, error: RateLimitedError): Promise<void> {
    backOff.failed(domainPrefix, error);
    const { retryAt, rateLimit } = error;
    tell(observe, { type: "rate_limited", domainPrefix, at: clock(), retryAt, rateLimit });
    await stored.limited(domainPrefix, error);
  }

  function throwIfHeldUp(retailer: DomainPrefix): void {
    const reason = backOff.limit(retailer) ?? stored.limit(retailer) ?? loginBackOff.exchange(retailer);
    if (reason) throw reason;
  }

  function tellFailure(retailer: DomainPrefix | undefined, error: unknown): void {
    if (error instanceof TypeError) return; // a mistake of the program's, not of the login
    const about = { ...(retailer !== undefined && { domainPrefix: retailer }), at: clock() };
    // The store's own failures are told by it.
    if (isStoreFailure(error) && error.operation === "lock")
      tell(observe, { type: "store_failed", ...about, operation: error.operation, error });
    tell(observe, { type: "exchange_failed", ...about, error });
  }
}

/** The answer to a login is read strictly: if it is refused, nothing is lost, and nothing odd is stored (2.2, R4). */
function firstSet(
  { response, requestedAt }: TokenAnswer,
  domainPrefix: DomainPrefix,
  versions: Versions,
): TokenSet {
  const { access, refreshToken, oddities, scope } = response;
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
  const set = { domainPrefix, access, refreshToken, issuedAt: requestedAt, version: versions.next() };
  return quiet(scope === undefined ? set : { ...set, scope });
}
