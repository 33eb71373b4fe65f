import { sleep } from "../platform/timers.js";
import type { Deps } from "../tokens/deps.js";
import { recordFailure } from "../tokens/renewal-failures.js";
import type { Renewals } from "../tokens/renewals.js";
import type { RetailerCache } from "../tokens/retailer-cache.js";
import { isStoreFailure, NotConnectedError, ReconnectRequiredError } from "../vocabulary/errors.js";
import { type RetailerStatus, statusOf } from "../vocabulary/retailer-status.js";
import { isDueWithin } from "../vocabulary/token-life.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** One run: it renews the retailers whose tokens end soon, or those whose tokens were issued before an instant. */
export interface Due {
  readonly withinMs: number | undefined;
  readonly issuedBefore: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The part of `renewDue` that handles one retailer. */
export interface DueRetailers {
  isDue(status: RetailerStatus): boolean;
  renewIfDue(cached: RetailerCache): Promise<DueOutcome>;
}

/** `undefined` if the retailer was not due, and "cut off" if the run was stopped before. */
type DueOutcome = "renewed" | "refused" | "failed" | "elsewhere" | "cut off" | undefined;

const SAVE_TRIES = 30;
const SAVE_AGAIN_AFTER_MS = 2000;

export function dueRetailers(deps: Deps, renewals: Renewals, due: Due): DueRetailers {
  const { backOff, renewEarlyMs, clock } = deps;
  const { withinMs, issuedBefore, signal } = due;
  return { isDue, renewIfDue };

  /**
   * Waits for an answer that comes after the deadline, and for a save that failed. The job may end its process after
   * the report, and the new refresh token would be lost; the service may have ended the old one.
   */
  async function renewIfDue(cached: RetailerCache): Promise<DueOutcome> {
    const outcome = signal?.aborted ? "cut off" : await tryToRenew(cached);
    const cameLate = await renewals.comingLate(cached);
    if (!cameLate && (outcome === undefined || outcome === "cut off")) return outcome;
    const isSaved = await isSavedAtLast(cached);
    const isRenewed = outcome === "renewed" || (cameLate && (outcome === "failed" || outcome === "refused"));
    if (!isRenewed) return outcome;
    return isSaved ? "renewed" : "failed";
  }

  /** Loads the set again: if the retailer was removed or renewed since the page was read, it is not due. */
  async function tryToRenew(cached: RetailerCache): Promise<DueOutcome> {
    try {
      const stored = await cached.load();
      if (!stored || !isDue(statusOf(stored))) return undefined;
      if (issuedBefore === undefined && isHeldBack(cached, stored)) return undefined;
      if (signal?.aborted) return "cut off";
      return await outcomeOf(cached, stored);
    } catch (error) {
      if (!isStoreFailure(error)) recordFailure(cached, error, deps);
      return "failed";
    }
  }

  async function outcomeOf(cached: RetailerCache, stored: TokenSet): Promise<DueOutcome> {
    let isOwn = false; // else this run joins a caller's renewal
    try {
      const { isIssuedHere } = await renewals.renew(cached, stored, () => {
        isOwn = true;
      });
      return isIssuedHere && isOwn ? "renewed" : "elsewhere";
    } catch (error) {
      if (error instanceof NotConnectedError) return undefined; // disconnected meanwhile
      return error instanceof ReconnectRequiredError ? "refused" : "failed";
    }
  }

  function isDue(status: RetailerStatus): boolean {
    if (issuedBefore !== undefined) return status.issuedAt < issuedBefore;
    return status.refusedAt === undefined && isDueWithin(status, clock(), withinMs, renewEarlyMs);
  }

  function isHeldBack(cached: RetailerCache, stored: TokenSet): boolean {
    return backOff.pause(stored.domainPrefix) !== undefined || cached.heldBackBy(stored) !== undefined;
  }
}

/**
 * Tries for a minute to save a rotated refresh token that the store did not save, also after the run was stopped: only
 * this process has it, and it may end after the report. Meanwhile no other renewal starts, because it could not be
 * saved either.
 */
async function isSavedAtLast(cached: RetailerCache): Promise<boolean> {
  for (let tries = 0; cached.isUnsaved && tries < SAVE_TRIES; tries += 1) {
    await sleep(SAVE_AGAIN_AFTER_MS);
    await cached.saveUnsaved();
  }
  return !cached.isUnsaved;
}
