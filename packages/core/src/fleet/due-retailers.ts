import { sleep } from "../platform/timers.js";
import type { Application } from "../tokens/application.js";
import type { HeldTokens } from "../tokens/held-tokens.js";
import { noteFailure } from "../tokens/renewal-failures.js";
import type { Renewals } from "../tokens/renewals.js";
import { isStoreFailure, NotConnectedError, ReconnectRequiredError } from "../vocabulary/errors.js";
import { type RetailerStatus, statusOf } from "../vocabulary/retailer-status.js";
import { isDueWithin, isLimited } from "../vocabulary/token-life.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** The part of `renewDue` that handles one retailer. */
export interface DueRetailers {
  isDue(status: RetailerStatus, withinMs: number | undefined): boolean;
  /** Resolves to `undefined` if the retailer was not due, and to "cut off" if the run was stopped before. */
  renewIfDue(
    held: HeldTokens,
    withinMs: number | undefined,
    isStopped: () => boolean,
  ): Promise<Outcome | "cut off" | undefined>;
}

type Outcome = "renewed" | "refused" | "failed" | "elsewhere";

const SAVE_TRIES = 30;
const SAVE_AGAIN_AFTER_MS = 2000;

export function dueRetailers(app: Application, renewals: Renewals): DueRetailers {
  const { backOff, renewEarlyMs, clock } = app;
  return { isDue, renewIfDue };

  /**
   * Waits for an answer that comes after the deadline, and for a save that failed. The job may end its process after
   * the report, and the new refresh token would be lost; the service may have ended the old one.
   */
  async function renewIfDue(
    held: HeldTokens,
    withinMs: number | undefined,
    isStopped: () => boolean,
  ): Promise<Outcome | "cut off" | undefined> {
    const outcome = isStopped() ? "cut off" : await tryToRenew(held, withinMs, isStopped);
    const cameLate = await renewals.comingLate(held);
    if (!cameLate && (outcome === undefined || outcome === "cut off")) return outcome;
    const isSaved = await isSavedAtLast(held);
    const isRenewed = outcome === "renewed" || (cameLate && (outcome === "failed" || outcome === "refused"));
    if (!isRenewed) return outcome;
    return isSaved ? "renewed" : "failed";
  }

  /** Loads the set again: if the retailer was removed or renewed since the page was read, it is not due. */
  async function tryToRenew(
    held: HeldTokens,
    withinMs: number | undefined,
    isStopped: () => boolean,
  ): Promise<Outcome | "cut off" | undefined> {
    try {
      const stored = await held.look();
      if (!stored || !isDue(statusOf(stored), withinMs) || isHeldBack(held, stored)) return undefined;
      if (isStopped()) return "cut off";
      return await outcomeOf(held, stored);
    } catch (error) {
      if (!isStoreFailure(error)) noteFailure(held, error, app);
      return "failed";
    }
  }

  async function outcomeOf(held: HeldTokens, stored: TokenSet): Promise<Outcome | undefined> {
    const isJoining = held.isRenewing;
    try {
      const { isIssuedHere } = await renewals.renew(held, stored);
      return !isIssuedHere || isJoining ? "elsewhere" : "renewed";
    } catch (error) {
      if (error instanceof NotConnectedError) return undefined; // disconnected meanwhile
      return error instanceof ReconnectRequiredError ? "refused" : "failed";
    }
  }

  function isDue(status: RetailerStatus, withinMs: number | undefined): boolean {
    const now = clock();
    return status.refusedAt === undefined && isDueWithin(status, now, withinMs, renewEarlyMs);
  }

  function isHeldBack(held: HeldTokens, stored: TokenSet): boolean {
    return backOff.early(stored.domainPrefix) || isLimited(stored, clock()) || held.isTooEarly(stored);
  }
}

/**
 * Tries for a minute to save a rotated refresh token that the store did not save, also after the run was stopped: only
 * this process has it, and it may end after the report. Meanwhile no other renewal starts, because it could not be
 * saved either.
 */
async function isSavedAtLast(held: HeldTokens): Promise<boolean> {
  for (let tries = 0; held.isUnsaved && tries < SAVE_TRIES; tries += 1) {
    await sleep(SAVE_AGAIN_AFTER_MS);
    await held.saveAgain();
  }
  return !held.isUnsaved;
}
