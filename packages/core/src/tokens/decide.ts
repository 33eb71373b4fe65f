import { type ReconnectRequiredError, RefusedEarlyError, type RetailPosError } from "../vocabulary/errors.js";
import { isExpired, limitOf, refusalOf, renewalDueAt } from "../vocabulary/token-life.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { asOfNow } from "./renewal-back-off.js";

/**
 * What a call for a token does with a set that may be used. If it is an error, the token has ended, and no token
 * request may be sent now.
 *
 * | decision | the caller | beside it |
 * |---|---|---|
 * | `"serve"` | gets the cached token | |
 * | `"serve and renew"` | gets the cached token | a renewal starts in the background (behaviour 5) |
 * | `"renew"` | waits for a renewal | |
 */
export type Decision = "serve" | "serve and renew" | "renew" | RetailPosError;

/** What this process knows of a refusal of the service: the store may not have kept it. */
export interface LocalNote {
  /** The refused tokens, with `refusedAt` or `refusedEarlyAt`. */
  readonly set: TokenSet;
  /** The error for callers until the next try. */
  readonly refusal?: ReconnectRequiredError;
  /** Whether the store has taken the same. */
  readonly isStored: boolean;
}

/** What a decision depends on, beside the token set. */
export interface Facts {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly renewEarlyMs: number;
  /** Whether the API rejected the set's access token. */
  readonly isRejected: boolean;
  /** What this process knows of a refusal of the set's tokens: the store may not have kept it. */
  readonly localNote: Pick<LocalNote, "set" | "refusal"> | undefined;
  /** The retailer's back-off that lasts now (behaviour 7). */
  readonly pause: { readonly error?: RetailPosError } | undefined;
}

export function decide(set: TokenSet, facts: Facts): Decision {
  if (!isLive(set, facts)) return heldBackBy(set, facts) ?? "renew";
  const isDue = facts.now >= renewalDueAt(set.issuedAt, set.access.expiresAt, facts.renewEarlyMs);
  return isDue && !facts.pause && !heldBackBy(set, facts) ? "serve and renew" : "serve";
}

/** Whether a decision is to hand out the cached token. */
export function serves(decision: Decision): boolean {
  return decision === "serve" || decision === "serve and renew";
}

/** Why no token request may be sent for the set now; `undefined` if one may. */
export function heldBackBy(set: TokenSet, facts: Facts): RetailPosError | undefined {
  const { now, localNote, pause } = facts;
  const local = localNote && refusalOf(localNote.set, now);
  const refused = (local && localNote.refusal) ?? local ?? refusalOf(set, now);
  return (
    refused ?? (pause?.error && asOfNow(pause.error, now)) ?? limitOf(set, now) ?? refusedEarly(set, facts)
  );
}

/** The access token has not expired, and the API has not rejected it. */
function isLive({ access }: TokenSet, { isRejected, now }: Facts): boolean {
  return !isRejected && !isExpired(access, now);
}

/** The service refused an early renewal of this token: none is tried again before its end (behaviour 8). */
function refusedEarly(set: TokenSet, facts: Facts): RefusedEarlyError | undefined {
  const isNoted = set.refusedEarlyAt !== undefined || facts.localNote?.set.refusedEarlyAt !== undefined;
  if (!isNoted || !isLive(set, facts)) return undefined;
  const { domainPrefix } = set;
  const what = `An early renewal of the tokens of retailer "${domainPrefix}" was refused before`;
  return new RefusedEarlyError(`${what}; the next request comes at the access token's end`, { domainPrefix });
}
