import { tokenSetFromRefresh } from "../endpoint/answered-set.js";
import type { Coming, TokenAnswer } from "../endpoint/token-endpoint.js";
import { LATE_TIMEOUT_FACTOR } from "../endpoint/token-post.js";
import { within } from "../platform/timers.js";
import { STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import {
  NotConnectedError,
  RateLimitedError,
  RejectedByApiError,
  type RetailPosError,
  TokenResponseError,
} from "../vocabulary/errors.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import type { Deps } from "./deps.js";
import { recordRetryAfter } from "./renewal-failures.js";
import type { Renewal, RetailerCache } from "./retailer-cache.js";

/**
 * Saves what the service issued before any caller sees it. If a person logged in meanwhile, that set counts.
 *
 * @param stored the set whose refresh token was sent.
 * @param tries called before each try to save it.
 */
export async function saveIssued(
  cached: RetailerCache,
  stored: TokenSet,
  answer: TokenAnswer,
  { versions, backOff, events }: Deps,
  tries?: () => void,
): Promise<Renewal> {
  const problem = unusableReason(cached, answer);
  const next = tokenSetFromRefresh(stored, answer, versions.next());
  const kept = await cached.replace(stored, next, tries);
  if (!kept) throw new NotConnectedError(cached); // disconnected meanwhile
  if (problem) throw problem;
  backOff.succeeded(cached.domainPrefix, answer.rateLimit);
  if (kept.version !== next.version) return { set: kept, isIssuedHere: false };
  events.renewed(stored, next, answer.beganAt);
  // issued to this very call: handed out once, even if it ended while it was saved
  return { set: next, isIssuedHere: true };
}

/** Why callers have no use for an answer. It is saved all the same. */
function unusableReason(
  cached: RetailerCache,
  { response: { access } }: TokenAnswer,
): RetailPosError | undefined {
  if (access && !cached.isRejected(access.value)) return undefined;
  const issued = `The token endpoint of retailer "${cached.domainPrefix}" issued`;
  if (access) return new RejectedByApiError(`${issued} an access token again that the API rejects`, cached);
  return new TokenResponseError(`${issued} a refresh token but no usable access_token`, cached);
}

/** Keeps what the service says after the deadline: tokens are saved, and a 429 holds. No caller waits any more. */
export interface LateAnswers {
  /** @param stored the set whose refresh token was sent. */
  keep(cached: RetailerCache, stored: TokenSet, coming: Coming): void;
  /** What may still come for this retailer, and its saving: whether new tokens came of it. */
  coming(cached: RetailerCache): Promise<boolean>;
}

export function lateAnswers(deps: Deps): LateAnswers {
  const all = new Map<RetailerCache, Promise<boolean>>();
  return {
    keep(cached, stored, answer) {
      const before = all.get(cached)?.catch(() => false); // its runtime may have ended it
      const work = answer.then((said) => said !== undefined && kept(cached, stored, said));
      const both = Promise.all([before, work]).then((ends) => ends.includes(true));
      all.set(cached, both);
      void both.then(() => {
        if (all.get(cached) === both) all.delete(cached);
      });
      deps.background(cached.pin(both));
    },
    /** Work that its runtime has ended brings no tokens. */
    async coming(cached) {
      const mayTakeMs = LATE_TIMEOUT_FACTOR * deps.timeoutMs + STORE_MAY_TAKE_MS;
      return within(mayTakeMs, all.get(cached) ?? false, () => new Error("too late")).catch(() => false);
    },
  };

  async function kept(
    cached: RetailerCache,
    stored: TokenSet,
    said: TokenAnswer | RateLimitedError,
  ): Promise<boolean> {
    try {
      if (!(said instanceof RateLimitedError))
        return (await saveIssued(cached, stored, said, deps)).isIssuedHere;
      await recordRetryAfter(cached, stored, said, deps);
    } catch {
      // told by the store
    }
    return false;
  }
}
