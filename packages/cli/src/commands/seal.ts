import { storeAnswer } from "@retail-pos/core/authoring";
import { inPasses, type Run } from "../stores/passes.js";

export const help = `Usage: retail-pos seal --client <module> [options]

Seals the tokens that were stored before the store was a sealed one, where they are, and opens those
that are sealed already, to see that your keys open them. Nobody has to log in. Every process of the
application needs sealedStore with plain: "read" before: then it may run meanwhile.

  --client <module>  your application's module, which exports store, what sealedStore() gave
  --json             one line of JSON for each retailer and pass: domainPrefix, outcome, error
  --help             show this

Exit code: 1 if a record is left that is plain, or that cannot be opened. Running it again is
harmless.
`;

export const run: Run = inPasses({
  saves: "sealed",
  work: (store, domainPrefix) => storeAnswer("save", domainPrefix, () => store.seal(domainPrefix)),
  labels: {
    sealed: "sealed",
    already: "sealed already",
  },
  toDo: ["sealed", "changed"],
  conclusions: {
    done: "Everything is sealed. Nobody has to log in.",
    empty: "The store is empty: nothing is to be sealed.",
    failed: "Records are left that could not be opened, or could not be sealed. They are as they were.",
    unfinished:
      'Another process still stores plain tokens. Deploy it with the sealed store and plain: "read" first, then run this again.',
  },
});
