import { type AuthorizationCodes, authorizationCodes } from "../logins/authorization-codes.js";
import { type PendingConsents, pendingConsents } from "../logins/pending-consents.js";
import type { Settings } from "../options.js";
import { type Retailers, retailerAccounts } from "../stores/retailer-accounts.js";
import { type IssuedTokens, issuedTokens } from "../tokens/issued-tokens.js";
import { type PersonalTokens, personalTokens } from "../tokens/personal-tokens.js";
import { type TokenHistory, tokenHistory } from "../tokens/token-history.js";
import { type Faults, faultsOnDemand } from "../traffic/faults.js";
import { type RateLimiter, rateLimiter } from "../traffic/rate-limiter.js";
import { type LoggedRequest, type RequestLog, requestLog } from "../traffic/request-log.js";

/**
 * Everything the service knows, each concern in a file of its own. It is made once per sandbox and passed to every
 * endpoint, so that two sandboxes in one process share nothing.
 */
export interface Service {
  readonly settings: Settings;
  readonly addresses: Addresses;
  readonly now: () => number;
  readonly retailers: Retailers;
  readonly consents: PendingConsents;
  readonly codes: AuthorizationCodes;
  readonly tokens: IssuedTokens;
  readonly history: TokenHistory;
  readonly personalTokens: PersonalTokens;
  /** The token endpoint's. */
  readonly rateLimiter: RateLimiter;
  /** The API's, if it has a limit. */
  readonly apiRateLimiter: RateLimiter | undefined;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly watchers: Set<Watcher>;
}

/** An open page of the console, which is told of every change. */
export interface Watcher {
  onRequest(entry: LoggedRequest): void;
  /** With no domain prefix: any of the stores may look different now. */
  onStoreChange(domainPrefix?: string): void;
}

export interface Addresses {
  /** The console. */
  readonly url: string;
  readonly authUrl: string;
  /** With `{domain_prefix}` as a path segment, or as the first label of the host. */
  readonly baseUrl: string;
  /** Another origin of the same service: the target of the fault `"redirect"`. */
  readonly trapUrl: string;
}

export function newService(settings: Settings, port: number): Service {
  const now = settings.clock;
  const watchers = new Set<Watcher>();
  const history = tokenHistory(settings, now);
  return {
    settings,
    addresses: addressesAt(settings, port),
    now,
    watchers,
    retailers: retailerAccounts(settings.stores, settings.products),
    consents: pendingConsents(now),
    codes: authorizationCodes(now),
    tokens: issuedTokens(settings, history, now),
    history,
    personalTokens: personalTokens(),
    rateLimiter: rateLimiter(settings.rateLimit, now),
    apiRateLimiter: settings.apiRateLimit && rateLimiter(settings.apiRateLimit, now),
    faults: faultsOnDemand(),
    log: requestLog(settings, now, (entry) => {
      for (const watcher of watchers) watcher.onRequest(entry);
    }),
  };
}

/** Tells the console that something about a store has changed; without a domain prefix, about any. */
export function storeChanged({ watchers }: Service, domainPrefix?: string): void {
  for (const watcher of watchers) watcher.onStoreChange(domainPrefix);
}

function addressesAt({ hostPerStore, tls }: Settings, port: number): Addresses {
  const scheme = tls ? "https" : "http";
  const url = `${scheme}://127.0.0.1:${port}`;
  return {
    url,
    authUrl: url,
    // By default a retailer is a path segment and not a host label: *.localhost has no address on every machine.
    baseUrl: hostPerStore ? `${scheme}://{domain_prefix}.localhost:${port}` : `${url}/stores/{domain_prefix}`,
    trapUrl: `${scheme}://localhost:${port}/trap`,
  };
}
