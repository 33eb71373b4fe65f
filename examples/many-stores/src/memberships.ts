import type { Lock, RetailPos } from "@retail-pos/core";
import type { Records } from "./records.js";

export interface Memberships {
  /** Somebody connected a store. To be called before its tokens are kept. */
  join(personId: string, domainPrefix: string): Promise<void>;
  /** Somebody disconnects a store of theirs. The last one takes its tokens along. */
  leave(personId: string, domainPrefix: string): Promise<void>;
  /** Forgets a store that nobody has, with its tokens if there are any. Says whether it did. */
  sweep(domainPrefix: string): Promise<boolean>;
  /** Does something for a store, unless nobody has it any more. */
  whileConnected(domainPrefix: string, work: () => Promise<void>): Promise<void>;
}

/**
 * Who may act for which store. A store has one set of tokens, however many people have it, so two rules hold:
 *
 * - A membership is written before the store's tokens are kept.
 * - Tokens are removed while nobody can join or leave, if the last one leaves, and before their membership is.
 *
 * So nobody's fresh tokens are removed by somebody else who leaves: either that one sees the new membership, or is done
 * before it is written. And if a process is killed between two steps, what is left is a membership without tokens,
 * which its owner sees and mends by connecting or disconnecting once more.
 *
 * Somebody may disconnect a store in one tab while they connect it in another: their membership goes, and then the
 * tokens come. Nobody is a member, so nobody can use them; the nightly job sweeps them out.
 *
 * @param lock that of the tokens, which holds in every process. No transaction could: the tokens of SQLite are written
 * over a connection of their own, and would wait for it.
 */
export function memberships(
  client: Pick<RetailPos, "disconnect">,
  records: Records,
  lock: Lock,
  clock = Date.now,
): Memberships {
  const alone = <T>(domainPrefix: string, work: () => Promise<T>) => lock(`members of ${domainPrefix}`, work);

  async function forget(domainPrefix: string): Promise<void> {
    await client.disconnect(domainPrefix);
    await records.removeStore(domainPrefix);
  }

  return {
    join: (personId, domainPrefix) =>
      alone(domainPrefix, () => records.addMembership(personId, domainPrefix, clock())),

    leave: (personId, domainPrefix) =>
      alone(domainPrefix, async () => {
        if (!(await records.isMember(personId, domainPrefix))) return; // has left in another tab
        const isLast = (await records.countMembers(domainPrefix)) === 1;
        if (isLast) await forget(domainPrefix);
        else await records.removeMembership(personId, domainPrefix);
      }),

    sweep: (domainPrefix) =>
      alone(domainPrefix, async () => {
        if ((await records.countMembers(domainPrefix)) > 0) return false;
        await forget(domainPrefix);
        return true;
      }),

    whileConnected: (domainPrefix, work) =>
      alone(domainPrefix, async () => {
        if ((await records.countMembers(domainPrefix)) > 0) await work();
      }),
  };
}
