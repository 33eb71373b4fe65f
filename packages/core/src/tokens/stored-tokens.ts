import type { RetailerClient } from "../client/retailer-client.js";
import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { isStoreFailure } from "../vocabulary/errors.js";
import type { TokenEvents } from "../vocabulary/events.js";
import { type RetailerStatus, statusOf } from "../vocabulary/retailer-status.js";
import { isLimited } from "../vocabulary/token-life.js";
import { copied, problemWith, quiet, type TokenSet } from "../vocabulary/token-set.js";
import type { TokenSource } from "../vocabulary/token-source.js";
import type { Application } from "./application.js";
import { HeldTokens } from "./held-tokens.js";
import { type KnownRetailers, knownRetailers } from "./known-retailers.js";
import { noteFailure } from "./renewal-failures.js";
import { renewals as newRenewals, type Renewals } from "./renewals.js";
import { storedTokenSources } from "./stored-token-source.js";

/** The tokens of all retailers of one application: kept in a store, renewed before they end. */
export interface StoredTokens {
  /** Who is known, and how they are renewed: for logins and for jobs over the fleet. */
  readonly retailers: KnownRetailers;
  readonly renewals: Renewals;
  /** @throws {InvalidDomainPrefixError} */
  source(domainPrefix: string): TokenSource;
  /**
   * The retailer's client. It is made once from the retailer's source and kept as long as this process remembers the
   * retailer, because a server wants it for each request.
   *
   * @throws {InvalidDomainPrefixError}
   */
  client(domainPrefix: string, make: MakeClient): RetailerClient;
  connect(tokens: TokenSet): Promise<void>;
  disconnect(domainPrefix: string): Promise<void>;
  status(domainPrefix: string): Promise<RetailerStatus | undefined>;
}

type MakeClient = (domainPrefix: DomainPrefix, source: TokenSource) => RetailerClient;

export function storedTokens(app: Application): StoredTokens {
  const { store, versions, cacheMs, clock, events, background } = app;
  const renewals = newRenewals(app);
  const unread = (held: HeldTokens, error: unknown) => noteFailure(held, error, app);
  const unsaved = (domainPrefix: DomainPrefix, error: unknown) => {
    if (isStoreFailure(error)) events.storeFailed(error);
    events.unsaved(domainPrefix, error);
  };
  const around = { store, clock, cacheMs, unsaved, unread, background };
  const retailers = knownRetailers(clock, (domainPrefix) => new HeldTokens(domainPrefix, around));
  const sourceOf = storedTokenSources(app, retailers, renewals);

  return {
    retailers,
    renewals,
    status: toldBy(events, status),
    connect: toldBy(events, connect),
    disconnect: toldBy(events, disconnect),
    source: (domainPrefix) => sourceOf(known(domainPrefix)),
    client(domainPrefix, make) {
      const held = known(domainPrefix);
      return held.client ?? held.keepClient(make(held.domainPrefix, sourceOf(held)));
    },
  };

  async function connect(given: TokenSet): Promise<void> {
    const tokens = copied(given) as TokenSet;
    const domainPrefix = parseDomainPrefix(tokens?.domainPrefix);
    const problem = problemWith(tokens, domainPrefix);
    if (problem) throw new TypeError(`tokens is no token set: ${problem}`);
    const set = quiet({ ...tokens, version: versions.own(tokens.version) });
    await retailers.of(domainPrefix).logIn(set, () => store.save(set));
    events.connected(domainPrefix);
  }

  async function disconnect(name: string): Promise<void> {
    const domainPrefix = parseDomainPrefix(name);
    await retailers.of(domainPrefix).logIn(undefined, () => store.remove(domainPrefix));
    events.disconnected(domainPrefix);
  }

  async function status(name: string): Promise<RetailerStatus | undefined> {
    const stored = await store.load(parseDomainPrefix(name), undefined);
    if (!stored) return undefined;
    const { limitedUntil } = stored;
    const isAhead = limitedUntil !== undefined && isLimited(stored, clock());
    return { ...statusOf(stored), ...(isAhead && { limitedUntil }) };
  }

  /** A prefix under which a retailer is known was checked when it became known. */
  function known(domainPrefix: string): HeldTokens {
    const held = retailers.get(domainPrefix as DomainPrefix);
    if (held) return held;
    try {
      return retailers.of(parseDomainPrefix(domainPrefix));
    } catch (error) {
      events.callerFailed(undefined, error);
      throw error;
    }
  }
}

/** Tells the observer of the error before the caller sees it. */
function toldBy<Ask, T>(events: TokenEvents, work: (ask: Ask) => Promise<T>): (ask: Ask) => Promise<T> {
  return async (ask) => {
    try {
      return await work(ask);
    } catch (error) {
      events.askFailed(error);
      throw error;
    }
  };
}
