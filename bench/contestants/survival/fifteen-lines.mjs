import { refresh } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

// What the README of most services suggests.
export default {
  name: "fifteen lines",
  create({ pool, table, marginMs, ...application }) {
    const tokens = tokenTable(pool, table);

    async function bearer(retailer) {
      const held = await tokens.load(retailer);
      if (Date.now() < held.expiresAt - marginMs) return held.accessToken;
      try {
        const renewed = await refresh(application, retailer, held.refreshToken);
        await tokens.save(retailer, renewed);
        return renewed.accessToken;
      } catch (error) {
        const last = await tokens.load(retailer); // somebody else was first, or it lives for a moment more
        if (Date.now() < last.expiresAt) return last.accessToken;
        throw error;
      }
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
