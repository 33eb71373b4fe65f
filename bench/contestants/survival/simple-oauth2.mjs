import { AuthorizationCode } from "simple-oauth2";
import { tokenTable } from "./token-table.mjs";

// As its documents show: make the token from what is kept, ask whether it has expired, refresh it, keep the new one; a
// failed refresh is caught, and the token at hand is used.
export default {
  name: "simple-oauth2",
  create({ pool, table, marginMs, tokenUrl, clientId, clientSecret }) {
    const tokens = tokenTable(pool, table);
    let limited = { until: 0 };

    async function bearer(retailer) {
      let token = await persisted(retailer);
      if (token.expired(marginMs / 1000)) {
        try {
          if (Date.now() < limited.until) throw limited.error;
          const refreshed = await token.refresh();
          await persist(retailer, refreshed.token, token.token);
          token = refreshed;
        } catch (error) {
          if (error.output?.statusCode === 429)
            limited = { error, until: 1000 * Number(error.data.headers["x-ratelimit-reset"]) };
          token = await persisted(retailer); // another call was first, or it lives for a moment more
          if (token.expired()) throw error;
        }
      }
      return token.token.access_token;
    }

    async function persisted(retailer) {
      const { accessToken, refreshToken, expiresAt } = await tokens.load(retailer);
      return clientOf(retailer).createToken({
        access_token: accessToken,
        refresh_token: refreshToken,
        expires_at: new Date(expiresAt),
      });
    }

    function persist(retailer, { access_token, refresh_token, expires_at }, before) {
      return tokens.save(retailer, {
        accessToken: access_token,
        refreshToken: refresh_token ?? before.refresh_token,
        expiresAt: new Date(expires_at).getTime(),
      });
    }

    function clientOf(retailer) {
      const url = new URL(tokenUrl(retailer));
      return new AuthorizationCode({
        client: { id: clientId, secret: clientSecret },
        auth: { tokenHost: url.origin, tokenPath: url.pathname },
        options: { authorizationMethod: "body" },
      });
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
