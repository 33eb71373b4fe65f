import { loadApplication } from "../stores/application-module.js";
import { forEachRetailer, retailersIn } from "../stores/fleet.js";
import { firstKeyOf, resealer } from "../stores/resealing.js";
import { FAILED, outcomes } from "../stores/tally.js";
import { APPLICATION_FLAGS, expectFlagsOnly, readArguments } from "../terminal/arguments.js";
import type { Terminal } from "../terminal/world.js";

export const help = `Usage: retail-pos reseal --client <module> [options]

Seals all tokens with the first key, so that an older one can be taken out. Every process of the
application needs the new key in first place before: what an older process saves is sealed with the
old key again.

  --client <module>  a module of yours that exports store, what sealedStore() gave
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

/** The first pass seals, the second finds what was changed meanwhile; more are for a deployment that just ends. */
const MOST_PASSES = 5;

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, APPLICATION_FLAGS);
  expectFlagsOnly(positionals);
  const { store } = await loadApplication(values.client, terminal.signal, "store");
  const { stderr, signal } = terminal;
  const first = await firstKeyOf(store, retailersIn(store, signal));
  if (first === undefined) {
    stderr.write("The store is empty: nothing is sealed with any key.\n");
    return 0;
  }
  const resealRetailer = resealer(store, first);
  const told = outcomes({ terminal, json: values.json, labels });
  for (let passes = 1; passes <= MOST_PASSES; passes += 1) {
    told.restart(`Pass ${passes}`);
    try {
      await forEachRetailer(retailersIn(store, signal), signal, (domainPrefix) =>
        told.of(domainPrefix, () => resealRetailer(domainPrefix)),
      );
    } finally {
      await told.sum();
    }
    const left = told.count("resealed") + told.count("changed");
    if (left > 0) continue;
    if (told.count(FAILED) > 0) {
      await told.conclude(
        "Records are left that could not be sealed anew: keep the keys that they are under.",
      );
      return 1;
    }
    await told.conclude(`Everything is under the key "${first}". The others can be taken out.`);
    return 0;
  }
  await told.conclude(
    `Another process still seals with another key than "${first}". Deploy it with that key first, then run this again.`,
  );
  return 1;
}
