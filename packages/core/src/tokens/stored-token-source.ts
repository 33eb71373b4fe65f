import { unlessAborted } from "../platform/abort.js";
import { isLimited, isRefused, renewalDueAt } from "../vocabulary/token-life.js";
import type { AccessToken, TokenSet } from "../vocabulary/token-set.js";
import type { TokenAsk, TokenSource } from "../vocabulary/token-source.js";
import type { Application } from "./application.js";
import { awaitedTokens } from "./awaited-token.js";
import type { HeldTokens } from "./held-tokens.js";
import type { KnownRetailers } from "./known-retailers.js";
import type { Renewals } from "./renewals.js";

/** Hands out the tokens of one retailer: from memory while they live, else after the renewal that is due. */
export function storedTokenSources(
  { backOff, renewEarlyMs, clock, events, background }: Application,
  retailers: KnownRetailers,
  renewals: Renewals,
): (known: HeldTokens) => TokenSource {
  const awaited = awaitedTokens(renewals, serve, clock);
  return (known) => ({ token: (ask) => token(known, ask), tokenNow: () => tokenNow(known) });

  async function token(known: HeldTokens, { signal, rejected }: TokenAsk = {}): Promise<AccessToken> {
    signal?.throwIfAborted();
    const now = rejected === undefined ? tokenNow(known) : undefined;
    if (now) return now;
    const held = retailers.of(known.domainPrefix);
    try {
      return await unlessAborted(awaited(held, rejected), signal);
    } catch (error) {
      // Told in the async context of the caller; one who left is told of no failure.
      if (!(signal?.aborted && error === signal.reason)) events.callerFailed(held.domainPrefix, error);
      throw error;
    }
  }

  /** Nearly every call ends here, and has nothing to wait for. */
  function tokenNow(known: HeldTokens): AccessToken | undefined {
    const now = clock();
    const held = known.isTrusted(now) ? known : retailers.of(known.domainPrefix);
    const { set } = held;
    return set && held.isTrusted(now) && held.isLive(set, now) ? serve(held, set, now) : undefined;
  }

  /** Hands out a live token at once, and starts the save or the renewal that is due beside it. */
  function serve(held: HeldTokens, set: TokenSet, now = clock()): AccessToken {
    if (held.isRenewing && !held.isRenewalOverdue) return set.access;
    if (held.isUnsaved) background(held.saveAgain());
    const isDue = now >= renewalDueAt(set, renewEarlyMs) && !isRefused(set, now) && !isLimited(set, now);
    if (isDue && !held.isTooEarly(set) && !backOff.early(held.domainPrefix))
      renewals.renew(held, set).catch(() => {}); // told already
    return set.access;
  }
}
