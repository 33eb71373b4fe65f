import { storeAnswer } from "@retail-pos/core/authoring";
import { inPasses, type Run } from "../stores/passes.js";

export const help = `Usage: retail-pos unseal --client <module> [options]

The way back: makes sealed tokens plain, where they are, so that sealedStore can be taken out. Nobody
has to log in. Every process of the application needs sealedStore with plain: "write" before: then it
may run meanwhile.

  --client <module>  your application's module, which exports store, what sealedStore() gave
  --json             one line of JSON for each retailer and pass: domainPrefix, outcome, error
  --help             show this

Exit code: 1 if sealed records are left. Running it again is harmless.
`;

export const run: Run = inPasses({
  saves: "plain",
  work: (store, domainPrefix) =>
    storeAnswer("save", domainPrefix, async () => store.unseal?.(domainPrefix) ?? "gone"),
  labels: {
    unsealed: "made plain",
    already: "plain already",
  },
  toDo: ["unsealed", "changed"],
  conclusions: {
    done: "Everything is plain. sealedStore can be taken out.",
    empty: "The store is empty: nothing is sealed.",
    failed:
      "Records are left that could not be opened. They are as they were: keep sealedStore and its keys.",
    unfinished:
      'Another process still stores sealed tokens. Deploy it with plain: "write" first, then run this again.',
  },
});
