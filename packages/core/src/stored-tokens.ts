import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import {
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RetailPosError,
  StoredTokensError,
  TokenResponseError,
} from "./errors.js";
import { type RetailPosEvent, tell } from "./events.js";
import type { HoldBack } from "./hold-back.js";
import type { Lock } from "./lock.js";
import { sleep, unlessAborted } from "./promises.js";
import { withoutSecrets } from "./secrets.js";
import type { TokenAnswer, TokenEndpoint } from "./token-endpoint.js";
import { type AccessToken, checkStored, newVersion, problemWith, quiet, type TokenSet } from "./token-set.js";
import type { TokenAsk } from "./token-source.js";
import type { TokenStore } from "./token-store.js";

/** The tokens of all retailers of one application: kept in a store, renewed before they end. */
export interface StoredTokens {
  token(domainPrefix: DomainPrefix, ask?: TokenAsk): Promise<AccessToken>;
  tokenNow(domainPrefix: DomainPrefix): AccessToken | undefined;
  connect(tokens: TokenSet): Promise<void>;
  disconnect(domainPrefix: DomainPrefix): Promise<void>;
}

export interface StoredTokensOptions {
  endpoint: TokenEndpoint;
  holdBack: HoldBack;
  store: TokenStore;
  lock: Lock;
  /** Part of the lock's key: two applications may renew one retailer's tokens side by side. */
  clientId: string;
  renewEarlyMs: number;
  cacheMs: number;
  clock: () => number;
  observe: ((event: RetailPosEvent) => void) | undefined;
}

/** What this process knows of one retailer. */
interface Retailer {
  readonly domainPrefix: DomainPrefix;
  /** This process's copy of the stored set. */
  held: TokenSet | undefined;
  /** When the copy was last compared with the store, epoch milliseconds. */
  checkedAt: number;
  /** The tick of what `held` rests on, so that a slow answer of the store cannot undo something later. */
  asOf: number;
  /** The access token the API answered 401 to. */
  rejected?: string | undefined;
  /** Set while the store has not taken `held`: the set that it should still hold (behaviour 9). */
  unsavedOver?: TokenSet | undefined;
  savingAgain?: Promise<void> | undefined;
  looking?: Promise<TokenSet | undefined> | undefined;
  renewing?: Promise<TokenSet> | undefined;
}

/** A set whose refresh token was refused costs no token request for this long (behaviour 8). */
const REFUSED_FOR_MS = 3_600_000;
/** Pauses between the tries to save a renewed set: about three seconds in all (behaviour 9). */
const SAVE_AGAIN_AFTER_MS = [50, 150, 400, 900, 1500];
/** Past this many, the retailers known for longest leave this process's memory (never the store). */
const MOST_RETAILERS = 10_000;

