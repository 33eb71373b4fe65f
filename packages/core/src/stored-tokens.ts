import { pagesThrough } from "./all-retailers.js";
import { checkedStore } from "./checked-store.js";
import { clientClaims } from "./claim-once.js";
import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import type { RetailPosEvent } from "./events.js";
import { HeldTokens } from "./held-tokens.js";
import { knownRetailers } from "./known-retailers.js";
import type { Lock } from "./lock.js";
import { noteFailure } from "./note-renewal-failure.js";
import { type LoginLimits, loginLimits } from "./noted-limits.js";
import { dueRenewals, type RenewDueAsk, type RenewDueReport } from "./renew-due.js";
import type { BackOff } from "./renewal-back-off.js";
import { renewals as newRenewals } from "./renewals.js";
import type { RetailerClient } from "./retailer-client.js";
import { type RetailerStatus, statusOf } from "./retailer-status.js";
import { storedTokenSources } from "./stored-token-source.js";
import type { TokenEndpoint } from "./token-endpoint.js";
import { type TokenEvents, tokenEvents } from "./token-events.js";
import { copied, problemWith, quiet, type TokenSet } from "./token-set.js";
import type { Versions } from "./token-set-versions.js";
import type { TokenSource } from "./token-source.js";
import type { TokenStore } from "./token-store.js";

/** The tokens of all retailers of one application: kept in a store, renewed before they end. */
export interface StoredTokens extends LoginLimits {
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
  claim(key: string, forMs: number): Promise<boolean>;
  status(domainPrefix: string): Promise<RetailerStatus | undefined>;
  retailers(signal: AbortSignal | undefined): AsyncIterable<RetailerStatus>;
  renewDue(ask?: RenewDueAsk): Promise<RenewDueReport>;
}

type MakeClient = (domainPrefix: DomainPrefix, source: TokenSource) => RetailerClient;

export interface StoredTokensOptions {
  endpoint: TokenEndpoint;
  backOff: BackOff;
  store: TokenStore;
  lock: Lock;
  versions: Versions;
  clientId: string;
  renewEarlyMs: number;
  cacheMs: number;
  timeoutMs: number;
  clock: () => number;
  observe: ((event: RetailPosEvent) => void) | undefined;
}

export function storedTokens(options: StoredTokensOptions): StoredTokens {
  const { versions, clientId, renewEarlyMs, cacheMs, clock, observe } = options;
  const events = tokenEvents(observe, clock);
  const store = checkedStore(options.store, versions, events.storeFailed);
  const renewals = newRenewals({ ...options, events });
  const unread = (held: HeldTokens, error: unknown) => noteFailure(held, error, { ...options, events });
  const around = { store, clock, startedAt: clock(), cacheMs, renewEarlyMs, unsaved: events.unsaved, unread };
  const retailers = knownRetailers(clock, (domainPrefix) => new HeldTokens(domainPrefix, around));
  const sourceOf = storedTokenSources({ ...options, retailers, renewals, events });

  return {
    status: toldBy(events, status),
    connect: toldBy(events, connect),
    disconnect: toldBy(events, disconnect),
    claim: clientClaims(store, clientId, clock),
    retailers: (signal) => pagesThrough(store, signal, events.storeFailed),
    renewDue: dueRenewals({ ...options, store, retailers, renewals, events }),
    ...loginLimits({ retailers, renewals, clock }),
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
    return stored && statusOf(stored);
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

/** Whatever error a caller sees was observed. */
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
