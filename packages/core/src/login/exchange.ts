import { tokenSetFromCode } from "../endpoint/answered-set.js";
import type { ExchangeExtra } from "../endpoint/token-requests.js";
import type { Heartbeat } from "../platform/heartbeat.js";
import type { AcceptRetailer, CheckedOptions } from "../settings/options.js";
import { STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import type { Deps } from "../tokens/deps.js";
import type { KnownRetailers } from "../tokens/known-retailers.js";
import { recordRetryAfter } from "../tokens/renewal-failures.js";
import { REQUEST_ENDS_WITHIN_MS } from "../tokens/renewals.js";
import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { isStoreFailure, RateLimitedError, RetailerNotAcceptedError } from "../vocabulary/errors.js";
import { tellStoreFailed } from "../vocabulary/events.js";
import { limitOf } from "../vocabulary/token-life.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { redirectUriOfLogin } from "./authorization-url.js";
import type { LoginBackOff } from "./login-back-off.js";
import { loginTurns } from "./login-turns.js";

export interface ExchangeOptions
  extends Deps,
    Pick<CheckedOptions, "addresses" | "redirectUri" | "acceptRetailer"> {
  readonly retailers: KnownRetailers;
  readonly loginBackOff: LoginBackOff;
  /** Whether a lock was given: then other processes may have met a 429 that this one does not know. */
  readonly isShared: boolean;
}

/**
 * Exchanges codes for tokens (4.2). All processes that share the lock send the exchanges of one retailer one at a time,
 * so that the rate limit in each answer is known before the next exchange is sent.
 */
export function exchanges(options: ExchangeOptions) {
  const { endpoint, backOff, loginBackOff, retailers, versions, clock, tell } = options;
  const inTurn = loginTurns(options);

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
    throwIfLimited(retailer);
    return inTurn(retailer, async (heartbeat) => {
      heartbeat.next(STORE_MAY_TAKE_MS);
      if (options.isShared) await loaded(retailer); // another process may have just met a 429
      throwIfLimited(retailer); // the login before this one may have been refused
      heartbeat.next(options.timeoutMs + REQUEST_ENDS_WITHIN_MS);
      return send(retailer, code, extra, heartbeat);
    });
  }

  async function send(
    retailer: DomainPrefix,
    code: string,
    extra: ExchangeExtra,
    heartbeat: Heartbeat,
  ): Promise<TokenSet> {
    const copy = retailers.get(retailer)?.set;
    const shown = copy ? [copy.access.value, copy.refreshToken] : [];
    try {
      const answer = await endpoint.exchange(retailer, code, extra, shown);
      backOff.succeeded(retailer, answer.rateLimit);
      loginBackOff.succeeded(retailer);
      return tokenSetFromCode(answer, retailer, versions);
    } catch (error) {
      heartbeat.next(STORE_MAY_TAKE_MS);
      if (error instanceof RateLimitedError)
        await recordRetryAfter(retailers.of(retailer), loaded(retailer), error, options);
      throw error;
    }
  }

  /** Loads the retailer's set, with the `limitedUntil` of any process. The store reports its own failures. */
  function loaded(retailer: DomainPrefix): Promise<TokenSet | undefined> {
    const cached = retailers.of(retailer);
    return cached.load().catch(() => undefined);
  }

  function throwIfLimited(retailer: DomainPrefix): void {
    const copy = retailers.get(retailer)?.set;
    const recorded = copy && limitOf(copy, clock());
    const reason = backOff.limit(retailer) ?? recorded ?? loginBackOff.exchange(retailer);
    if (reason) throw reason;
  }

  function tellFailure(retailer: DomainPrefix | undefined, error: unknown): void {
    if (error instanceof TypeError) return; // a mistake in the program, not a failed login
    if (isStoreFailure(error) && error.operation === "lock") tellStoreFailed(tell, error, retailer);
    tell({ type: "exchange_failed", domainPrefix: retailer, error });
  }
}

/**
 * Asks the application before an untrusted `domain_prefix` decides which host gets the client secret. Every answer but
 * `true` means no, so a function without a `return` accepts no retailer.
 *
 * @throws {RetailerNotAcceptedError}
 * @throws the application's own error, if its function throws.
 */
export async function throwUnlessAccepted(
  domainPrefix: DomainPrefix,
  acceptRetailer: AcceptRetailer | undefined,
): Promise<void> {
  if (acceptRetailer && (await acceptRetailer(domainPrefix)) !== true)
    throw new RetailerNotAcceptedError({ domainPrefix });
}
