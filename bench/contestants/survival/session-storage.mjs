import { refresh } from "./refresh.mjs";
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
      let session = await sessionStorage.loadSession(retailer);
      if (session.isExpired(marginMs)) {
        session = new Session(retailer, await refresh(application, retailer, session.refreshToken));
        await sessionStorage.storeSession(session);
      }
      return session.accessToken;
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
