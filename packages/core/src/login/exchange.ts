import { firstSet } from "../endpoint/answered-set.js";
import type { TokenEndpoint } from "../endpoint/token-endpoint.js";
import type { ExchangeExtra } from "../endpoint/token-grants.js";
import type { AcceptRetailer, CheckedOptions } from "../settings/options.js";
import type { KnownRetailers } from "../tokens/known-retailers.js";
import type { BackOff } from "../tokens/renewal-back-off.js";
import type { Renewals } from "../tokens/renewals.js";
import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { isStoreFailure, RateLimitedError, RetailerNotAcceptedError } from "../vocabulary/errors.js";
import { type RetailPosEvent, tell } from "../vocabulary/events.js";
import { limitOf } from "../vocabulary/token-life.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import type { Versions } from "../vocabulary/token-set-versions.js";
import { redirectUriOfLogin } from "./authorization-url.js";
import type { LoginBackOff } from "./login-back-off.js";
import { type LoginTurnOptions, loginTurns } from "./login-turns.js";

export interface ExchangeOptions extends LoginTurnOptions, Pick<CheckedOptions, "addresses" | "redirectUri"> {
  /** Whether a lock was given: then there may be other processes, which may know of a 429 that this one does not. */
  isShared: boolean;
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

/** What a login knows of 429s that other processes met: they are noted on the sets in the store (behaviour 7). */
export interface LoginLimits {
  /** The 429 that is noted on this process's copy, for a login that is about to be sent. */
  limit(domainPrefix: DomainPrefix): RateLimitedError | undefined;
  /** Reads the store for that note, which another process may have just written. The store tells its own failures. */
  lookForLimit(domainPrefix: DomainPrefix): Promise<void>;
  /** A login met a 429: notes it on what is stored for the retailer, if there is anything. */
  limited(domainPrefix: DomainPrefix, error: RateLimitedError): Promise<void>;
}

export interface LoginLimitsOptions {
  retailers: KnownRetailers;
  renewals: Pick<Renewals, "noteLimit">;
  clock: () => number;
}

export function loginLimits({ retailers, renewals, clock }: LoginLimitsOptions): LoginLimits {
  return {
    limit(domainPrefix) {
      const set = retailers.get(domainPrefix)?.set;
      return set && limitOf(set, clock());
    },
    async lookForLimit(domainPrefix) {
      const held = retailers.of(domainPrefix);
      await held.look(held.asked, 0).catch(() => {});
    },
    async limited(domainPrefix, error) {
      const held = retailers.of(domainPrefix);
      const stored = await held.look(held.asked, 0).catch(() => undefined); // told by the store
      if (stored) await renewals.noteLimit(held, stored, error);
    },
  };
}

/**
 * Asks the application before a stranger's `domain_prefix` decides which host gets the client secret. Anything but
 * `true` counts as no: a function that forgets to return accepts nobody.
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
