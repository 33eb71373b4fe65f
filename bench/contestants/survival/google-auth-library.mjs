import { OAuth2Client } from "google-auth-library";
import { tokenTable } from "./token-table.mjs";

// As its documents show: a client for each user, which keeps its tokens in memory, lets callers share a refresh, and
// whose event says which tokens to keep.
export default {
  name: "google-auth-library",
  create({ pool, table, marginMs, tokenUrl, clientId, clientSecret }) {
    const tokens = tokenTable(pool, table);
    const clients = new Map();
    const saving = new Map();

    async function bearer(retailer) {
      const client = clientOf(retailer);
      if (isLive(client, marginMs)) return client.credentials.access_token;
      try {
        await use(retailer, client);
        const { token } = await client.getAccessToken();
        await saving.get(retailer);
        return token;
      } catch (error) {
        await use(retailer, client); // another process was first, or it lives for a moment more
        if (isLive(client, 0)) return client.credentials.access_token;
        throw error;
      }
    }

    /** The kept tokens, unless the client has newer ones by now. The client itself keeps its first refresh token. */
    async function use(retailer, client) {
      const { accessToken, refreshToken, expiresAt } = await tokens.load(retailer);
      if (expiresAt < (client.credentials.expiry_date ?? 0)) return;
      client.setCredentials({
        access_token: accessToken,
        refresh_token: refreshToken,
        expiry_date: expiresAt,
      });
    }

    function isLive({ credentials }, withinMs) {
      return Date.now() < (credentials.expiry_date ?? 0) - withinMs;
    }

    function clientOf(retailer) {
      if (!clients.has(retailer)) clients.set(retailer, newClient(retailer));
      return clients.get(retailer);
    }

    function newClient(retailer) {
      const client = new OAuth2Client({
        clientId,
        clientSecret,
        endpoints: { oauth2TokenUrl: tokenUrl(retailer) },
        eagerRefreshThresholdMillis: marginMs,
      });
      return client.on("tokens", ({ access_token, refresh_token, expiry_date }) => {
        const saved = tokens.save(retailer, {
          accessToken: access_token,
          refreshToken: refresh_token ?? client.credentials.refresh_token,
          expiresAt: expiry_date,
        });
        saving.set(retailer, saved);
        saved.catch(() => {}); // whoever waits for it gets the error
      });
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
