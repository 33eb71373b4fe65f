import { renewed } from "../endpoint/answered-set.js";
import type { Coming, TokenAnswer } from "../endpoint/token-endpoint.js";
import { mayReplace } from "../store/compare-and-set.js";
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
  const { backOff, versions, events } = app;
  const coming = new UnderWay();
  const saving = new UnderWay();

  return {
    keep(held, stored, answer) {
      const work = answer.then((said) => {
        if (said === undefined) return false;
        return saving.add(
          held,
          said instanceof RateLimitedError ? note(held, stored, said) : save(held, stored, said),
        );
      });
      held.keepFor(coming.add(held, work));
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
  readonly #all = new Map<DomainPrefix, Promise<boolean>>();

  of({ domainPrefix }: HeldTokens): Promise<boolean> | undefined {
    return this.#all.get(domainPrefix);
  }

  add({ domainPrefix }: HeldTokens, work: Promise<boolean>): Promise<boolean> {
    const all = Promise.all([this.#all.get(domainPrefix), work])
      .then((ends) => ends.includes(true))
      .finally(() => {
        if (this.#all.get(domainPrefix) === all) this.#all.delete(domainPrefix);
      });
    this.#all.set(domainPrefix, all);
    return all;
  }
}
