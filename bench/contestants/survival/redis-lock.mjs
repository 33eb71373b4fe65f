import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { patiently, refreshWithinLimit } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

/** A killed process holds up the others for so long; a living one extends it. */
const LEASE_MS = 5000;
const WAIT_MS = 30_000;
const OWNED = "if redis.call('GET', KEYS[1]) == ARGV[1] then return";
const RELEASE = `${OWNED} redis.call('DEL', KEYS[1]) end`;
const EXTEND = `${OWNED} redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`;

// By somebody who has lost stores to two processes: a lock in Redis, and the tokens are read again under it.
export default {
  name: "promise map and a lock in Redis",
  create({ pool, table, redis, marginMs, ...application }) {
    const tokens = tokenTable(pool, table);
    const renewing = new Map();
    const kept = new Map();
    const refused = new Map();
    const isLive = (held, withinMs = 0) => held !== undefined && Date.now() < held.expiresAt - withinMs;

    async function bearer(retailer) {
      if (isLive(kept.get(retailer), marginMs)) return kept.get(retailer).accessToken;
      let renewal = renewing.get(retailer);
      if (!renewal) {
        renewal = renew(retailer).finally(() => renewing.delete(retailer));
        renewing.set(retailer, renewal);
      }
      return renewal;
    }

    async function renew(retailer) {
      let held = await tokens.load(retailer);
      if (!isLive(held, marginMs)) held = await locked(retailer, () => patiently(() => renewed(retailer)));
      kept.set(retailer, held);
      return held.accessToken;
    }

    async function renewed(retailer) {
      const held = await tokens.load(retailer);
      if (isLive(held, marginMs)) return held; // another process was first
      const { refreshToken } = held;
      try {
        // Only a login helps: the same refresh token would be refused again.
        if (refreshToken === refused.get(retailer)?.refreshToken) throw refused.get(retailer).error;
        const fresh = await refreshWithinLimit(application, retailer, refreshToken);
        kept.set(retailer, fresh); // for other callers, however long it takes to save it
        await tokens.save(retailer, fresh);
        return fresh;
      } catch (error) {
        if (error.status === 400) refused.set(retailer, { refreshToken, error });
        const last = await tokens.load(retailer); // a lease that ended while its process slept; or it still lives
        if (isLive(last)) return last;
        throw error;
      }
    }

    async function locked(retailer, work) {
      const [key, owner] = [`${table}:lock:${retailer}`, randomUUID()];
      const until = Date.now() + WAIT_MS;
      while (!(await isMine(key, owner, until))) await sleep(50);
      const extending = setInterval(() => {
        redis.eval(EXTEND, 1, key, owner, LEASE_MS).catch(() => {}); // the next one may succeed
      }, LEASE_MS / 4);
      try {
        return await work();
      } finally {
        clearInterval(extending);
        redis.eval(RELEASE, 1, key, owner).catch(() => {}); // then the lease ends; the tokens are saved
      }
    }

    async function isMine(key, owner, until) {
      try {
        return (await redis.set(key, owner, "PX", LEASE_MS, "NX")) === "OK";
      } catch (error) {
        if (Date.now() > until) throw error;
        return (await redis.get(key).catch(() => {})) === owner; // perhaps only the answer was lost
      }
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
