import { checkSignal } from "../platform/abort.js";
import type { Application } from "../tokens/application.js";
import type { KnownRetailers } from "../tokens/known-retailers.js";
import type { Renewals } from "../tokens/renewals.js";
import { pagesThrough, shuffled } from "./all-retailers.js";
import { dueRetailers } from "./due-retailers.js";

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
  /** Renewed by this run, and saved; also if the answer came after `timeoutMs`. */
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

const CONCURRENCY = 8;
const MOST_AT_ONCE = 1000;
const NAMES = ["withinMs", "concurrency", "signal"];

/** Renews every retailer in the store that is due; safe in any number of processes at once (behaviour 14). */
export function dueRenewals(
  app: Application,
  retailers: KnownRetailers,
  renewals: Renewals,
): (ask?: RenewDueAsk) => Promise<RenewDueReport> {
  const { store, events } = app;
  const { isDue, renewIfDue } = dueRetailers(app, renewals);

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
        const held = retailers.visit(status.domainPrefix);
        const outcome = await renewIfDue(held, withinMs, () => signal?.aborted ?? false);
        retailers.leave(held); // a million retailers pass through here
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
