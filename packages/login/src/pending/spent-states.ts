import type { RetailPos } from "@retail-pos/core";
import { BoundedMap } from "@retail-pos/core/authoring";
import { applicationOf } from "../values/application.js";
import { hashOf } from "../values/bytes.js";
import { isInTime, LIFETIME_MS, type PendingLogin } from "./pending-logins.js";

/** Remembers which states are spent: each finishes one login, in all processes that share the client's store. */
export interface SpentStates {
  /** Whether this process knows the state to be spent. */
  has(state: string): boolean;
  /**
   * Spends a state. Of all that try, one gets `true`.
   *
   * @throws {StoreFailedError} the store could not be asked.
   */
  spend(state: string): Promise<boolean>;
}

/** If the clock was set back, a state starts in the future and lives for up to twice the time. */
const SPENT_FOR_MS = 2 * LIFETIME_MS;
/** Per process; the oldest go first. Twenty logins a second for fifteen minutes. */
const MOST_SPENT = 20_000;

const ofClient = new WeakMap<RetailPos, SpentStates>();

/** The states that the logins of one client have spent; the same for every flow and strategy of that client. */
export function spentStates(client: RetailPos): SpentStates {
  const known = ofClient.get(client) ?? newSpentStates(client);
  ofClient.set(client, known);
  return known;
}

/** Whether a login may still be finished: no callback has spent it, and it is not too old. */
export function isOpen(login: PendingLogin, spent: SpentStates, now: number): boolean {
  return !spent.has(login.state) && isInTime(login, now);
}

function newSpentStates(client: RetailPos): SpentStates {
  const spent = new BoundedMap<string, true>(MOST_SPENT);
  const { identity } = applicationOf(client);

  return {
    has: (state) => spent.has(state),
    async spend(state) {
      if (spent.has(state)) return false;
      const hash = await hashOf(`${identity}\n${state}`); // a store may be shared by two services, for staging
      const isFirst = (await client.claim(`login/${hash}`, SPENT_FOR_MS)) === true;
      spent.set(state, true);
      return isFirst;
    },
  };
}
