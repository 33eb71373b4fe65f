import { allowInsecureRequests, ClientSecretPost, Configuration, refreshTokenGrant } from "openid-client";
import { kept } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

export default {
  name: "openid-client",
  create({ pool, table, marginMs, tokenUrl, clientId, clientSecret }) {
    const tokens = tokenTable(pool, table);

    async function bearer(retailer) {
      const held = await tokens.load(retailer);
      if (Date.now() < held.expiresAt - marginMs) return held.accessToken;
      const token_endpoint = tokenUrl(retailer);
      const server = { issuer: new URL(token_endpoint).origin, token_endpoint };
      const configuration = new Configuration(server, clientId, clientSecret, ClientSecretPost(clientSecret));
      allowInsecureRequests(configuration); // http on this machine
      const renewed = kept(await refreshTokenGrant(configuration, held.refreshToken), held.refreshToken);
      await tokens.save(retailer, renewed);
      return renewed.accessToken;
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
