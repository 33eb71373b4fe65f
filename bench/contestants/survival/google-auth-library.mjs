import { OAuth2Client } from "google-auth-library";
import { tokenTable } from "./token-table.mjs";

// As its documents show: a client for each user, whose event says which tokens to keep.
export default {
  name: "google-auth-library",
  create({ pool, table, marginMs, tokenUrl, clientId, clientSecret }) {
    const tokens = tokenTable(pool, table);

    async function bearer(retailer) {
      const held = await tokens.load(retailer);
      const client = new OAuth2Client({
        clientId,
        clientSecret,
        endpoints: { oauth2TokenUrl: tokenUrl(retailer) },
        eagerRefreshThresholdMillis: marginMs,
      });
      client.setCredentials({
        access_token: held.accessToken,
        refresh_token: held.refreshToken,
        expiry_date: held.expiresAt,
      });
      let saving;
      client.on("tokens", ({ access_token, refresh_token, expiry_date }) => {
        saving = tokens.save(retailer, {
          accessToken: access_token,
          refreshToken: refresh_token ?? held.refreshToken,
          expiresAt: expiry_date,
        });
      });
      const { token } = await client.getAccessToken();
      await saving;
      return token;
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
