import type { RetailPos } from "@retail-pos/core";
import { hashOf, LIFETIME_MS } from "./pending-login.js";

/** Remembers which states are spent: each finishes one login, in all processes that share the client's store. */
export interface SpentStates {
  /** Whether this process knows the state to be spent. */
  has(state: string): boolean;
  /**
   * Spends a state. Of all who try, one gets `true`.
   *
   * @throws {StoreFailedError} the store could not be asked.
   */
  spend(state: string): Promise<boolean>;
}

/** A state whose start lies in the future, by a clock that was set back, lives for twice the time. */
const SPENT_FOR_MS = 2 * LIFETIME_MS;
/** Per process; the oldest go first. Twenty logins a second for fifteen minutes. */
const MOST_SPENT = 20_000;

/** Asks the client; a client of an older core cannot claim, then this process's own memory decides alone. */
export function spentStates(client: RetailPos): SpentStates {
  const spent = new Set<string>();

  return {
    has: (state) => spent.has(hashOf(state)),
    async spend(state) {
      const key = hashOf(state);
      if (spent.has(key)) return false;
      if (typeof client.claim !== "function") return remember(key);
      const isFirst = (await client.claim(`login/${key}`, SPENT_FOR_MS)) === true;
      remember(key);
      return isFirst;
    },
  };

  function remember(key: string): true {
    const [oldest] = spent;
    if (spent.size >= MOST_SPENT && oldest !== undefined) spent.delete(oldest);
    spent.add(key);
    return true;
  }
}
