import { setImmediate } from "node:timers/promises";
import {
  type DomainPrefix,
  type RetailerStatus,
  type RetailPos,
  retailPos,
  type TokenStore,
} from "@retail-pos/core";
import { WrongUse } from "../terminal/wrong-use.js";

/** So many retailers are worked on at a time. */
const CONCURRENCY = 16;

/** Signals and timeouts wait no longer than this for stores that answer at once. */
const TURN_AFTER_MS = 5;

/**
 * All retailers of a store, page by page, as core goes through them: what is listed is checked, a list that goes round
 * or never answers is an error.
 */
export function retailersIn(store: TokenStore, signal: AbortSignal): AsyncIterable<RetailerStatus> {
  // A client only lists here, and is asked for nothing that these settings are for.
  const settings = {
    baseUrl: "http://localhost/{domain_prefix}",
    clientId: "retail-pos",
    clientSecret: "none",
  };
  return retailPos({ ...settings, store }).retailers({ signal });
}

/**
 * The same of an application's client.
 *
 * @throws {WrongUse} its store cannot list.
 */
export function retailersOf(client: RetailPos, signal: AbortSignal): AsyncIterable<RetailerStatus> {
  try {
    return client.retailers({ signal });
  } catch (error) {
    throw asWrongUse(error);
  }
}

/** A store that cannot list is wrong use of the command; any other error stays as it is. */
export function asWrongUse(error: unknown): unknown {
  const isOfList = error instanceof TypeError && error.message.includes("store has no list()");
  return isOfList ? new WrongUse("the client's store has no list(), which this command needs") : error;
}

/**
 * Runs the work for each retailer, several at a time, with no more than these in memory. After the signal nothing new
 * is started; what is under way ends first, also if something fails.
 *
 * @throws what the iteration or the work throws.
 */
export async function forEachRetailer(
  retailers: AsyncIterable<{ domainPrefix: DomainPrefix }>,
  signal: AbortSignal,
  work: (domainPrefix: DomainPrefix) => Promise<void>,
): Promise<void> {
  const iterator = retailers[Symbol.asyncIterator]();
  const turnIfDue = loopTurns();
  let isFailed = false;

  /** One of several that take the next retailer when they are done with theirs. */
  async function worker(): Promise<void> {
    while (!isFailed) {
      await turnIfDue();
      signal.throwIfAborted();
      const { done, value } = await iterator.next();
      if (done) return;
      await work(value.domainPrefix);
    }
  }

  const failing = async (error: unknown) => {
    isFailed = true;
    throw error;
  };
  const ends = await Promise.allSettled(Array.from({ length: CONCURRENCY }, () => worker().catch(failing)));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure) throw failure.reason;
}

/**
 * Lets the event loop turn every few milliseconds. It does not by itself while stores answer without waiting, as in
 * memory or with SQLite: then neither Ctrl-C nor a timeout would be seen. All workers wait for the same turn, since one
 * that went on would hold it up.
 */
function loopTurns(): () => Promise<void> | undefined {
  let turnedAt = performance.now();
  let turn: Promise<void> | undefined;
  return () => {
    if (turn || performance.now() - turnedAt < TURN_AFTER_MS) return turn;
    turn = setImmediate().then(() => {
      turn = undefined;
      turnedAt = performance.now();
    });
    return turn;
  };
}
