import { type BackOff, longestPauseAfter } from "./back-off.js";
import { checkedStore } from "./checked-store.js";
import { claimsInMemory } from "./claims.js";
import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import {
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RejectedByApiError,
  RetailPosError,
  StoredTokensError,
  StoreFailedError,
  TokenResponseError,
} from "./errors.js";
import { type RetailPosEvent, tell } from "./events.js";
import { isUnsaved, knownRetailers, type Retailer } from "./known-retailers.js";
import { type Lock, underLock } from "./lock.js";
import { unlessAborted } from "./promises.js";
import { isAboutTheToken } from "./rejections.js";
import { join } from "./single-flight.js";
import type { TokenAnswer, TokenEndpoint } from "./token-endpoint.js";
import { type AccessToken, problemWith, quiet, type TokenSet } from "./token-set.js";
import type { TokenAsk, TokenSource } from "./token-source.js";
import type { TokenStore } from "./token-store.js";
import type { Versions } from "./versions.js";

/** The tokens of all retailers of one application: kept in a store, renewed before they end. */
export interface StoredTokens {
  /** @throws {InvalidDomainPrefixError} */
  source(domainPrefix: string): TokenSource;
  connect(tokens: TokenSet): Promise<void>;
  disconnect(domainPrefix: DomainPrefix): Promise<void>;
  claim(key: string, forMs: number): Promise<boolean>;
}

export interface StoredTokensOptions {
  endpoint: TokenEndpoint;
  backOff: BackOff;
  store: TokenStore;
  lock: Lock;
  versions: Versions;
  /** Part of the lock's key: two applications may renew one retailer's tokens side by side. */
  clientId: string;
  renewEarlyMs: number;
  cacheMs: number;
  clock: () => number;
  observe: ((event: RetailPosEvent) => void) | undefined;
}

/** A set whose refresh token was refused costs no token request for this long (behaviour 8). */
const REFUSED_FOR_MS = 3_600_000;
/** How many sets are remembered that the store may hold while it cannot be written. */
const MOST_UNSAVED = 16;
/** How many rejected access tokens are remembered of one retailer. */
const MOST_REJECTED = 8;

