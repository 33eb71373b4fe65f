import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { refresh } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

const LEASE_MS = 10_000;
const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end";

// By somebody who has lost stores to two processes: a lock in Redis, and the tokens are read again under it.
export default {
  name: "promise map and a lock in Redis",
  create({ pool, table, redis, marginMs, ...application }) {
    const tokens = tokenTable(pool, table);
    const renewing = new Map();
    const isLive = ({ expiresAt }) => Date.now() < expiresAt - marginMs;

    async function bearer(retailer) {
      const held = await tokens.load(retailer);
      if (isLive(held)) return held.accessToken;
      let renewal = renewing.get(retailer);
      if (!renewal) {
        renewal = locked(retailer, () => renew(retailer)).finally(() => renewing.delete(retailer));
        renewing.set(retailer, renewal);
      }
      return renewal;
    }

    async function renew(retailer) {
      const held = await tokens.load(retailer);
      if (isLive(held)) return held.accessToken; // another process was first
      const renewed = await refresh(application, retailer, held.refreshToken);
      await tokens.save(retailer, renewed);
      return renewed.accessToken;
    }

    async function locked(retailer, work) {
      const [key, owner] = [`${table}:lock:${retailer}`, randomUUID()];
      while ((await redis.set(key, owner, "PX", LEASE_MS, "NX")) !== "OK") await sleep(50);
      try {
        return await work();
      } finally {
        await redis.eval(RELEASE, 1, key, owner);
      }
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