export function storedTokens(options: StoredTokensOptions): StoredTokens {
  const { endpoint, holdBack, store, lock, clientId, renewEarlyMs, cacheMs, clock, observe } = options;
  const retailers = new Map<DomainPrefix, Retailer>();
  let ticks = 0;

  return {
    tokenNow(domainPrefix) {
      const retailer = retailers.get(domainPrefix);
      if (!retailer?.held || !isTrusted(retailer) || !isLive(retailer, retailer.held)) return undefined;
      return serve(retailer, retailer.held);
    },
    async token(domainPrefix, { signal, rejected } = {}) {
      signal?.throwIfAborted();
      return unlessAborted(obtain(retailerOf(domainPrefix), rejected), signal);
    },
    async connect(tokens) {
      const domainPrefix = parseDomainPrefix(tokens?.domainPrefix);
      const problem = problemWith(tokens, domainPrefix);
      if (problem) throw new TypeError(`tokens is no token set: ${problem}`);
      const set = quiet(tokens);
      await saveOrThrow(set);
      const retailer = retailerOf(domainPrefix);
      hold(retailer, set);
      retailer.rejected = undefined;
      tell(observe, { type: "connected", domainPrefix, at: clock() });
    },
    async disconnect(domainPrefix) {
      await store.remove(domainPrefix);
      hold(retailerOf(domainPrefix), undefined);
      tell(observe, { type: "disconnected", domainPrefix, at: clock() });
    },
  };

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
    let held = isTrusted(retailer) ? retailer.held : await look(retailer);
    if (held && held.access.value === rejected) retailer.rejected = rejected;
    if (held && !isLive(retailer, held) && !retailer.renewing && heldBack(held)) {
      held = await look(retailer); // no request may go out from here, but another process may have been luckier
      if (held && held.access.value === rejected) retailer.rejected = rejected;
    }
    return held;
  }

  /** Hands out a live token at once, and starts beside it what is due. */
  function serve(retailer: Retailer, held: TokenSet): AccessToken {
    if (retailer.unsavedOver) void saveAgain(retailer);
    if (isDue(held) && !retailer.renewing && !refusal(held) && !holdBack.early(retailer.domainPrefix)) {
      renew(retailer, held).catch(() => {}); // behaviour 6: observed, but nobody's failure
    }
    return held.access;
  }

  /** One renewal for all callers in this process; the lock makes it one for all processes. */
  function renew(retailer: Retailer, stale: TokenSet): Promise<TokenSet> {
    retailer.renewing ??= (async () => {
      try {
        return await lock(`${clientId}/${retailer.domainPrefix}`, () => renewLocked(retailer, stale));
      } catch (error) {
        noteFailure(retailer, error);
        throw error;
      } finally {
        retailer.renewing = undefined;
      }
    })();
    return retailer.renewing;
  }

  /** The heart: under the lock reload, compare, refresh, save, and only then hand out. */
  async function renewLocked(retailer: Retailer, stale: TokenSet): Promise<TokenSet> {
    const held = await reload(retailer); // never what was read before the lock was ours
    if (!held) throw new NotConnectedError(retailer);
    if (held.version !== stale.version && isLive(retailer, held)) return held; // renewed while we queued
    const reason = heldBack(held);
    if (reason) throw reason;
    try {
      const answer = await endpoint.refresh(retailer.domainPrefix, held.refreshToken);
      return await keep(retailer, held, answer); // saved before anybody sees it
    } catch (error) {
      if (!(error instanceof ReconnectRequiredError)) throw error;
      return newerThanRefused(retailer, held, error); // the winner's set is adopted, never erased
    }
  }

  /** What the store holds now. Where it lags behind this process (behaviour 9), it gets one more chance first. */
  async function reload(retailer: Retailer): Promise<TokenSet | undefined> {
    if (retailer.unsavedOver) await saveAgain(retailer);
    return retailer.unsavedOver ? retailer.held : adopt(retailer, () => load(retailer.domainPrefix));
  }

  /** Saves what a refresh brought (R4, behaviours 3 and 9) and returns what is to be used from now on. */
  async function keep(retailer: Retailer, held: TokenSet, answer: TokenAnswer): Promise<TokenSet> {
    const next = renewed(held, answer);
    const replacing = retailer.unsavedOver ?? held;
    const kept = await adopt(retailer, () => putPatiently(next, replacing)).catch((error: unknown) =>
      holdUnsaved(retailer, next, replacing, error),
    );
    if (!kept) throw new NotConnectedError(retailer); // disconnected meanwhile
    throwIfUseless(retailer, answer);
    noteSuccess(retailer, held, next, answer);
    return kept;
  }

  /** What is saved already, but cannot be handed out. */
  function throwIfUseless(retailer: Retailer, { response: { access } }: TokenAnswer): void {
    if (access && access.value !== retailer.rejected) return;
    const what = access
      ? "the access token again that the API rejects"
      : "a refresh token but no usable access_token";
    throw new TokenResponseError(
      `The token endpoint of retailer "${retailer.domainPrefix}" issued ${what}`,
      retailer,
    );
  }

  /** Behaviour 8: adopt what is newer in the store; only if nothing is, mark the set and give up. */
  async function newerThanRefused(
    retailer: Retailer,
    held: TokenSet,
    error: ReconnectRequiredError,
  ): Promise<TokenSet> {
    const { domainPrefix } = retailer;
    const replacing = retailer.unsavedOver ?? held;
    const marked = quiet({ ...held, version: newVersion(), refusedAt: clock() });
    const newest = await adopt(retailer, () => put(marked, replacing)).catch((failure: unknown) =>
      holdUnsaved(retailer, marked, replacing, failure),
    );
    if (!newest) throw new NotConnectedError(retailer);
    if (!refusal(newest)) return newest;
    tell(observe, { type: "reconnect_required", domainPrefix, at: clock() });
    throw error;
  }

  /** Looks at the store once for all who ask at the same time. A live copy outlasts a store that fails. */
  function look(retailer: Retailer): Promise<TokenSet | undefined> {
    retailer.looking ??= (async () => {
      try {
        return await reload(retailer);
      } catch (error) {
        if (!retailer.held || !isLive(retailer, retailer.held)) throw error;
        retailer.checkedAt = clock();
        noteFailure(retailer, error);
        return retailer.held;
      } finally {
        retailer.looking = undefined;
      }
    })();
    return retailer.looking;
  }

  async function load(domainPrefix: DomainPrefix): Promise<TokenSet | undefined> {
    const record = await store.load(domainPrefix);
    return record === undefined || record === null ? undefined : checkStored(record, domainPrefix);
  }

  async function saveOrThrow(set: TokenSet): Promise<void> {
    try {
      if (await store.save(quiet(set))) return;
    } catch (error) {
      throw withoutSecrets(error, secretsOf(set));
    }
    throw new Error(`The store did not save the tokens of retailer "${set.domainPrefix}"`);
  }

  /** Tries for a few seconds; the lock is held meanwhile, so nobody spends the old refresh token. */
  async function putPatiently(next: TokenSet, replacing: TokenSet): Promise<TokenSet | undefined> {
    for (const pauseMs of SAVE_AGAIN_AFTER_MS) {
      try {
        return await put(next, replacing);
      } catch {
        await sleep(pauseMs);
      }
    }
    return put(next, replacing);
  }

  /** Compare-and-set. Returns what the store holds afterwards: `next`, or what somebody else put there. */
  async function put(next: TokenSet, replacing: TokenSet): Promise<TokenSet | undefined> {
    if (await store.save(quiet(next), replacing)) return next;
    const stored = await load(next.domainPrefix);
    if (stored?.version === next.version) return next; // saved by a try whose answer was lost
    // Another process was refused the refresh token that we had just spent, and marked the set: ours is newer.
    const isMarkOfSpent = stored?.refusedAt !== undefined && stored.refreshToken === replacing.refreshToken;
    return isMarkOfSpent ? put(next, stored) : stored;
  }

  function holdUnsaved(retailer: Retailer, next: TokenSet, replacing: TokenSet, error: unknown): TokenSet {
    hold(retailer, next);
    retailer.unsavedOver = replacing;
    const { domainPrefix } = retailer;
    const secrets = [...secretsOf(next), ...secretsOf(replacing)];
    tell(observe, { type: "unsaved", domainPrefix, at: clock(), error: withoutSecrets(error, secrets) });
    return next;
  }

  /** Behaviour 9: on every use until the store takes it. */
  function saveAgain(retailer: Retailer): Promise<void> {
    retailer.savingAgain ??= (async () => {
      const { held, unsavedOver } = retailer;
      try {
        if (held && unsavedOver) await adopt(retailer, () => put(held, unsavedOver));
      } catch {
        // Observed when it first failed; the set stays in this process and is tried again.
      } finally {
        retailer.savingAgain = undefined;
      }
    })();
    return retailer.savingAgain;
  }

  /** Takes over what the store answers, unless something later became known while it was asked. */
  async function adopt(
    retailer: Retailer,
    ask: () => Promise<TokenSet | undefined>,
  ): Promise<TokenSet | undefined> {
    const asOf = ++ticks;
    const set = await ask();
    return asOf > retailer.asOf ? hold(retailer, set, asOf) : retailer.held;
  }

  function hold<T extends TokenSet | undefined>(retailer: Retailer, set: T, asOf: number = ++ticks): T {
    if (set) Object.freeze(set.access); // it is handed out
    retailer.held = set;
    retailer.checkedAt = clock();
    retailer.asOf = asOf;
    retailer.unsavedOver = undefined;
    return set;
  }

  function isTrusted({ checkedAt, unsavedOver }: Retailer): boolean {
    const ageMs = clock() - checkedAt;
    return unsavedOver !== undefined || (ageMs >= 0 && ageMs < cacheMs);
  }

  function isLive({ rejected }: Retailer, { access }: TokenSet): boolean {
    return access.value !== rejected && (access.expiresAt === undefined || clock() < access.expiresAt);
  }

  /** Behaviour 5. Never more than a tenth of the lifetime early, or a short-lived token would be renewed all the time. */
  function isDue({ access: { expiresAt }, issuedAt }: TokenSet): boolean {
    if (expiresAt === undefined) return false;
    return clock() >= expiresAt - Math.min(renewEarlyMs, (expiresAt - issuedAt) / 10);
  }

  function heldBack(held: TokenSet): RetailPosError | undefined {
    return refusal(held) ?? holdBack.renewal(held.domainPrefix);
  }

  function refusal({ domainPrefix, refusedAt }: TokenSet): ReconnectRequiredError | undefined {
    if (refusedAt === undefined || Math.abs(clock() - refusedAt) >= REFUSED_FOR_MS) return undefined;
    const when = new Date(refusedAt).toISOString();
    return new ReconnectRequiredError(
      `The service refused the refresh token of retailer "${domainPrefix}" at ${when}; log in with the store again`,
      { domainPrefix },
    );
  }

  function noteSuccess(retailer: Retailer, held: TokenSet, next: TokenSet, answer: TokenAnswer): void {
    const { domainPrefix } = retailer;
    holdBack.succeeded(domainPrefix, answer.rateLimit);
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
    if (error instanceof RetailPosError && !(error instanceof StoredTokensError))
      holdBack.failed(domainPrefix, error);
    else holdBack.pause(domainPrefix);
    if (error instanceof RateLimitedError) {
      const { retryAt, rateLimit } = error;
      tell(observe, { type: "rate_limited", domainPrefix, at: clock(), retryAt, rateLimit });
    }
    const servedHeldToken = held !== undefined && isLive(retailer, held);
    const shown = held ? withoutSecrets(error, secretsOf(held)) : error;
    tell(observe, { type: "renewal_failed", domainPrefix, at: clock(), error: shown, servedHeldToken });
  }

  function retailerOf(domainPrefix: DomainPrefix): Retailer {
    let retailer = retailers.get(domainPrefix);
    if (!retailer) {
      if (retailers.size >= MOST_RETAILERS) forgetIdle();
      retailer = { domainPrefix, held: undefined, checkedAt: Number.NEGATIVE_INFINITY, asOf: 0 };
      retailers.set(domainPrefix, retailer);
    }
    return retailer;
  }

  /** Makes room by a tenth, oldest first; what is under way or not yet saved stays. */
  function forgetIdle(): void {
    let room = MOST_RETAILERS / 10;
    for (const [domainPrefix, { looking, renewing, savingAgain, unsavedOver }] of retailers) {
      if (room === 0) return;
      if (looking || renewing || savingAgain || unsavedOver) continue;
      retailers.delete(domainPrefix);
      room -= 1;
    }
  }
}

/** R4: a new refresh token takes the old one's place, no new one leaves it; without an access token the old stays. */
function renewed(held: TokenSet, { response, requestedAt }: TokenAnswer): TokenSet {
  return quiet({
    domainPrefix: held.domainPrefix,
    access: response.access ?? held.access,
    refreshToken: response.refreshToken ?? held.refreshToken,
    issuedAt: response.access ? requestedAt : held.issuedAt,
    version: newVersion(),
  });
}

function secretsOf({ access, refreshToken }: TokenSet): string[] {
  return [access.value, refreshToken];
}
