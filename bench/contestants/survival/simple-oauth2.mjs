import { AuthorizationCode } from "simple-oauth2";
import { tokenTable } from "./token-table.mjs";

// As its documents show: make the token from what is kept, ask whether it has expired, refresh it, keep the new one.
export default {
  name: "simple-oauth2",
  create({ pool, table, marginMs, tokenUrl, clientId, clientSecret }) {
    const tokens = tokenTable(pool, table);

    async function bearer(retailer) {
      const { accessToken, refreshToken, expiresAt } = await tokens.load(retailer);
      const token = clientOf(retailer).createToken({
        access_token: accessToken,
        refresh_token: refreshToken,
        expires_at: new Date(expiresAt),
      });
      if (!token.expired(marginMs / 1000)) return accessToken;
      const renewed = (await token.refresh()).token;
      await tokens.save(retailer, {
        accessToken: renewed.access_token,
        refreshToken: renewed.refresh_token ?? refreshToken,
        expiresAt: new Date(renewed.expires_at).getTime(),
      });
      return renewed.access_token;
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
