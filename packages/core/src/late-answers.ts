import { mayReplace } from "./compare-and-set.js";
import type { DomainPrefix } from "./domain-prefix.js";
import { RateLimitedError } from "./errors.js";
import type { HeldTokens } from "./held-tokens.js";
import type { BackOff } from "./renewal-back-off.js";
import { renewed } from "./renewed-set.js";
import type { TokenAnswer } from "./token-endpoint.js";
import type { TokenEvents } from "./token-events.js";
import type { TokenSet } from "./token-set.js";
import type { Versions } from "./token-set-versions.js";

/** Keeps what the service says after the deadline. Nobody waits for it any more, but it holds. */
export interface LateAnswers {
  /** @param stored the set whose refresh token was sent. */
  keep(held: HeldTokens, stored: TokenSet, said: TokenAnswer | RateLimitedError): void;
  /** What came late for this retailer and is being saved. A request before that would send a spent refresh token. */
  saving(held: HeldTokens): Promise<unknown> | undefined;
}

export interface LateAnswerOptions {
  backOff: BackOff;
  versions: Versions;
  events: TokenEvents;
  /** Tells all processes of a 429. */
  limited: (held: HeldTokens, stored: TokenSet, error: RateLimitedError) => Promise<void>;
}

export function lateAnswers({ backOff, versions, events, limited }: LateAnswerOptions): LateAnswers {
  const underWay = new Map<DomainPrefix, Promise<unknown>>();

  return {
    keep(held, stored, said) {
      const { domainPrefix } = held;
      const work = said instanceof RateLimitedError ? note(held, stored, said) : save(held, stored, said);
      const all = Promise.all([underWay.get(domainPrefix), work]).finally(() => {
        if (underWay.get(domainPrefix) === all) underWay.delete(domainPrefix);
      });
      underWay.set(domainPrefix, all);
    },
    saving: ({ domainPrefix }) => underWay.get(domainPrefix),
  };

  function note(held: HeldTokens, stored: TokenSet, error: RateLimitedError): Promise<void> {
    backOff.failed(held.domainPrefix, error);
    return limited(held, stored, error);
  }

  /** The save compares, as every other: a newer set stays. */
  async function save(held: HeldTokens, stored: TokenSet, answer: TokenAnswer): Promise<void> {
    const next = renewed(stored, answer, versions.next());
    const { isUnsaved, set } = held;
    if (isUnsaved && set && !mayReplace(set, [stored], next)) return; // newer, and the store does not know of it
    const kept = await held.replace(stored, next).catch(() => undefined); // told by the store
    if (kept?.version !== next.version) return;
    backOff.succeeded(held.domainPrefix, answer.rateLimit);
    events.renewed(stored, next, answer.requestedAt);
  }
}
