import { loadApplication } from "../stores/application-module.js";
import { inPasses } from "../stores/passes.js";
import { type ResealOutcome, resealer } from "../stores/resealing.js";
import { FAILED, outcomes } from "../stores/tally.js";
import { APPLICATION_FLAGS, expectFlagsOnly, readArguments } from "../terminal/arguments.js";
import type { Terminal } from "../terminal/world.js";

export const help = `Usage: retail-pos reseal --client <module> [options]

Seals all tokens with the first key, so that an older one can be taken out. Every process of the
application needs the new key in first place before: what an older process saves is sealed with the
old key again.

  --client <module>  your application's module, which exports store, what sealedStore() gave
  --json             one line of JSON for each retailer and pass: domainPrefix, outcome, error
  --help             show this

Exit code: 1 if records are left under another key. Running it again is harmless.
`;

const labels = {
  sealed: "under the first key already",
  resealed: "sealed anew",
  changed: "changed meanwhile: the next pass looks at them again",
  gone: "disconnected meanwhile",
  [FAILED]: "failed",
};

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, APPLICATION_FLAGS);
  expectFlagsOnly(positionals);
  const { store } = await loadApplication(values.client, terminal.signal, "store");
  const told = outcomes({ terminal, json: values.json, labels });
  const toDo: ResealOutcome[] = ["resealed", "changed"];
  const end = await inPasses({ store, terminal, told }, resealer(store), toDo);
  const first = store.firstKey;
  const conclusions = {
    done: `Everything is under the key "${first}". The others can be taken out.`,
    empty: "The store is empty: nothing is sealed with any key.",
    failed: "Records are left that could not be sealed anew: keep the keys that they are under.",
    unfinished: `Another process still seals with another key than "${first}". Deploy it with that key first, then run this again.`,
  };
  await told.conclude(conclusions[end]);
  return end === "done" || end === "empty" ? 0 : 1;
}
