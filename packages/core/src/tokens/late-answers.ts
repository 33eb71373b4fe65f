import { renewed } from "../endpoint/answered-set.js";
import type { Coming, TokenAnswer } from "../endpoint/token-endpoint.js";
import { LATE } from "../endpoint/token-post.js";
import { Progress, STUCK } from "../platform/progress.js";
import { mayReplace } from "../store/compare-and-set.js";
import { STORE_MAY_TAKE_MS } from "../store/store-failure.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import type { Application } from "./application.js";
import type { HeldTokens } from "./held-tokens.js";
import { noteLimit, uselessness } from "./renewal-failures.js";

/** Keeps what the service says after the deadline. Nobody waits for it any more, but it holds. */
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
  readonly #all = new Map<DomainPrefix, { result: Promise<boolean>; progress: Progress }>();

  constructor(mayTakeMs: number) {
    this.#mayTakeMs = mayTakeMs;
  }

  of({ domainPrefix }: HeldTokens): Promise<boolean> | undefined {
    const work = this.#all.get(domainPrefix);
    return work?.progress.wait(work.result).then((end) => {
      if (end !== STUCK) return end;
      if (this.#all.get(domainPrefix) === work) this.#all.delete(domainPrefix);
      return false;
    });
  }

  add({ domainPrefix }: HeldTokens, work: Promise<boolean>): Promise<boolean> {
    const result = Promise.all([this.#all.get(domainPrefix)?.result, work])
      .then((ends) => ends.includes(true))
      .finally(() => {
        if (this.#all.get(domainPrefix)?.result === result) this.#all.delete(domainPrefix);
      });
    this.#all.set(domainPrefix, { result, progress: new Progress(this.#mayTakeMs) });
    return result;
  }
}
