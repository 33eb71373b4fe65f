import { checkSignal } from "../platform/abort.js";
import type { Deps } from "../tokens/deps.js";
import type { KnownRetailers } from "../tokens/known-retailers.js";
import type { Renewals } from "../tokens/renewals.js";
import { isInstant } from "../vocabulary/token-set.js";
import { pagesThrough, shuffled } from "./all-retailers.js";
import { type Due, dueRetailers } from "./due-retailers.js";
import { forEachOf } from "./for-each.js";

/** Options for one run of `renewDue`. */
export interface RenewDueAsk {
  /** Renews tokens that expire within this time, milliseconds; default: if an early renewal may start (behaviour 5). */
  withinMs?: number | undefined;
  /**
   * Renews every token set that was issued before this instant, epoch milliseconds, however long it is valid: after a
   * leak. Then `due` also counts the retailers whose refresh token the service refused before, or that have to wait
   * after a failure or a 429: they count as `refused` or `failed`. Not together with `withinMs`.
   */
  issuedBefore?: number | undefined;
  /** How many retailers at a time, 1 to 1000; default 8. */
  concurrency?: number | undefined;
  /** Stops the run: it starts no more renewals, waits for those that it started, and returns its report. */
  signal?: AbortSignal | undefined;
}

/** The result of one run of `renewDue`. `due` = `renewed` + `refused` + `failed` + `elsewhere`. */
export interface RenewDueReport {
  /** How many retailers the store listed. */
  readonly seen: number;
  /** How many of them had due tokens when this run loaded them. */
  readonly due: number;
  /** Renewed by this run and saved, also if the answer came after `timeoutMs`. */
  readonly renewed: number;
  /** The service refused the refresh token: these retailers have to log in again. */
  readonly refused: number;
  /**
   * Not renewed for another reason; or renewed, but the store did not save it within a minute (`unsaved`). `observe`
   * was told of each failure in the process that met it: a 429 that another process met counts here too.
   */
  readonly failed: number;
  /** Renewed meanwhile by another process, another run or a caller. */
  readonly elsewhere: number;
  /** Whether a signal stopped the run before its end. */
  readonly stopped: boolean;
}

const CONCURRENCY = 8;
const MOST_AT_ONCE = 1000;
const NAMES = ["withinMs", "issuedBefore", "concurrency", "signal"];

/** Renews every due retailer in the store. Any number of processes may do so at once (behaviour 14). */
export function dueRenewals(
  deps: Deps,
  retailers: KnownRetailers,
  renewals: Renewals,
): (ask?: RenewDueAsk) => Promise<RenewDueReport> {
  const { store, tell } = deps;
  return async (ask = {}) => {
    const { concurrency, ...due } = checkRenewDueAsk(ask);
    const { signal } = due;
    const { isDue, renewIfDue } = dueRetailers(deps, renewals, due);
    const counts = { seen: 0, due: 0, renewed: 0, refused: 0, failed: 0, elsewhere: 0 };
    const fleet = pagesThrough(store, signal, tell, shuffled);
    let isCut = false;
    const ended = forEachOf(fleet, { concurrency, signal }, async (status) => {
      counts.seen += 1;
      if (!isDue(status)) return;
      const cached = retailers.visit(status.domainPrefix);
      const outcome = await renewIfDue(cached);
      retailers.leave(cached); // or a run over a million retailers would cache them all
      if (outcome === "cut off") isCut = true;
      if (!outcome || outcome === "cut off") return;
      counts.due += 1;
      counts[outcome] += 1;
    });
    await ended.catch((error) => {
      if (!signal?.aborted || error !== signal.reason) throw error;
      isCut = true;
    });
    return { ...counts, stopped: isCut };
  };
}

function checkRenewDueAsk(ask: RenewDueAsk): Due & { concurrency: number } {
  if (typeof ask !== "object" || ask === null) throw new TypeError("renewDue takes an object");
  const unknown = Object.keys(ask).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new TypeError(`renewDue has no option "${unknown}": ${NAMES.join(", ")}`);
  const { withinMs, issuedBefore, concurrency = CONCURRENCY, signal } = ask;
  if (withinMs !== undefined && !(typeof withinMs === "number" && withinMs >= 0))
    throw new TypeError("withinMs must be a number of milliseconds, 0 or more");
  if (issuedBefore !== undefined && !isInstant(issuedBefore))
    throw new TypeError("issuedBefore must be an instant in epoch milliseconds");
  if (withinMs !== undefined && issuedBefore !== undefined)
    throw new TypeError("renewDue takes withinMs or issuedBefore, not both");
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MOST_AT_ONCE)
    throw new TypeError(`concurrency must be a whole number from 1 to ${MOST_AT_ONCE}`);
  checkSignal(signal);
  return { withinMs, issuedBefore, concurrency, signal };
}
