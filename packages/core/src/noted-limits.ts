import type { DomainPrefix } from "./domain-prefix.js";
import type { RateLimitedError } from "./errors.js";
import type { KnownRetailers } from "./known-retailers.js";
import type { Renewals } from "./renewals.js";
import { limitOf } from "./token-set-notes.js";

/** What a login knows of 429s that other processes met: they are noted on the sets in the store (behaviour 7). */
export interface LoginLimits {
  /** The 429 that is noted on this process's copy, for a login that is about to be sent. */
  limit(domainPrefix: DomainPrefix): RateLimitedError | undefined;
  /** Reads the store for that note, which another process may have just written. The store tells its own failures. */
  lookForLimit(domainPrefix: DomainPrefix): Promise<void>;
  /** A login met a 429: notes it on what is stored for the retailer, if there is anything. */
  limited(domainPrefix: DomainPrefix, error: RateLimitedError): Promise<void>;
}

export interface LoginLimitsOptions {
  retailers: KnownRetailers;
  renewals: Pick<Renewals, "noteLimit">;
  clock: () => number;
}

export function loginLimits({ retailers, renewals, clock }: LoginLimitsOptions): LoginLimits {
  return {
    limit(domainPrefix) {
      const set = retailers.get(domainPrefix)?.set;
      return set && limitOf(set, clock());
    },
    async lookForLimit(domainPrefix) {
      const held = retailers.of(domainPrefix);
      await held.look(held.asked, 0).catch(() => {});
    },
    async limited(domainPrefix, error) {
      const held = retailers.of(domainPrefix);
      const stored = await held.look(held.asked, 0).catch(() => undefined); // told by the store
      if (stored) await renewals.noteLimit(held, stored, error);
    },
  };
}
