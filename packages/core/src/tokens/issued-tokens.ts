import { renewed } from "../endpoint/answered-set.js";
import type { Coming, TokenAnswer } from "../endpoint/token-endpoint.js";
import { LATE } from "../endpoint/token-post.js";
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
import type { Application } from "./application.js";
import type { HeldTokens, Renewal } from "./held-tokens.js";
import { noteLimit } from "./renewal-failures.js";

/**
 * Saves what the service issued before any caller sees it. If somebody logged in meanwhile, that set counts.
 *
 * @param stored the set whose refresh token was sent.
 * @param tries called before each try to save it.
 */
export async function saveIssued(
  held: HeldTokens,
  stored: TokenSet,
  answer: TokenAnswer,
  { versions, backOff, events }: Application,
  tries?: () => void,
): Promise<Renewal> {
  const problem = uselessness(held, answer);
  const next = renewed(stored, answer, versions.next());
  const kept = await held.replace(stored, next, tries);
  if (!kept) throw new NotConnectedError(held); // disconnected meanwhile
  if (problem) throw problem;
  backOff.succeeded(held.domainPrefix, answer.rateLimit);
  if (kept.version !== next.version) return { set: kept, isIssuedHere: false };
  events.renewed(stored, next, answer.beganAt);
  // issued to this very call: handed out once, even if it ended while it was saved
  return { set: next, isIssuedHere: true };
}

/** Why callers have no use for an answer. It is saved all the same. */
function uselessness(held: HeldTokens, { response: { access } }: TokenAnswer): RetailPosError | undefined {
  if (access && !held.isRejected(access.value)) return undefined;
  const issued = `The token endpoint of retailer "${held.domainPrefix}" issued`;
  if (access) return new RejectedByApiError(`${issued} an access token again that the API rejects`, held);
  return new TokenResponseError(`${issued} a refresh token but no usable access_token`, held);
}

/** Keeps what the service says after the deadline: tokens are saved, and a 429 holds. No caller waits any more. */
export interface LateAnswers {
  /** @param stored the set whose refresh token was sent. */
  keep(held: HeldTokens, stored: TokenSet, coming: Coming): void;
  /** What may still come for this retailer, and its saving: whether new tokens came of it. */
  coming(held: HeldTokens): Promise<boolean>;
}

export function lateAnswers(app: Application): LateAnswers {
  const all = new Map<HeldTokens, Promise<boolean>>();
  return {
    keep(held, stored, answer) {
      const before = all.get(held)?.catch(() => false); // its runtime may have ended it
      const work = answer.then((said) => said !== undefined && kept(held, stored, said));
      const both = Promise.all([before, work]).then((ends) => ends.includes(true));
      all.set(held, both);
      void both.then(() => {
        if (all.get(held) === both) all.delete(held);
      });
      app.background(held.keepFor(both));
    },
    /** Work that its runtime has ended brings no tokens. */
    async coming(held) {
      const mayTakeMs = LATE * app.timeoutMs + STORE_MAY_TAKE_MS;
      return within(mayTakeMs, all.get(held) ?? false, () => new Error("too late")).catch(() => false);
    },
  };

  async function kept(
    held: HeldTokens,
    stored: TokenSet,
    said: TokenAnswer | RateLimitedError,
  ): Promise<boolean> {
    try {
      if (!(said instanceof RateLimitedError))
        return (await saveIssued(held, stored, said, app)).isIssuedHere;
      await noteLimit(held, stored, said, app);
    } catch {
      // told by the store
    }
    return false;
  }
}
