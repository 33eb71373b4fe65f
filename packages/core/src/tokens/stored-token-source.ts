import { unlessAborted } from "../platform/abort.js";
import type { TokenEvents } from "../vocabulary/events.js";
import { isLimited, isRefused, renewalDueAt } from "../vocabulary/token-life.js";
import type { AccessToken, TokenSet } from "../vocabulary/token-set.js";
import type { TokenAsk, TokenSource } from "../vocabulary/token-source.js";
import { awaitedTokens } from "./awaited-token.js";
import type { HeldTokens } from "./held-tokens.js";
import type { KnownRetailers } from "./known-retailers.js";
import type { BackOff } from "./renewal-back-off.js";
import type { Renewals } from "./renewals.js";

export interface StoredTokenSourceOptions {
  retailers: KnownRetailers;
  renewals: Renewals;
  backOff: BackOff;
  renewEarlyMs: number;
  clock: () => number;
  events: TokenEvents;
}

/** Hands out the tokens of one retailer: from memory while they live, else after the renewal that is due. */
export function storedTokenSources(options: StoredTokenSourceOptions): (known: HeldTokens) => TokenSource {
  const { retailers, renewals, backOff, renewEarlyMs, clock, events } = options;
  const awaited = awaitedTokens({ renewals, serve, clock });
  return sourcesWith({ token, tokenNow });

  /** No `async` here: a thousand callers may wait for one renewal, and each waits on one promise less. */
  function token(known: HeldTokens, ask: TokenAsk | undefined): Promise<AccessToken> {
    try {
      const { signal, rejected } = ask ?? {};
      signal?.throwIfAborted();
      const now = rejected === undefined ? tokenNow(known) : undefined;
      if (now) return promised(now);
      const held = retailers.of(known.domainPrefix);
      const token = awaited(held, rejected);
      return signal ? unlessGone(held, token, signal) : token.catch(toldOf(held));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Each caller's failure is told by itself, in the asynchronous context of that caller. */
  function toldOf({ domainPrefix }: HeldTokens): (error: unknown) => never {
    return (error) => {
      events.callerFailed(domainPrefix, error);
      throw error;
    };
  }

  /** For a caller who may leave, and is told of no failure then. */
  async function unlessGone(held: HeldTokens, token: Promise<AccessToken>, signal: AbortSignal) {
    try {
      return await unlessAborted(token, signal);
    } catch (error) {
      if (!(signal.aborted && error === signal.reason)) events.callerFailed(held.domainPrefix, error);
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
