import { loadApplication } from "../stores/application-module.js";
import { asked } from "../stores/checked-store.js";
import { inPasses } from "../stores/passes.js";
import { FAILED, outcomes } from "../stores/tally.js";
import { APPLICATION_FLAGS, expectFlagsOnly, readArguments } from "../terminal/arguments.js";
import type { Terminal } from "../terminal/world.js";

export const help = `Usage: retail-pos seal --client <module> [options]

Seals the tokens that were stored before the store was a sealed one, where they are. The application
may run meanwhile, with the sealed store in every process: it refuses each plain record until that is
sealed. Nobody has to log in.

  --client <module>  your application's module, which exports store, what sealedStore() gave
  --json             one line of JSON for each retailer and pass: domainPrefix, outcome, error
  --help             show this

Exit code: 1 if plain records are left. Running it again is harmless.
`;

const labels = {
  sealed: "sealed",
  already: "sealed already",
  changed: "changed meanwhile: the next pass looks at them again",
  gone: "disconnected meanwhile",
  [FAILED]: "failed",
};

const conclusions = {
  done: "Everything is sealed. Nobody has to log in.",
  empty: "The store is empty: nothing is to be sealed.",
  failed: "Records are left that could not be sealed. They are as they were.",
  unfinished:
    "Another process still stores plain tokens. Deploy it with the sealed store first, then run this again.",
};

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, APPLICATION_FLAGS);
  expectFlagsOnly(positionals);
  const { store } = await loadApplication(values.client, terminal.signal, "store");
  const told = outcomes({ terminal, json: values.json, labels });
  const end = await inPasses(
    { store, terminal, told },
    (domainPrefix) => asked("save", domainPrefix, () => store.seal(domainPrefix)),
    ["sealed", "changed"],
  );
  await told.conclude(conclusions[end]);
  return end === "done" || end === "empty" ? 0 : 1;
}
