import { checkSignal } from "./abort.js";
import { pagesThrough, shuffled } from "./all-retailers.js";
import type { CheckedStore } from "./checked-store.js";
import { isStoreFailure, NotConnectedError, ReconnectRequiredError } from "./errors.js";
import type { HeldTokens } from "./held-tokens.js";
import type { KnownRetailers } from "./known-retailers.js";
import { noteFailure } from "./note-renewal-failure.js";
import type { BackOff } from "./renewal-back-off.js";
import type { Renewals } from "./renewals.js";
import { type RetailerStatus, statusOf } from "./retailer-status.js";
import { sleep } from "./timers.js";
import type { TokenEvents } from "./token-events.js";
import { isDueWithin, isLimited } from "./token-life.js";
import type { TokenSet } from "./token-set.js";

/** Options of one run of `renewDue`. */
export interface RenewDueAsk {
  /** Renew tokens that end within this time, milliseconds; default: when an early renewal may start (behaviour 5). */
  withinMs?: number | undefined;
  /** How many at a time; default 8. */
  concurrency?: number | undefined;
  /** Stops the run: no more renewals start, those under way end, and the report is returned. */
  signal?: AbortSignal | undefined;
}

/** Result of one run of `renewDue`: `due` is the sum of the four that follow it. */
export interface RenewDueReport {
  /** Retailers that the store listed. */
  readonly seen: number;
  /** Those of them whose tokens were due when this run looked at them. */
  readonly due: number;
  /** Renewed by this run, and saved. */
  readonly renewed: number;
  /** The service refused the refresh token: they have to log in again. */
  readonly refused: number;
  /**
   * Not renewed, for another reason; or renewed, and the store did not take it within a minute (`unsaved`). Each was
   * observed, by the process that met the failure: a 429 that another process met counts here too.
   */
  readonly failed: number;
  /** Renewed meanwhile by another process, another run or a caller. */
  readonly elsewhere: number;
  /** Whether a signal stopped the run before its end. */
  readonly stopped: boolean;
}

export interface RenewDueOptions {
  store: CheckedStore;
  retailers: KnownRetailers;
  renewals: Renewals;
  events: TokenEvents;
  backOff: BackOff;
  renewEarlyMs: number;
  clock: () => number;
}

type Outcome = "renewed" | "refused" | "failed" | "elsewhere";

const CONCURRENCY = 8;
const MOST_AT_ONCE = 1000;
const NAMES = ["withinMs", "concurrency", "signal"];
const SAVE_TRIES = 30;
const SAVE_AGAIN_AFTER_MS = 2000;

/** Renews every retailer in the store that is due; safe in any number of processes at once (behaviour 14). */
export function dueRenewals(options: RenewDueOptions): (ask?: RenewDueAsk) => Promise<RenewDueReport> {
  const { store, retailers, renewals, events, backOff, renewEarlyMs, clock } = options;

  return async (ask = {}) => {
    const { withinMs, concurrency, signal } = checked(ask);
    const counts = { seen: 0, due: 0, renewed: 0, refused: 0, failed: 0, elsewhere: 0 };
    const fleet = pagesThrough(store, undefined, events.storeFailed, shuffled);
    let isAtEnd = false;
    let isCut = false;

    /** One of several that take the next retailer when they are done with theirs. */
    async function work(): Promise<void> {
      while (!isAtEnd && !signal?.aborted) {
        const { done, value: status } = await fleet.next();
        if (done) {
          isAtEnd = true;
          return;
        }
        counts.seen += 1;
        if (!isDue(status, withinMs)) continue;
        const outcome = await renewIfDue(status, withinMs, () => signal?.aborted ?? false);
        if (outcome === "cut off") isCut = true;
        if (!outcome || outcome === "cut off") continue;
        counts.due += 1;
        counts[outcome] += 1;
      }
    }

    const ends = await Promise.allSettled(Array.from({ length: concurrency }, work));
    const failure = ends.find((end) => end.status === "rejected");
    if (failure) throw failure.reason;
    return { ...counts, stopped: !isAtEnd || isCut };
  };

  /** Looks at the store once more: a retailer that has gone or was renewed since the page was read is not due. */
  async function renewIfDue(
    { domainPrefix }: RetailerStatus,
    withinMs: number | undefined,
    isStopped: () => boolean,
  ): Promise<Outcome | "cut off" | undefined> {
    if (isStopped()) return "cut off";
    const held = retailers.visit(domainPrefix);
    try {
      const stored = await held.look(held.asked, 0);
      if (!stored || !isDue(statusOf(stored), withinMs) || isHeldBack(stored)) return undefined;
      if (isStopped()) return "cut off";
      return await outcomeOf(held, stored);
    } catch (error) {
      if (!isStoreFailure(error)) noteFailure(held, error, options);
      return "failed";
    } finally {
      retailers.leave(held); // a million retailers pass through here
    }
  }

  async function outcomeOf(held: HeldTokens, stored: TokenSet): Promise<Outcome | undefined> {
    const isJoining = held.renewing !== undefined;
    try {
      const { isIssuedHere } = await renewals.renew(held, stored);
      if (!isIssuedHere || isJoining) return "elsewhere";
      return (await isSavedAtLast(held)) ? "renewed" : "failed";
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

function checked(ask: RenewDueAsk): RenewDueAsk & { concurrency: number } {
  if (typeof ask !== "object" || ask === null) throw new TypeError("renewDue takes an object");
  const unknown = Object.keys(ask).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new TypeError(`renewDue has no option "${unknown}": ${NAMES.join(", ")}`);
  const { withinMs, concurrency = CONCURRENCY, signal } = ask;
  if (withinMs !== undefined && !(typeof withinMs === "number" && withinMs >= 0))
    throw new TypeError("withinMs must be a number of milliseconds, 0 or more");
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MOST_AT_ONCE)
    throw new TypeError(`concurrency must be a whole number from 1 to ${MOST_AT_ONCE}`);
  checkSignal(signal);
  return { withinMs, concurrency, signal };
}
