import type { Lock, RetailPos } from "@retail-pos/core";
import type { Records } from "./records.js";

/**
 * Joining and leaving a store. A store has one set of tokens, however many people have it, so two rules hold:
 *
 * - A membership is written before the store's tokens are kept.
 * - The last member who leaves removes the tokens first and their membership last, and no one can join meanwhile.
 *
 * So a person who leaves never removes the fresh tokens of another. If the process is killed between two steps, a
 * membership without tokens is left: its owner connects or disconnects the store once more.
 *
 * @param lock that of the tokens, which holds in every process.
 */
export function memberships(client: Pick<RetailPos, "disconnect">, records: Records, lock: Lock) {
  const locked = <T>(store: string, work: () => Promise<T>) => lock(`members of ${store}`, work);
  return {
    /** Somebody connected a store. To be called before its tokens are kept. */
    join: (person: string, store: string) => locked(store, async () => records.addMembership(person, store)),

    /** Somebody disconnects a store. The last member takes its tokens along. */
    leave: (person: string, store: string) =>
      locked(store, async () => {
        if (!records.storeOf(person, store)) return; // left in another tab
        if (records.countMembers(store) > 1) return records.removeMembership(person, store);
        await client.disconnect(store);
        records.removeStore(store);
      }),

    /** Removes the tokens of a store without members: it was disconnected in one tab and connected in another. */
    sweep: (store: string) =>
      locked(store, async () => {
        if (records.countMembers(store) > 0) return false;
        await client.disconnect(store);
        return true;
      }),
  };
}
