import type { DomainPrefix } from "@retail-pos/core";
import { storeAnswer } from "@retail-pos/core/authoring";
import type { SealingStore } from "../stores/application-module.js";
import { checkedStore } from "../stores/checked-store.js";
import { inPasses, type Run } from "../stores/passes.js";

export const help = `Usage: retail-pos reseal --client <module> [options]

Seals all tokens with the first key, so that an older one can be taken out, and opens those that are
under it already. Every process of the application needs the new key in first place before: what an
older process saves is sealed with the old key again.

  --client <module>  your application's module, which exports store, what sealedStore() gave
  --json             one line of JSON for each retailer and pass: domainPrefix, outcome, error
  --help             show this

Exit code: 1 if a record is left that is under another key, or that cannot be opened. Running it
again is harmless.
`;

export const run: Run = inPasses({
  saves: "sealed",
  work: reseal,
  labels: {
    sealed: "under the first key already",
    resealed: "sealed anew",
  },
  toDo: ["resealed", "changed"],
  conclusions: {
    done: 'Everything is under the key "{key}". If no process seals with another one any more, the others can be taken out.',
    empty: "The store is empty: nothing is sealed with any key.",
    failed: "Records are left that could not be sealed anew: keep the keys that they are under.",
    unfinished:
      'Another process still seals with another key than "{key}". Deploy it with that key first, then run this again.',
  },
});

/** Saves the same set, by compare-and-set over itself, so that a renewal at the same moment wins. */
async function reseal(store: SealingStore, domainPrefix: DomainPrefix): Promise<string> {
  const { load, save } = checkedStore(store);
  const set = await load(domainPrefix);
  const key = await storeAnswer("load", domainPrefix, () => store.keyOf(domainPrefix));
  if (!set || key === undefined) return "gone";
  if (key === store.firstKey) return "sealed";
  return (await save(set, set)) ? "resealed" : "changed";
}
