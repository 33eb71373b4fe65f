import { unlessAborted } from "./abort.js";
import { NotConnectedError, ReconnectRequiredError } from "./errors.js";
import type { HeldTokens } from "./held-tokens.js";
import type { KnownRetailers } from "./known-retailers.js";
import type { BackOff } from "./renewal-back-off.js";
import type { Renewals } from "./renewals.js";
import { setsToUse } from "./set-to-use.js";
import type { TokenEvents } from "./token-events.js";
import { isLimited, isRefused, renewalDueAt } from "./token-life.js";
import type { AccessToken, TokenSet } from "./token-set.js";
import type { TokenAsk, TokenSource } from "./token-source.js";

export interface StoredTokenSourceOptions {
  retailers: KnownRetailers;
  renewals: Renewals;
  backOff: BackOff;
  renewEarlyMs: number;
  clock: () => number;
  events: TokenEvents;
}

type Rejected = TokenAsk["rejected"];

/** Hands out the tokens of one retailer: from memory while they live, else after the renewal that is due. */
export function storedTokenSources(options: StoredTokenSourceOptions): (known: HeldTokens) => TokenSource {
  const { retailers, renewals, backOff, renewEarlyMs, clock, events } = options;
  const { ofCopy, current } = setsToUse(renewals);
  return sourcesWith({ token, tokenNow });

  /** No `async` here: a thousand callers may wait for one renewal, and each waits on one promise less. */
  function token(known: HeldTokens, ask: TokenAsk | undefined): Promise<AccessToken> {
    try {
      const { signal, rejected } = ask ?? {};
      signal?.throwIfAborted();
      const now = rejected === undefined ? tokenNow(known) : undefined;
      if (now) return promised(now);
      return signal ? whileWanted(known, rejected, signal) : obtain(known, rejected, true);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** For a caller who may leave, and is told of no failure then. */
  async function whileWanted(known: HeldTokens, rejected: Rejected, signal: AbortSignal) {
    try {
      return await unlessAborted(obtain(known, rejected, false), signal);
    } catch (error) {
      if (!(signal.aborted && error === signal.reason)) events.callerFailed(known.domainPrefix, error);
      throw error;
    }
  }

  /** Nearly every call ends at the first comparison, and has nothing to wait for. */
  function tokenNow(known: HeldTokens): AccessToken | undefined {
    const now = clock();
    if (known.isGood(now)) return known.access;
    const held = retailers.of(known.domainPrefix);
    const isServed = held.isTrusted(now) && held.access !== undefined && held.isLiveAccess(held.access, now);
    const set = isServed ? held.set : undefined; // only here: a thousand callers may wait for a token that ended
    return set && serve(held, set, now);
  }

  /** @param isTold whether the failure of this caller is observed. */
  async function obtain(known: HeldTokens, rejected: Rejected, isTold: boolean): Promise<AccessToken> {
    const held = retailers.of(known.domainPrefix);
    try {
      for (let joined = 0; ; joined += 1) {
        const set = ofCopy(held, rejected) ?? (await current(held, rejected));
        if (held.isLive(set)) return serve(held, set);
        const isJoining = held.renewing !== undefined;
        const reason = isJoining ? undefined : renewals.blocked(set);
        if (reason) throw reason;
        try {
          const renewed = (await renewals.renew(held, set)).set;
          // Ended while it was saved: good for who asked, not for who joined later. Reported by now: good for nobody.
          const isGood = !isJoining || joined > 0 || held.isLive(renewed);
          if (isGood && !held.isRejected(renewed.access.value)) return renewed.access;
        } catch (error) {
          // A person may have logged in meanwhile: a token that lives now is served although the renewal failed.
          if (held.set && held.isLive(held.set)) return held.set.access;
          // A renewal that began before this call may not know of a login that came between; the next one began later.
          if (!isJoining || joined > 0 || !isVerdict(error)) throw error;
        }
      }
    } catch (error) {
      if (isTold) events.callerFailed(known.domainPrefix, error);
      throw error;
    }
  }

  /** Hands out a live token at once, and starts the save or the renewal that is due beside it. */
  function serve(held: HeldTokens, set: TokenSet, now = clock()): AccessToken {
    if (held.renewing) return set.access;
    if (held.isUnsaved) void held.saveAgain();
    const isDue = now >= renewalDueAt(set, renewEarlyMs) && !isRefused(set, now) && !isLimited(set, now);
    if (isDue && !backOff.early(held.domainPrefix)) renewals.renew(held, set).catch(() => {}); // told already
    return set.access;
  }
}

interface Functions {
  token(known: HeldTokens, ask: TokenAsk | undefined): Promise<AccessToken>;
  tokenNow(known: HeldTokens): AccessToken | undefined;
}

function sourcesWith(functions: Functions): (known: HeldTokens) => TokenSource {
  /** There may be a million. Functions of its own would take five times the memory, so they are made when asked for. */
  class SourceOfOne implements TokenSource {
    readonly #known: HeldTokens;

    constructor(known: HeldTokens) {
      this.#known = known;
    }
    get token(): TokenSource["token"] {
      return (ask) => functions.token(this.#known, ask);
    }
    get tokenNow(): Required<TokenSource>["tokenNow"] {
      return () => functions.tokenNow(this.#known);
    }
  }

  return (known) => new SourceOfOne(known);
}

/**
 * Measured: sooner than `Promise.resolve`, which looks first whether it was given a promise. Reading a field shows V8
 * the object's shape; else it looks for a `then` in the object and its prototype, which took a sixth of the whole call.
 */
async function promised(access: AccessToken): Promise<AccessToken> {
  void access.value;
  return access;
}

function isVerdict(error: unknown): boolean {
  return error instanceof NotConnectedError || error instanceof ReconnectRequiredError;
}
