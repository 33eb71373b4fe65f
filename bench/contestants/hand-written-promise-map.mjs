// The same by somebody who has met a thundering herd before: callers of one retailer share one renewal.
export default {
  name: "hand-written, promise map",
  create({ tokenUrl, clientId, clientSecret, tokens, marginMs = 0 }) {
    const renewing = new Map();

    async function bearer(retailer) {
      const held = tokens.get(retailer);
      if (Date.now() < held.expiresAt - marginMs) return held.accessToken;
      let renewal = renewing.get(retailer);
      if (!renewal) {
        renewal = renew(retailer, held).finally(() => renewing.delete(retailer));
        renewing.set(retailer, renewal);
      }
      return renewal;
    }

    async function renew(retailer, { refreshToken }) {
      const response = await fetch(tokenUrl(retailer), {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "refresh_token",
          refresh_token: refreshToken,
          client_id: clientId,
          client_secret: clientSecret,
        }),
      });
      if (!response.ok) throw new Error(`The token endpoint answered ${response.status}`);
      const { access_token, refresh_token = refreshToken, expires_in } = await response.json();
      const expiresAt = Date.now() + expires_in * 1000;
      tokens.set(retailer, { accessToken: access_token, refreshToken: refresh_token, expiresAt });
      return access_token;
    }

    return { bearer };
  },
};
