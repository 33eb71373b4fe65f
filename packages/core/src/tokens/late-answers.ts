import { renewed } from "../endpoint/answered-set.js";
import type { Coming, TokenAnswer } from "../endpoint/token-endpoint.js";
import { LATE } from "../endpoint/token-post.js";
import { Progress, SharedWork, STUCK } from "../platform/progress.js";
import { mayReplace } from "../store/compare-and-set.js";
import { STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import type { Application } from "./application.js";
import type { HeldTokens } from "./held-tokens.js";
import { noteLimit, uselessness } from "./renewal-failures.js";

/** Keeps what the service says after the deadline: tokens are saved, and a 429 holds. No caller waits any more. */
export interface LateAnswers {
  /** @param stored the set whose refresh token was sent. */
  keep(held: HeldTokens, stored: TokenSet, coming: Coming): void;
  /** What may still come for this retailer, and its saving: whether new tokens came of it. */
  coming(held: HeldTokens): Promise<boolean> | undefined;
  /** What came late for this retailer and is being saved. A request before that would send a spent refresh token. */
  saving(held: HeldTokens): Promise<unknown> | undefined;
}

export function lateAnswers(app: Application): LateAnswers {
  const { backOff, versions, events, timeoutMs, background } = app;
  const coming = new UnderWay(LATE * timeoutMs + STORE_MAY_TAKE_MS);
  const saving = new UnderWay(STORE_MAY_TAKE_MS);

  return {
    keep(held, stored, answer) {
      const work = answer.then((said) => {
        if (said === undefined) return false;
        return saving.add(
          held,
          said instanceof RateLimitedError ? note(held, stored, said) : save(held, stored, said),
        );
      });
      const all = coming.add(held, work);
      held.keepFor(all);
      background(all);
    },
    coming: (held) => coming.of(held),
    saving: (held) => saving.of(held),
  };

  async function note(held: HeldTokens, stored: TokenSet, error: RateLimitedError): Promise<boolean> {
    await noteLimit(held, stored, error, app);
    return false;
  }

  /** The save compares, as every other: a newer set stays. */
  async function save(held: HeldTokens, stored: TokenSet, answer: TokenAnswer): Promise<boolean> {
    const next = renewed(stored, answer, versions.next());
    const { isUnsaved, set } = held;
    if (isUnsaved && set && !mayReplace(set, [stored], next)) return false; // newer, and the store does not know of it
    const kept = await held.replace(stored, next).catch(() => undefined); // told by the store
    if (kept?.version !== next.version || uselessness(held, answer)) return false;
    backOff.succeeded(held.domainPrefix, answer.rateLimit);
    events.renewed(stored, next, answer.beganAt);
    return true;
  }
}

/** What is under way for each retailer, all of it together: whether new tokens came of any. */
class UnderWay {
  readonly #mayTakeMs: number;
  readonly #all = new Map<DomainPrefix, SharedWork<boolean>>();

  constructor(mayTakeMs: number) {
    this.#mayTakeMs = mayTakeMs;
  }

  /** Work that its runtime has ended brings no tokens. */
  of({ domainPrefix }: HeldTokens): Promise<boolean> | undefined {
    const work = this.#all.get(domainPrefix);
    return work?.wait().then((end) => {
      if (end !== STUCK) return end;
      if (this.#all.get(domainPrefix) === work) this.#all.delete(domainPrefix);
      return false;
    });
  }

  add({ domainPrefix }: HeldTokens, work: Promise<boolean>): Promise<boolean> {
    const before = this.#all.get(domainPrefix)?.result.catch(() => false); // its runtime may have ended it
    const result = Promise.all([before, work]).then((ends) => ends.includes(true));
    const all = new SharedWork(new Progress(this.#mayTakeMs), result);
    this.#all.set(domainPrefix, all);
    void result.then(() => {
      if (this.#all.get(domainPrefix) === all) this.#all.delete(domainPrefix);
    });
    return result;
  }
}
