import { memoryStore, type TokenSet, type TokenStore } from "@retail-pos/core";

/** What may be wrong with a store: `"deaf"` does what it is asked, and its answers are lost. */
export type Trouble = "none" | "unreadable" | "unwritable" | "down" | "deaf";

/** The one store of all processes, which fails when told to. */
export interface SharedStore extends TokenStore {
  /** What it holds, whether or not it can be asked. */
  readonly stored: TokenSet | undefined;
  readonly isReadable: boolean;
  /** In the message of every error of its own. */
  readonly failure: string;
  /** How often it failed so far. */
  readonly failures: number;
  /** How often what it holds has changed. */
  readonly changes: number;
  trouble: Trouble;
  /** Called the moment something is stored or removed outright, not in place of something else. */
  onLogin: (tokens: TokenSet | undefined) => void;
}

const reads: ReadonlySet<Trouble> = new Set<Trouble>(["none", "unwritable"]);
const writes: ReadonlySet<Trouble> = new Set<Trouble>(["none", "unreadable", "deaf"]);

export function sharedStore(): SharedStore {
  const inner = memoryStore();
  let stored: TokenSet | undefined;
  let failures = 0;
  let changes = 0;

  const store: SharedStore = {
    get stored() {
      return stored;
    },
    get isReadable() {
      return reads.has(store.trouble);
    },
    get changes() {
      return changes;
    },
    get failures() {
      return failures;
    },
    failure: "the store is not well",
    trouble: "none",
    onLogin: () => {},
    async load(domainPrefix) {
      if (!store.isReadable) throw fail();
      return inner.load(domainPrefix);
    },
    async save(next, replacing) {
      if (!writes.has(store.trouble)) throw fail();
      const isSaved = await inner.save(next, replacing);
      if (isSaved) [stored, changes] = [next, changes + 1];
      if (isSaved && !replacing) store.onLogin(next);
      if (store.trouble === "deaf") throw fail();
      return isSaved;
    },
    async remove(domainPrefix) {
      if (!writes.has(store.trouble)) throw fail();
      await inner.remove(domainPrefix);
      [stored, changes] = [undefined, changes + 1];
      store.onLogin(undefined);
      if (store.trouble === "deaf") throw fail();
    },
  };
  return store;

  function fail(): Error {
    failures += 1;
    return new Error(`${store.failure}: ${store.trouble}`);
  }
}
