import { refreshWithinLimit } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

/** A store's session as Shopify's API library keeps it. */
class Session {
  constructor(shop, tokens) {
    Object.assign(this, { shop, ...tokens });
  }

  isExpired(withinMs) {
    return Date.now() >= this.expiresAt - withinMs;
  }
}

// Shopify's pattern: the session is loaded for each request, and renewed and stored when it is used after its end.
export default {
  name: "session storage as Shopify's",
  create({ pool, table, marginMs, ...application }) {
    const tokens = tokenTable(pool, table);
    const sessionStorage = {
      loadSession: async (shop) => new Session(shop, await tokens.load(shop)),
      storeSession: (session) => tokens.save(session.shop, session),
    };

    async function bearer(retailer) {
      const session = await sessionStorage.loadSession(retailer);
      if (!session.isExpired(marginMs)) return session.accessToken;
      try {
        const tokens = await refreshWithinLimit(application, retailer, session.refreshToken);
        const renewed = new Session(retailer, tokens);
        await sessionStorage.storeSession(renewed);
        return renewed.accessToken;
      } catch (error) {
        const last = await sessionStorage.loadSession(retailer); // another request was first, or it still lives
        if (!last.isExpired(0)) return last.accessToken;
        throw error;
      }
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
