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
 * @param beforeEachTry called before each try to save it.
 */
export async function saveIssued(
  cached: RetailerCache,
  stored: TokenSet,
  answer: TokenAnswer,
  { versions, backOff, tell }: Deps,
  beforeEachTry?: () => void,
): Promise<Renewal> {
  const problem = unusableReason(cached, answer);
  const next = tokenSetFromRefresh(stored, answer, versions.next());
  const kept = await cached.replace(stored, next, beforeEachTry);
  if (!kept) throw new NotConnectedError(cached); // disconnected meanwhile
  const isIssuedHere = kept.version === next.version;
  if (problem && isIssuedHere) throw problem;
  backOff.succeeded(cached.domainPrefix, answer.rateLimit);
  if (!isIssuedHere) return { set: kept, isIssuedHere };
  const rotated = next.refreshToken !== stored.refreshToken;
  const tookMs = performance.now() - answer.beganAt;
  tell({ type: "renewed", domainPrefix: cached.domainPrefix, rotated, tookMs });
  // issued to this very call: handed out once, even if it ended while it was saved
  return { set: next, isIssuedHere };
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

/** What the service says after the deadline: its tokens are saved, and a 429 holds. No caller waits any more. */
export interface LateAnswers {
  /** @param stored the set whose refresh token was sent. */
  add(cached: RetailerCache, stored: TokenSet, coming: Coming): void;
  /** Waits for what may still come for this retailer, and its saving: whether new tokens came of it. */
  bringTokens(cached: RetailerCache): Promise<boolean>;
}

export function lateAnswers(deps: Deps): LateAnswers {
  const mayTakeMs = LATE_TIMEOUT_FACTOR * deps.timeoutMs + STORE_MAY_TAKE_MS;
  const all = new Map<RetailerCache, Promise<boolean>>();
  return {
    add(cached, stored, coming) {
      const kept = coming.then((said) => said !== undefined && isKept(cached, stored, said));
      const work = Promise.all([all.get(cached), kept]).then((ends) => ends.includes(true));
      all.set(cached, work);
      void work.then(() => {
        if (all.get(cached) === work) all.delete(cached);
      });
      cached.keepFor(mayTakeMs);
      deps.background(work);
    },
    async bringTokens(cached) {
      return within(mayTakeMs, all.get(cached) ?? false, tooLate).catch(() => false);
    },
  };

  async function isKept(
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

/** Its runtime has ended the request that the answer belongs to. */
const tooLate = () => new Error("too late");
