import { readAuthorizationRequest } from "./logins/authorization-request.js";
import { newPageId } from "./secrets.js";
import { approve, decline, limitProblem, refuse } from "./service/connect-endpoint.js";
import { acceptsBearer } from "./service/sample-api.js";
import { type Service, storeChanged } from "./service/service-state.js";
import { canConnect, type Retailer } from "./stores/retailer-accounts.js";
import type { Fault, FaultKind, FaultOptions } from "./traffic/faults.js";
import type { LoggedRequest } from "./traffic/request-log.js";

/** Everything that code can do to a running sandbox. A call that names an unknown store throws a `TypeError`. */
export interface Controls {
  /** The sandbox's time, in epoch milliseconds. */
  now(): number;

  /**
   * An approval without a browser: returns the callback address with `code`, `domain_prefix` and `state`. `state`
   * defaults to a random one, `redirectUri` to the registered one; the code is bound to that address. `scopes` are
   * granted; default: all that the sandbox was started with.
   *
   * @throws {TypeError} the sandbox was not started with one of the `scopes`.
   * @throws {Error} the application is not approved, and has its 30 stores already (section 8).
   */
  approve(domainPrefix: string, state?: string, redirectUri?: string, scopes?: readonly string[]): URL;
  /**
   * A person who is sent to `authorizationUrl` and approves: `approve`, after the checks of the consent page. If the
   * request names no scope that it may have, nobody is asked: the address then has `error` instead of a code.
   *
   * @throws {Error} with the page's words: the request is wrong, or as for `approve`.
   */
  consent(authorizationUrl: string | URL, domainPrefix: string): URL;
  /** The callback address of a person who declines: only `error=access_denied`. */
  decline(): URL;

  /**
   * A personal token (R7) of an admin user: `"owner"` (default) or `"manager"`.
   *
   * @throws {TypeError} the user is unknown or no admin.
   */
  createPersonalToken(domainPrefix: string, user?: string): string;
  /**
   * Resets the password of `"owner"` (default), `"manager"` or `"cashier"`: their personal tokens are gone. Answers how
   * many.
   *
   * @throws {TypeError} the user is unknown.
   */
  resetPassword(domainPrefix: string, user?: string): number;

  /**
   * Everything the service saw so far, oldest first, without a single secret. The console's own requests are left out.
   */
  readonly requests: LoggedRequest[];
  /** The requests to the token endpoint, of one store or of all. */
  tokenRequests(domainPrefix?: string): LoggedRequest[];
  /**
   * Whether this store would take this value now: an access or personal token at its API, or a refresh token at its
   * token endpoint.
   */
  accepts(domainPrefix: string, token: string): boolean;
  /** How many tokens of this store are accepted now. */
  liveTokens(domainPrefix: string): LiveTokens;

  /** Ends every live access token of the store now, though the client believes them alive. Answers how many. */
  expire(domainPrefix: string): number;
  /**
   * Refuses every refresh token of the store from now on (`invalid_grant`); access tokens live on. Only a new login
   * mends it. Answers how many.
   */
  refuse(domainPrefix: string): number;
  /**
   * Gives the application a new client secret, as its developer does at the service. The old one is refused from now on
   * (`invalid_client`); codes and tokens stay good.
   *
   * @throws {TypeError} it is no text, or empty.
   */
  changeClientSecret(clientSecret: string): void;
  /** Answers 429 at the store's token endpoint for this many milliseconds. @throws {TypeError} `ms` is not above 0. */
  limit(domainPrefix: string, ms: number): void;
  /**
   * Makes something go wrong, by default at the next token request of any store.
   *
   * @throws {TypeError} naming `kind` or the option that is wrong.
   */
  fault(kind: FaultKind, options?: FaultOptions): Fault;
  /**
   * Ends everything that `fault` and `limit` asked for, and starts the rate limit's windows anew. With a store: only
   * that store's.
   */
  clearFaults(domainPrefix?: string): void;
}

/** How many tokens of one store are accepted now. */
export interface LiveTokens {
  /** Access tokens. */
  readonly access: number;
  /** Refresh tokens. */
  readonly refresh: number;
  /** Personal Tokens (R7). */
  readonly personal: number;
}

