import { refresh } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

// By somebody who has met a thundering herd before: callers of one retailer in one process share one renewal.
export default {
  name: "promise map",
  create({ pool, table, marginMs, ...application }) {
    const tokens = tokenTable(pool, table);
    const renewing = new Map();

    async function bearer(retailer) {
      const held = await tokens.load(retailer);
      if (Date.now() < held.expiresAt - marginMs) return held.accessToken;
      let renewal = renewing.get(retailer);
      if (!renewal) {
        renewal = renew(retailer, held).finally(() => renewing.delete(retailer));
        renewing.set(retailer, renewal);
      }
      return renewal;
    }

    async function renew(retailer, { refreshToken }) {
      const renewed = await refresh(application, retailer, refreshToken);
      await tokens.save(retailer, renewed);
      return renewed.accessToken;
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
