import { isRetailPosError } from "@retail-pos/core";
import pLimit from "p-limit";
import type { Parts } from "./parts.js";
import { readName, readProducts } from "./store-api.js";

/** A token that ends within the hour is renewed before it is needed. */
const RENEW_WITHIN_MS = 3_600_000;

/**
 * Pulls the products of all stores. What fails at one store stops no other.
 *
 * @param signal ends the run: calls under way are dropped; a renewal under way is saved first.
 * @throws what stops all of them: our database, or a client secret that the service refuses.
 */
export async function pullAll(
  { client, records, memberships }: Pick<Parts, "client" | "records" | "memberships">,
  storesAtOnce: number,
  signal: AbortSignal,
) {
  await client.renewDue({ withinMs: RENEW_WITHIN_MS, concurrency: storesAtOnce, signal });
  const stores = records.allStores();
  const counts = { pulled: 0, products: 0, refused: 0, unreadable: 0, failed: 0, swept: 0 };
  const limit = pLimit(storesAtOnce);
  await limit.map(stores, pull).finally(() => limit.clearQueue());
  if (!signal.aborted) await sweep();
  return { stores: stores.length, ...counts, isStopped: signal.aborted };

  async function pull(store: string): Promise<void> {
    if (signal.aborted) return;
    try {
      const retailer = client.retailer(store);
      const products = await readProducts(retailer, signal);
      const name = await readName(retailer, signal);
      // A store that was disconnected meanwhile has no row: these change nothing.
      records.savePull(store, products, Date.now());
      if (name) records.nameStore(store, name);
      counts.pulled += 1;
      counts.products += products.length;
    } catch (error) {
      if (signal.aborted) return; // the store did not fail
      if (stopsAll(error)) throw error;
      noteFailure(store, error as Error);
    }
  }

  function noteFailure(store: string, error: Error): void {
    const code = isRetailPosError(error) ? error.code : "";
    if (records.countMembers(store) === 0) return; // disconnected meanwhile
    // Tokens that cannot be read may be good, and the key wrong.
    if (code === "bad_stored_tokens") counts.unreadable += 1;
    else if (code === "not_connected" || code === "reconnect_required") counts.refused += 1;
    else counts.failed += 1;
    records.notePullFailed(store);
    console.warn(`${store} was not pulled: ${error.message}`);
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