export function storedTokens(options: StoredTokensOptions): StoredTokens {
  const { endpoint, backOff, versions, lock, clientId, renewEarlyMs, cacheMs, clock, observe } = options;
  const store = checkedStore(options.store, versions);
  const retailers = knownRetailers(clock);
  const claimHere = claimsInMemory(clock);
  let ticks = 0;

  return {
    source(domainPrefix) {
      // A name that is known was checked when it became so.
      const retailer =
        retailers.get(domainPrefix as DomainPrefix) ?? retailers.of(parseDomainPrefix(domainPrefix));
      return { token: (ask) => token(retailer, ask), tokenNow: () => tokenNow(retailer) };
    },
    async connect(tokens) {
      const domainPrefix = parseDomainPrefix(tokens?.domainPrefix);
      const problem = problemWith(tokens, domainPrefix);
      if (problem) throw new TypeError(`tokens is no token set: ${problem}`);
      const set = quiet({ ...tokens, version: versions.own(tokens.version) });
      await store.save(set);
      loggedIn(retailers.of(domainPrefix), set);
      tell(observe, { type: "connected", domainPrefix, at: clock() });
    },
    async disconnect(domainPrefix) {
      await store.remove(domainPrefix);
      loggedIn(retailers.of(domainPrefix), undefined);
      tell(observe, { type: "disconnected", domainPrefix, at: clock() });
    },
    async claim(key, forMs) {
      if (typeof key !== "string" || key === "") throw new TypeError("key must be a non-empty text");
      if (!(typeof forMs === "number" && Number.isFinite(forMs) && forMs > 0))
        throw new TypeError("forMs must be a number of milliseconds above 0");
      return store.claim
        ? store.claim(`${encodeURIComponent(clientId)}/${key}`, forMs)
        : claimHere(key, forMs);
    },
  };

  async function token(known: Retailer, ask: TokenAsk | undefined): Promise<AccessToken> {
    const { signal, rejected } = ask ?? {};
    signal?.throwIfAborted();
    const now = rejected === undefined ? tokenNow(known) : undefined;
    return now ?? unlessAborted(obtain(retailers.of(known.domainPrefix), rejected), signal);
  }

  /** The way nearly every call goes: two comparisons, and nothing to wait for. */
  function tokenNow(known: Retailer): AccessToken | undefined {
    const now = clock();
    if (now < known.goodUntil && now >= known.checkedAt) return known.access;
    const retailer = retailers.of(known.domainPrefix);
    const { held } = retailer;
    return held && isTrusted(retailer, now) && isLive(retailer, held, now)
      ? serve(retailer, held, now)
      : undefined;
  }

  async function obtain(retailer: Retailer, rejected: string | undefined): Promise<AccessToken> {
    const held = await current(retailer, rejected);
    if (!held) throw new NotConnectedError(retailer);
    if (isLive(retailer, held)) return serve(retailer, held);
    const reason = retailer.renewing ? undefined : heldBack(held);
    if (reason) throw reason;
    try {
      return (await renew(retailer, held)).access;
    } catch (error) {
      // A person may have logged in meanwhile. What lives now is served, whatever failed.
      if (retailer.held && isLive(retailer, retailer.held)) return retailer.held.access;
      throw error;
    }
  }

  /** The set to go by: this process's copy while it may be trusted, else what the store holds. */
  async function current(retailer: Retailer, rejected: string | undefined): Promise<TokenSet | undefined> {
    const held = isTrusted(retailer) ? retailer.held : await lookAfresh(retailer);
    if (!noteRejected(retailer, held, rejected)) return otherThanRejected(retailer, rejected);
    if (!held || isLive(retailer, held) || retailer.renewing || !heldBack(held)) return held;
    // No request may go out from here, but another process may have been luckier.
    const stored = await look(retailer);
    noteRejected(retailer, stored, rejected);
    return stored;
  }

  /** A look that began before the question may have missed a login; that it found nothing is not believed. */
  async function lookAfresh(retailer: Retailer): Promise<TokenSet | undefined> {
    const isOlder = retailer.looking !== undefined;
    const stored = await look(retailer);
    return stored === undefined && isOlder ? look(retailer) : stored;
  }

  /** Where the rejection is not believed there is nothing to renew, but another process may have a newer token. */
  async function otherThanRejected(
    retailer: Retailer,
    rejected: string | undefined,
  ): Promise<TokenSet | undefined> {
    const stored = await look(retailer);
    if (stored?.access.value !== rejected) return stored;
    throw new RejectedByApiError(
      `The API of retailer "${retailer.domainPrefix}" rejects every access token, also those just issued`,
      retailer,
    );
  }

  /** Hands out a live token at once, and starts beside it what is due. */
  function serve(retailer: Retailer, held: TokenSet, now = clock()): AccessToken {
    if (retailer.renewing) return held.access;
    if (isUnsaved(retailer)) void saveAgain(retailer);
    if (now >= dueAt(held) && !refusal(held) && !backOff.early(retailer.domainPrefix)) {
      renew(retailer, held).catch(() => {}); // behaviour 6: observed, but nobody's failure
    }
    return held.access;
  }

  /** One renewal for all callers in this process; the lock makes it one for all processes. */
  function renew(retailer: Retailer, stale: TokenSet): Promise<TokenSet> {
    return join(retailer, "renewing", async () => {
      try {
        const key = `${clientId}/${retailer.domainPrefix}`;
        return await underLock(lock, key, () => renewLocked(retailer, stale));
      } catch (error) {
        noteFailure(retailer, error);
        throw error;
      }
    });
  }

  /** The heart: under the lock reload, compare, refresh, save, and only then hand out. */
  async function renewLocked(retailer: Retailer, stale: TokenSet): Promise<TokenSet> {
    const held = await reload(retailer); // never what was read before the lock was ours
    if (!held) throw new NotConnectedError(retailer);
    if (held.version !== stale.version && isLive(retailer, held)) return held; // renewed while we queued
    const reason = heldBack(held);
    if (reason) throw reason;
    const startedAt = clock();
    const next = await spend(retailer, held, retailer.logins);
    // What somebody else stored meanwhile counts only while it lives; what was issued just now counts.
    const isIssuedNow = next.issuedAt >= startedAt && !retailer.rejected.includes(next.access.value);
    return isIssuedNow || isLive(retailer, next) ? next : renewLocked(retailer, next);
  }

  /**
   * Spends the refresh token, and returns the set to use from now on: saved before anybody sees it.
   *
   * @param logins as counted before the request: what it brings does not outlast a login that came meanwhile.
   */
  async function spend(retailer: Retailer, held: TokenSet, logins: number): Promise<TokenSet> {
    try {
      const answer = await endpoint.refresh(retailer.domainPrefix, held.refreshToken);
      return await keep(retailer, held, answer, logins);
    } catch (error) {
      if (!(error instanceof ReconnectRequiredError)) throw error;
      return newerThanRefused(retailer, held, error, logins); // the winner's set is adopted, never erased
    }
  }

  /** R4, behaviours 3 and 9: what a refresh brought is kept, whatever else is wrong with it. */
  async function keep(
    retailer: Retailer,
    held: TokenSet,
    answer: TokenAnswer,
    logins: number,
  ): Promise<TokenSet> {
    const next = renewed(held, answer, versions.next());
    const kept = await write(retailer, next, held, logins, store.putPatiently);
    if (!kept) throw new NotConnectedError(retailer); // disconnected meanwhile
    throwIfUseless(retailer, answer);
    noteSuccess(retailer, held, next, answer);
    return kept;
  }

  /** What is saved already, but cannot be handed out. */
  function throwIfUseless(retailer: Retailer, { response: { access } }: TokenAnswer): void {
    if (access && !retailer.rejected.includes(access.value)) return;
    const issued = `The token endpoint of retailer "${retailer.domainPrefix}" issued`;
    if (access)
      throw new RejectedByApiError(`${issued} an access token again that the API rejects`, retailer);
    throw new TokenResponseError(`${issued} a refresh token but no usable access_token`, retailer);
  }

  /** Behaviour 8: adopt what is newer in the store; only if nothing is, mark the set and give up. */
  async function newerThanRefused(
    retailer: Retailer,
    held: TokenSet,
    error: ReconnectRequiredError,
    logins: number,
  ): Promise<TokenSet> {
    const { domainPrefix } = retailer;
    const marked = quiet({ ...held, version: versions.next(), refusedAt: clock() });
    const newest = await write(retailer, marked, held, logins, store.put);
    if (!newest) throw new NotConnectedError(retailer);
    if (!refusal(newest)) return newest;
    tell(observe, { type: "reconnect_required", domainPrefix, at: clock() });
    throw error;
  }

  /**
   * Puts a set into the store in place of `held`. If the store cannot take it, this process keeps it
   * (behaviour 9). Returns what counts from now on.
   */
  async function write(
    retailer: Retailer,
    next: TokenSet,
    held: TokenSet,
    logins: number,
    put: (next: TokenSet, replacing: readonly TokenSet[]) => Promise<TokenSet | undefined>,
  ): Promise<TokenSet | undefined> {
    await retailer.savingAgain; // or the store could hold more than we know
    const { domainPrefix } = retailer;
    const replacing = isUnsaved(retailer) ? withHeld(retailer.unsavedOver, held) : [held];
    try {
      const kept = await put(next, replacing);
      return retailer.logins === logins ? hold(retailer, kept) : retailer.held;
    } catch (error) {
      if (retailer.logins !== logins) return retailer.held;
      if (!isUnsaved(retailer)) saveLater(retailer);
      hold(retailer, next, replacing);
      tell(observe, { type: "unsaved", domainPrefix, at: clock(), error });
      return next;
    }
  }

  /** Behaviour 9: another try on every use, until the store takes what this process holds. */
  async function saveAgain(retailer: Retailer): Promise<void> {
    await retailer.savingAgain; // its luck may be of before this use
    if (!isUnsaved(retailer)) return;
    await join(retailer, "savingAgain", async () => {
      const { held, unsavedOver, logins } = retailer;
      try {
        const kept = held && (await store.put(held, unsavedOver));
        if (retailer.logins === logins) hold(retailer, kept);
      } catch {
        // Observed when it first failed; the set stays in this process and is tried again.
      }
    });
  }

  /**
   * The same where nobody asks for this retailer any more: meanwhile another process may be refused the spent
   * refresh token. 1 s, doubling to 60 s.
   */
  function saveLater(retailer: Retailer, tries = 1): void {
    setTimeout(async () => {
      await saveAgain(retailer);
      if (isUnsaved(retailer)) saveLater(retailer, tries + 1);
    }, longestPauseAfter(tries)).unref();
  }

  /** Looks at the store once for all who ask at the same time. A live copy outlasts a store that fails. */
  function look(retailer: Retailer): Promise<TokenSet | undefined> {
    return join(retailer, "looking", async () => {
      try {
        return await reload(retailer);
      } catch (error) {
        if (!retailer.held || !isLive(retailer, retailer.held)) throw error;
        checked(retailer);
        noteFailure(retailer, error);
        return retailer.held;
      }
    });
  }

  /** What the store holds now. Where it lags behind this process (behaviour 9), it gets one more chance first. */
  async function reload(retailer: Retailer): Promise<TokenSet | undefined> {
    if (isUnsaved(retailer)) await saveAgain(retailer);
    if (isUnsaved(retailer)) return retailer.held;
    const asOf = ++ticks;
    const stored = await store.load(retailer.domainPrefix, retailer.held);
    return asOf > retailer.asOf ? hold(retailer, stored, [], asOf) : retailer.held;
  }

  function loggedIn(retailer: Retailer, set: TokenSet | undefined): void {
    hold(retailer, set);
    retailer.logins += 1;
    retailer.rejected = [];
    retailer.rejections = { count: 0, at: Number.NEGATIVE_INFINITY };
  }

  function hold(
    retailer: Retailer,
    set: TokenSet | undefined,
    unsavedOver: readonly TokenSet[] = [],
    asOf: number = ++ticks,
  ): TokenSet | undefined {
    if (set) Object.freeze(set.access); // it is handed out
    retailer.held = set;
    retailer.asOf = asOf;
    retailer.unsavedOver = unsavedOver;
    checked(retailer);
    return set;
  }

  /** The copy has just been compared with the store: until when is there nothing to do about it? */
  function checked(retailer: Retailer): void {
    const { held } = retailer;
    const now = clock();
    retailer.checkedAt = now;
    retailer.access = held?.access;
    const isGood = held !== undefined && !isUnsaved(retailer) && isLive(retailer, held, now);
    retailer.goodUntil = isGood ? Math.min(now + cacheMs, dueAt(held)) : Number.NEGATIVE_INFINITY;
  }

  function isTrusted(retailer: Retailer, now = clock()): boolean {
    const ageMs = now - retailer.checkedAt;
    return retailer.held !== undefined && (isUnsaved(retailer) || (ageMs >= 0 && ageMs < cacheMs));
  }

  function isLive({ rejected }: Retailer, { access }: TokenSet, now = clock()): boolean {
    return (access.expiresAt === undefined || now < access.expiresAt) && !rejected.includes(access.value);
  }

  /** Behaviour 5. Never more than a tenth of the lifetime early, or a short-lived token would be renewed all the time. */
  function dueAt({ access: { expiresAt }, issuedAt }: TokenSet): number {
    if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
    const lifetimeMs = Math.max(0, expiresAt - issuedAt); // by the clock of whoever stored it
    return expiresAt - Math.min(renewEarlyMs, lifetimeMs / 10);
  }

  function heldBack(held: TokenSet): RetailPosError | undefined {
    return refusal(held) ?? backOff.renewal(held.domainPrefix);
  }

  function refusal({ domainPrefix, refusedAt }: TokenSet): ReconnectRequiredError | undefined {
    if (refusedAt === undefined || Math.abs(clock() - refusedAt) >= REFUSED_FOR_MS) return undefined;
    const when = new Date(refusedAt).toISOString();
    return new ReconnectRequiredError(
      `The service refused the refresh token of retailer "${domainPrefix}" at ${when}; log in with the store again`,
      { domainPrefix },
    );
  }

  /** The rejected token is handed out to nobody any more; unless the API rejects whatever is issued: `false`. */
  function noteRejected(
    retailer: Retailer,
    held: TokenSet | undefined,
    rejected: string | undefined,
  ): boolean {
    if (rejected === undefined || held?.access.value !== rejected) return true;
    if (retailer.rejected.includes(rejected)) return true;
    if (!isAboutTheToken(retailer, held, clock())) return false;
    retailer.rejected = [...retailer.rejected, rejected].slice(-MOST_REJECTED);
    retailer.goodUntil = Number.NEGATIVE_INFINITY;
    return true;
  }

  function noteSuccess(retailer: Retailer, held: TokenSet, next: TokenSet, answer: TokenAnswer): void {
    const { domainPrefix } = retailer;
    backOff.succeeded(domainPrefix, answer.rateLimit);
    if (retailer.held?.version !== next.version) return; // somebody else's set took its place
    const rotated = next.refreshToken !== held.refreshToken;
    tell(observe, {
      type: "renewed",
      domainPrefix,
      at: clock(),
      rotated,
      tookMs: clock() - answer.requestedAt,
    });
  }

  function noteFailure(retailer: Retailer, error: unknown): void {
    const { domainPrefix, held } = retailer;
    if (error instanceof ReconnectRequiredError || error instanceof NotConnectedError) return;
    const isOfTheStore = error instanceof StoreFailedError || error instanceof StoredTokensError;
    if (error instanceof RetailPosError && !isOfTheStore) backOff.failed(domainPrefix, error);
    else backOff.pause(domainPrefix);
    if (error instanceof RateLimitedError) {
      const { retryAt, rateLimit } = error;
      tell(observe, { type: "rate_limited", domainPrefix, at: clock(), retryAt, rateLimit });
    }
    const servedHeldToken = held !== undefined && isLive(retailer, held);
    tell(observe, { type: "renewal_failed", domainPrefix, at: clock(), error, servedHeldToken });
  }
}

/** Of many tries, the set that was stored before them and the latest are the ones a store may hold. */
function withHeld([first, ...later]: readonly TokenSet[], held: TokenSet): TokenSet[] {
  return [...(first ? [first] : []), ...later.slice(-MOST_UNSAVED), held];
}

/** R4: a new refresh token takes the old one's place, no new one leaves it; without an access token the old stays. */
function renewed(held: TokenSet, { response, requestedAt }: TokenAnswer, version: string): TokenSet {
  return quiet({
    domainPrefix: held.domainPrefix,
    access: response.access ?? held.access,
    refreshToken: response.refreshToken ?? held.refreshToken,
    issuedAt: response.access ? requestedAt : held.issuedAt,
    version,
  });
}
