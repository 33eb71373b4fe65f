import { setTimeout as sleep } from "node:timers/promises";
import {
  allowInsecureRequests,
  ClientSecretPost,
  Configuration,
  customFetch,
  refreshTokenGrant,
} from "openid-client";
import { kept } from "./refresh.mjs";
import { tokenTable } from "./token-table.mjs";

// As its documents show: a refresh token grant; a fetch of one's own sees the answers' headers.
export default {
  name: "openid-client",
  create({ pool, table, marginMs, tokenUrl, clientId, clientSecret }) {
    const tokens = tokenTable(pool, table);
    let limitedUntil = 0;

    async function bearer(retailer) {
      const held = await tokens.load(retailer);
      const limitMs = limitedUntil - Date.now();
      if (Date.now() < held.expiresAt - (limitMs > 0 ? 0 : marginMs)) return held.accessToken;
      if (limitMs > 0) {
        await sleep(limitMs + 2000 * Math.random()); // others wait too
        return bearer(retailer);
      }
      try {
        const answer = await refreshTokenGrant(configurationOf(retailer), held.refreshToken);
        const renewed = kept(answer, held.refreshToken);
        await tokens.save(retailer, renewed);
        return renewed.accessToken;
      } catch (error) {
        const last = await tokens.load(retailer); // another call was first, or it lives for a moment more
        if (Date.now() < last.expiresAt) return last.accessToken;
        throw error;
      }
    }

    function configurationOf(retailer) {
      const token_endpoint = tokenUrl(retailer);
      const server = { issuer: new URL(token_endpoint).origin, token_endpoint };
      const configuration = new Configuration(server, clientId, clientSecret, ClientSecretPost(clientSecret));
      allowInsecureRequests(configuration); // http on this machine
      configuration[customFetch] = async (url, options) => {
        const response = await fetch(url, options);
        if (response.status === 429) limitedUntil = 1000 * Number(response.headers.get("x-ratelimit-reset"));
        return response;
      };
      return configuration;
    }

    return { migrate: tokens.migrate, logIn: tokens.save, bearer };
  },
};
