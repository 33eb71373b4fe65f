import type { DomainPrefix, TokenStore } from "@retail-pos/core";
import { retailersIn } from "@retail-pos/core/authoring";
import { loadApplication } from "../stores/application-module.js";
import { type CheckedStore, checkedStore } from "../stores/checked-store.js";
import { copyRetailer } from "../stores/copying.js";
import { forEachRetailer } from "../stores/fleet.js";
import { FAILED, type Outcomes, outcomes } from "../stores/tally.js";
import { APPLICATION_FLAGS, readFlags } from "../terminal/arguments.js";
import type { Terminal } from "../terminal/world.js";
import { WrongUse } from "../terminal/wrong-use.js";

export const help = `Usage: retail-pos copy --client <module> [options]

Copies all retailers from one store to another, sealed or not. Run it once while the application
runs, and again after everything that writes to the old store has stopped, until it copies none:
nobody may write to the new store before. Then run it one last time after the application uses the
new store: that brings over what a straggler renewed in the old one. A retailer that was disconnected
in the new store by then is copied once more: disconnect it again. The tokens issued last win; of two
that were issued at the same moment, those of the old store. Retailers that are newer in the new
store, or in that one only, are named.

  --client <module>  your application's module, which exports from and to, two token stores
  --json             one line of JSON for each retailer: domainPrefix, outcome (copied, same, newer,
                     gone, only_in_to, failed), error
  --help             show this

Exit code: 1 if a retailer could not be copied, or the run was stopped. Running it again is harmless.
`;

const labels = {
  copied: "copied",
  same: "the same in both",
  newer: "newer in the new store",
  gone: "disconnected meanwhile",
  only_in_to: "in the new store only: disconnected since they were copied, or logged in there",
  [FAILED]: "failed",
};

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const values = readFlags(args, APPLICATION_FLAGS);
  const { from, to } = await loadApplication(values.client, terminal.signal, "from", "to");
  if (from === to) throw new WrongUse("from and to of the module of --client are one and the same store");
  const told = outcomes({ terminal, json: values.json, labels, named: ["only_in_to", "newer"] });
  const [source, target] = [checkedStore(from), checkedStore(to)];
  try {
    await forEachRetailer(retailersIn(from, terminal.signal), terminal.signal, (domainPrefix) =>
      told.of(domainPrefix, () => copyRetailer(domainPrefix, source, target)),
    );
    // Of an empty store nothing is missing in the other one: more likely the two were swapped.
    if (to.list && isAnySeen(told)) await tellOnlyInTo(to, source, told, terminal);
  } finally {
    await told.sum();
  }
  await told.conclude(advice(told, to));
  return told.count(FAILED) > 0 ? 1 : 0;
}

/** A retailer that was disconnected after the first run is still in the new store: somebody has to be told. */
async function tellOnlyInTo(
  to: TokenStore,
  source: CheckedStore,
  told: Outcomes,
  { signal }: Terminal,
): Promise<void> {
  await forEachRetailer(retailersIn(to, signal), signal, async (domainPrefix: DomainPrefix) => {
    if (told.hasFailed(domainPrefix)) return; // counted already
    const missing = await source.load(domainPrefix).then(
      (stored) => stored === undefined && (async () => "only_in_to"),
      (error: unknown) => () => Promise.reject(error),
    );
    if (missing) await told.of(domainPrefix, missing);
  });
}

/** Whether the old store holds any retailer. */
function isAnySeen({ count }: Outcomes): boolean {
  return ["copied", "same", "newer", "gone", FAILED].some((outcome) => count(outcome) > 0);
}

const AGAIN = "Run it again after everything that writes to the old store has stopped, until it copies none.";
const NONE_LEFT =
  "Nothing was left to copy. If nothing writes to the old store any more, the application may use the new one.";
const DONE =
  "Nothing was left to copy. If the application uses the new store, and nothing writes to the old one any more, this was " +
  "the last run.";

/** A renewal that was under way when its process was told to stop may save its tokens after the run before. */
const LAST_RUN =
  "Once the application uses the new store, run it one last time: that brings over what a straggler renewed in the " +
  "old one.";

function advice(told: Outcomes, to: TokenStore): string {
  const { count } = told;
  if (count(FAILED) > 0) return "Not everything was copied: fix what failed, and run it again.";
  if (!isAnySeen(told)) return "Nothing was found in from. Are the exports from and to swapped?";
  if (count("copied") > 0) return [AGAIN, ...lookAt(told, to), LAST_RUN].join("\n");
  if (count("newer") > 0) return [DONE, ...lookAt(told, to)].join("\n");
  return [NONE_LEFT, ...lookAt(told, to), LAST_RUN].join("\n");
}

/** What an operator has to look at besides. */
function lookAt({ count }: Outcomes, to: TokenStore): string[] {
  if (!to.list) return ["The new store cannot list: whether a retailer is in it only was not checked."];
  const newer =
    "Those that are newer in the new store were renewed or logged in there, if the application uses it already. If it " +
    "does not, the clocks of two processes differ, and the old store may have the tokens that work.";
  const only = "Disconnect those in the new store only, unless they have logged in there.";
  return [...(count("newer") > 0 ? [newer] : []), ...(count("only_in_to") > 0 ? [only] : [])];
}
