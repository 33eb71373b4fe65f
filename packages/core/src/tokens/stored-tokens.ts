import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { isRetailPosError } from "../vocabulary/errors.js";
import type { Tell } from "../vocabulary/events.js";
import { type RetailerStatus, statusOf } from "../vocabulary/retailer-status.js";
import { isLimited } from "../vocabulary/token-life.js";
import { redacted, snapshot, type TokenSet, validate } from "../vocabulary/token-set.js";
import type { TokenSource } from "../vocabulary/token-source.js";
import type { Deps } from "./deps.js";
import { type KnownRetailers, knownRetailers } from "./known-retailers.js";
import { renewals as newRenewals, type Renewals } from "./renewals.js";
import { RetailerCache } from "./retailer-cache.js";
import { tokenSources } from "./token-sources.js";

/** The tokens of all retailers of one application: kept in a store, renewed before they end. */
export interface StoredTokens {
  /** Who is known, and how they are renewed: for logins and for jobs over the fleet. */
  readonly retailers: KnownRetailers;
  readonly renewals: Renewals;
  /** @throws {InvalidDomainPrefixError} */
  source(domainPrefix: string): TokenSource;
  connect(tokens: TokenSet): Promise<void>;
  disconnect(domainPrefix: string): Promise<void>;
  status(domainPrefix: string): Promise<RetailerStatus | undefined>;
}

export function storedTokens(deps: Deps): StoredTokens {
  const { store, versions, clock, tell } = deps;
  const renewals = newRenewals(deps);
  const retailers = knownRetailers(clock, (domainPrefix) => new RetailerCache(domainPrefix, deps));
  const sourceOf = tokenSources(deps, retailers, renewals);

  return {
    retailers,
    renewals,
    status: toldBy(tell, status),
    connect: toldBy(tell, connect),
    disconnect: toldBy(tell, disconnect),
    source: (domainPrefix) => sourceOf(known(domainPrefix)),
  };

  async function connect(given: TokenSet): Promise<void> {
    const tokens = snapshot(given) as TokenSet;
    const domainPrefix = parseDomainPrefix(tokens?.domainPrefix);
    const problem = validate(tokens, domainPrefix);
    if (problem) throw new TypeError(`tokens is no token set: ${problem}`);
    const set = redacted({ ...tokens, version: versions.own(tokens.version) });
    await retailers.of(domainPrefix).logIn(set, () => store.save(set));
    tell({ type: "connected", domainPrefix });
  }

  async function disconnect(name: string): Promise<void> {
    const domainPrefix = parseDomainPrefix(name);
    await retailers.of(domainPrefix).logIn(undefined, () => store.remove(domainPrefix));
    tell({ type: "disconnected", domainPrefix });
  }

  async function status(name: string): Promise<RetailerStatus | undefined> {
    const stored = await store.load(parseDomainPrefix(name), undefined);
    if (!stored) return undefined;
    const { limitedUntil } = stored;
    const isAhead = limitedUntil !== undefined && isLimited(stored, clock());
    return { ...statusOf(stored), ...(isAhead && { limitedUntil }) };
  }

  /** A prefix under which a retailer is known was checked when it became known. */
  function known(name: string): DomainPrefix {
    if (retailers.get(name as DomainPrefix)) return name as DomainPrefix;
    try {
      return parseDomainPrefix(name);
    } catch (error) {
      tell({ type: "caller_failed", domainPrefix: undefined, error });
      throw error;
    }
  }
}

/** Tells the observer of the error before the caller sees it. A store's failure is left out: it has had its event. */
function toldBy<Ask, T>(tell: Tell, work: (ask: Ask) => Promise<T>): (ask: Ask) => Promise<T> {
  return async (ask) => {
    try {
      return await work(ask);
    } catch (error) {
      if (isRetailPosError(error) && error.code !== "store_failed")
        tell({ type: "caller_failed", domainPrefix: error.domainPrefix as DomainPrefix | undefined, error });
      throw error;
    }
  };
}
