import { patiently, refreshWithinLimit } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

// By somebody who has met a thundering herd before: callers of one retailer in one process share one renewal, and a
// token is kept in memory until it ends.
export default {
  name: "promise map",
  create({ pool, table, marginMs, ...application }) {
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
      const held = await patiently(() => renewed(retailer));
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
        const last = await tokens.load(retailer); // another process was first, or it lives for a moment more
        if (isLive(last)) return last;
        throw error;
      }
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
