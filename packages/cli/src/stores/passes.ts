import type { DomainPrefix, TokenStore } from "@retail-pos/core";
import type { Terminal } from "../terminal/world.js";
import { forEachRetailer, retailersIn } from "./fleet.js";
import { FAILED, type Outcomes } from "./tally.js";

/** The first pass works, the second finds what was changed meanwhile; more are for a deployment that just ends. */
const MOST_PASSES = 5;

/** How it ended. `unfinished`: the last pass found something to do too. */
export type PassesEnd = "done" | "empty" | "failed" | "unfinished";

/**
 * Goes through a store, again and again, until a full pass finds nothing to do.
 *
 * @param work what is done for one retailer, and tells its outcome.
 * @param toDo the outcomes that say there was something to do.
 */
export async function inPasses<Outcome extends string>(
  { store, terminal, told }: { store: TokenStore; terminal: Terminal; told: Outcomes },
  work: (domainPrefix: DomainPrefix) => Promise<Outcome>,
  toDo: readonly Outcome[],
): Promise<PassesEnd> {
  const { signal } = terminal;
  for (let passes = 1; passes <= MOST_PASSES; passes += 1) {
    told.restart(`Pass ${passes}`);
    let isEmpty = true;
    try {
      await forEachRetailer(retailersIn(store, signal), signal, (domainPrefix) => {
        isEmpty = false;
        return told.of(domainPrefix, () => work(domainPrefix));
      });
    } finally {
      if (!isEmpty) await told.sum();
    }
    if (isEmpty) return "empty";
    if (toDo.some((outcome) => told.count(outcome) > 0)) continue;
    return told.count(FAILED) > 0 ? "failed" : "done";
  }
  return "unfinished";
}
