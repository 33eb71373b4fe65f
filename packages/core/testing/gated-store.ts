import { memoryStore, type TokenStore } from "../src/index.js";

/** One operation of a store, stopped on its way. */
export interface Stopped {
  /** Resolves when the store has been asked. */
  readonly asked: Promise<void>;
  /** Lets the operation take its effect, unless it has; then lets its answer arrive. */
  goOn(): void;
  /** The answer is lost: the caller gets an error. */
  fail(): void;
}

/** A store whose next operations can be stopped before or after their effect, to play one order of events exactly. */
export interface GatedStore extends TokenStore {
  stop(operation: "load" | "save" | "remove", where: "before its effect" | "after its effect"): Stopped;
}

interface Gate {
  readonly where: string;
  readonly passed: Promise<void>;
  readonly asked: () => void;
}

export function gatedStore(inner: TokenStore = memoryStore()): GatedStore {
  const gates = new Map<string, Gate[]>();

  async function through<T>(operation: string, act: () => Promise<T>): Promise<T> {
    const gate = gates.get(operation)?.shift();
    if (!gate) return act();
    if (gate.where === "before its effect") {
      gate.asked();
      await gate.passed;
      return act();
    }
    const answer = await act();
    gate.asked();
    await gate.passed;
    return answer;
  }

  return {
    load: (domainPrefix) => through("load", () => inner.load(domainPrefix)),
    save: (next, replacing) => through("save", () => inner.save(next, replacing)),
    remove: (domainPrefix) => through("remove", () => inner.remove(domainPrefix)),
    stop(operation, where) {
      let [goOn, fail, wasAsked] = [() => {}, () => {}, () => {}];
      const passed = new Promise<void>((resolve, reject) => {
        goOn = resolve;
        fail = () => reject(new Error("the store's answer was lost"));
      });
      passed.catch(() => {});
      const asked = new Promise<void>((resolve) => {
        wasAsked = resolve;
      });
      gates.set(operation, [...(gates.get(operation) ?? []), { where, passed, asked: () => wasAsked() }]);
      return { asked, goOn: () => goOn(), fail: () => fail() };
    },
  };
}