export function newControls(service: Service): Controls {
  const { settings, retailers, personalTokens, tokens, rateLimiter, faults, log, now } = service;
  const prefixOf = (prefix?: string) =>
    prefix === undefined ? undefined : retailers.get(prefix).domainPrefix;
  return {
    now,
    ...logins(service),
    createPersonalToken: (prefix, user = "owner") =>
      changing(service, prefix, (domainPrefix) => personalTokens.create(domainPrefix, user)),
    resetPassword: (prefix, user = "owner") =>
      changing(service, prefix, (domainPrefix) => personalTokens.resetPassword(domainPrefix, user)),

    // A getter, so that each use sees the requests that have arrived meanwhile.
    get requests() {
      return log.entries();
    },
    tokenRequests(prefix) {
      const asked = prefixOf(prefix);
      const ofAll = log.entries().filter(({ endpoint }) => endpoint === "token");
      return asked === undefined ? ofAll : ofAll.filter(({ domainPrefix }) => domainPrefix === asked);
    },
    accepts(prefix, token) {
      const { domainPrefix } = retailers.get(prefix);
      return (
        acceptsBearer(service, domainPrefix, token) ||
        tokens.find(domainPrefix, "refresh", token) !== undefined
      );
    },
    liveTokens(prefix) {
      const { domainPrefix } = retailers.get(prefix);
      const live = tokens.live(domainPrefix);
      const access = live.filter(({ kind }) => kind === "access").length;
      return { access, refresh: live.length - access, personal: personalTokens.of(domainPrefix).length };
    },

    expire: (prefix) =>
      changing(service, prefix, (domainPrefix) =>
        tokens.end(domainPrefix, "expired", ({ kind }) => kind === "access"),
      ),
    refuse: (prefix) =>
      changing(service, prefix, (domainPrefix) =>
        tokens.end(domainPrefix, "stopped", ({ kind }) => kind === "refresh"),
      ),
    changeClientSecret(clientSecret) {
      if (typeof clientSecret !== "string" || clientSecret === "")
        throw new TypeError("clientSecret must be a string that is not empty");
      settings.clientSecret = clientSecret;
      storeChanged(service);
    },
    limit(prefix, ms) {
      if (!(Number.isFinite(ms) && ms > 0))
        throw new TypeError("ms must be a number of milliseconds above 0");
      changing(service, prefix, (domainPrefix) => rateLimiter.exhaust(domainPrefix, ms));
    },
    fault(kind, options = {}) {
      const domainPrefix = prefixOf(options.domainPrefix);
      const fault = faults.add(kind, domainPrefix ? { ...options, domainPrefix } : options);
      storeChanged(service, domainPrefix);
      return fault;
    },
    clearFaults(prefix) {
      const domainPrefix = prefixOf(prefix);
      faults.clear(domainPrefix);
      rateLimiter.reset(domainPrefix);
      service.apiRateLimiter?.reset(domainPrefix);
      storeChanged(service, domainPrefix);
    },
  };
}

function logins(service: Service): Pick<Controls, "approve" | "consent" | "decline"> {
  const { settings, retailers } = service;
  const { redirectUri: registered } = settings;
  // The same limit as on the consent page: a test should meet it before the application does in production.
  const connectable = (domainPrefix: string): Retailer => {
    const retailer = retailers.get(domainPrefix);
    if (!canConnect(retailers, retailer, settings.approved)) throw new Error(limitProblem);
    return retailer;
  };
  return {
    approve(domainPrefix, state = newPageId(), redirectUri = registered, scopes = settings.scopes) {
      if (!scopes.every((scope) => settings.scopes.includes(scope)))
        throw new TypeError("scopes must be some of those that the sandbox was started with");
      return approve(service, connectable(domainPrefix), { state, redirectUri, scopes });
    },
    consent(authorizationUrl, domainPrefix) {
      const asked = readAuthorizationRequest(new URL(authorizationUrl).searchParams, settings);
      if ("problem" in asked) throw new Error(asked.problem);
      if ("refused" in asked) return refuse(registered, asked.state, asked.refused);
      return approve(service, connectable(domainPrefix), { ...asked, redirectUri: registered });
    },
    decline: () => decline(registered),
  };
}

/** Finds the store, does the work, and tells the console. */
function changing<T>(service: Service, prefix: string, work: (domainPrefix: string) => T): T {
  const { domainPrefix } = service.retailers.get(prefix);
  const result = work(domainPrefix);
  storeChanged(service, domainPrefix);
  return result;
}
