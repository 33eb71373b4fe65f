import { AuthorizationCode } from "simple-oauth2";

// Its configuration names one token host, so there is one client for each retailer, made when the retailer is
// first seen. It does not join renewals: callers share one as in the promise map.
export default {
  name: "simple-oauth2",
  create({ tokenUrl, clientId, clientSecret, tokens, marginMs = 0 }) {
    const held = new Map();
    const renewing = new Map();

    function tokenOf(retailer) {
      const url = new URL(tokenUrl(retailer));
      const client = new AuthorizationCode({
        client: { id: clientId, secret: clientSecret },
        auth: { tokenHost: url.origin, tokenPath: url.pathname },
        options: { authorizationMethod: "body" },
      });
      const { accessToken, refreshToken, expiresAt } = tokens.get(retailer);
      const token = client.createToken({
        access_token: accessToken,
        refresh_token: refreshToken,
        expires_at: new Date(expiresAt),
      });
      held.set(retailer, token);
      return token;
    }

    async function renew(retailer, token) {
      const renewed = await token.refresh();
      held.set(retailer, renewed);
      return renewed;
    }

    return {
      async bearer(retailer) {
        const token = held.get(retailer) ?? tokenOf(retailer);
        if (!token.expired(marginMs / 1000)) return token.token.access_token;
        let renewal = renewing.get(retailer);
        if (!renewal) {
          renewal = renew(retailer, token).finally(() => renewing.delete(retailer));
          renewing.set(retailer, renewal);
        }
        return (await renewal).token.access_token;
      },
    };
  },
};
