import { sleep } from "../platform/timers.js";
import type { Application } from "../tokens/application.js";
import type { HeldTokens } from "../tokens/held-tokens.js";
import { noteFailure } from "../tokens/renewal-failures.js";
import type { Renewals } from "../tokens/renewals.js";
import { isStoreFailure, NotConnectedError, ReconnectRequiredError } from "../vocabulary/errors.js";
import { type RetailerStatus, statusOf } from "../vocabulary/retailer-status.js";
import { isDueWithin, isLimited } from "../vocabulary/token-life.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** What a run of `renewDue` does with one retailer. */
export interface DueRetailers {
  isDue(status: RetailerStatus, withinMs: number | undefined): boolean;
  /** `undefined`: nothing was due. */
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
   * A job ends with its report, and the service may have ended the old refresh token: an answer that comes after the
   * deadline has the new one. So the run waits for it, as for the store that does not take what was renewed.
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

  /** Looks at the store once more: a retailer that has gone or was renewed since the page was read is not due. */
  async function tryToRenew(
    held: HeldTokens,
    withinMs: number | undefined,
    isStopped: () => boolean,
  ): Promise<Outcome | "cut off" | undefined> {
    try {
      const stored = await held.look(held.asked, 0);
      if (!stored || !isDue(statusOf(stored), withinMs) || isHeldBack(stored)) return undefined;
      if (isStopped()) return "cut off";
      return await outcomeOf(held, stored);
    } catch (error) {
      if (!isStoreFailure(error)) noteFailure(held, error, app);
      return "failed";
    }
  }

  async function outcomeOf(held: HeldTokens, stored: TokenSet): Promise<Outcome | undefined> {
    const isJoining = held.renewing !== undefined;
    try {
      const { isIssuedHere } = await renewals.renew(held, stored);
      return !isIssuedHere || isJoining ? "elsewhere" : "renewed";
    } catch (error) {
      if (error instanceof NotConnectedError) return undefined; // gone: nothing was due
      return error instanceof ReconnectRequiredError ? "refused" : "failed";
    }
  }

  function isDue(status: RetailerStatus, withinMs: number | undefined): boolean {
    const now = clock();
    return status.refusedAt === undefined && isDueWithin(status, now, withinMs, renewEarlyMs);
  }

  function isHeldBack(stored: TokenSet): boolean {
    return backOff.early(stored.domainPrefix) || isLimited(stored, clock());
  }
}

/**
 * A job ends with its report, and its process alone may hold a rotated refresh token that the store did not take. So it
 * goes on trying for a minute, also once it is stopped, and starts no other renewal meanwhile: that one could not be
 * saved either.
 */
async function isSavedAtLast(held: HeldTokens): Promise<boolean> {
  for (let tries = 0; held.isUnsaved && tries < SAVE_TRIES; tries += 1) {
    await sleep(SAVE_AGAIN_AFTER_MS);
    await held.saveAgain();
  }
  return !held.isUnsaved;
}
