import { isRetailPosError, type RetailPos } from "@retail-pos/core";
import pLimit from "p-limit";
import type { Memberships } from "./memberships.js";
import type { Records } from "./records.js";
import { readName, readProducts } from "./store-api.js";

export interface PullAllOptions {
  client: Pick<RetailPos, "renewDue" | "retailer" | "retailers">;
  records: Records;
  memberships: Memberships;
  /** From how many stores at a time. */
  storesAtOnce: number;
  /** Ends the run: calls under way are dropped; a renewal under way is saved first. */
  signal: AbortSignal;
}

/** A token that ends within the hour is renewed before it is needed. */
const RENEW_WITHIN_MS = 3_600_000;

/**
 * Pulls the products of all stores. What fails at one store stops no other.
 *
 * @throws what stops all of them: our database, or a client secret that the service refuses.
 */
export async function pullAll({ client, records, memberships, storesAtOnce, signal }: PullAllOptions) {
  const counts = { stores: 0, pulled: 0, products: 0, refused: 0, unreadable: 0, failed: 0, swept: 0 };
  const failing = new AbortController();
  const ended = AbortSignal.any([signal, failing.signal]);

  await client.renewDue({ withinMs: RENEW_WITHIN_MS, concurrency: storesAtOnce, signal });
  const stores = records.allStores();
  counts.stores = stores.length;
  const limit = pLimit(storesAtOnce);
  const ends = await Promise.allSettled(stores.map((store) => limit(pull, store)));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure) throw failure.reason;
  if (!signal.aborted) await sweep();
  return { ...counts, isStopped: signal.aborted };

  async function pull(store: string): Promise<void> {
    if (ended.aborted) return;
    try {
      const retailer = client.retailer(store);
      const products = await readProducts(retailer, ended);
      const name = await readName(retailer, ended);
      // A store that was disconnected meanwhile has no row: these change nothing.
      records.savePull(store, products, Date.now());
      if (name !== undefined) records.nameStore(store, name);
      counts.pulled += 1;
      counts.products += products.length;
    } catch (error) {
      if (ended.aborted) return; // the store did not fail
      if (stopsAll(error)) {
        failing.abort();
        throw error;
      }
      noteFailure(store, error);
    }
  }

  function noteFailure(store: string, error: unknown): void {
    const { code = "" } = isRetailPosError(error) ? error : {};
    const isRefused = code === "not_connected" || code === "reconnect_required";
    if (records.countMembers(store) === 0) return; // disconnected meanwhile
    // Tokens that cannot be read may be good, and the key wrong.
    counts[isRefused ? "refused" : code === "bad_stored_tokens" ? "unreadable" : "failed"] += 1;
    records.notePullFailed(store);
    console.warn(`${store} was not pulled: ${error instanceof Error ? error.message : error}`);
  }

  async function sweep(): Promise<void> {
    for await (const { domainPrefix } of client.retailers({ signal }))
      if (records.countMembers(domainPrefix) === 0 && (await memberships.sweep(domainPrefix)))
        counts.swept += 1;
  }
}

/** Whether every other store would fail as well. */
function stopsAll(error: unknown): boolean {
  if (isRetailPosError(error)) return error.code === "store_failed" || error.code === "client_refused";
  return error instanceof Error && error.name === "SqliteError";
}
