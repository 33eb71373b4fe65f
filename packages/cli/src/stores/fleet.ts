import type { DomainPrefix, RetailerStatus, RetailPos } from "@retail-pos/core";
import { forEachOf } from "@retail-pos/core/authoring";
import { WrongUse } from "../terminal/wrong-use.js";

/** So many retailers are worked on at a time. */
const CONCURRENCY = 16;

/**
 * All retailers of an application's client.
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

/** Runs the work for each retailer, several at a time. */
export function forEachRetailer(
  retailers: AsyncIterable<{ domainPrefix: DomainPrefix }>,
  signal: AbortSignal,
  work: (domainPrefix: DomainPrefix) => Promise<void>,
): Promise<void> {
  return forEachOf(retailers, { concurrency: CONCURRENCY, signal }, ({ domainPrefix }) => work(domainPrefix));
}
