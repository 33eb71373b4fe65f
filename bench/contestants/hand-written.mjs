// What a README of most services suggests: fifteen lines and a Map.
export default {
  name: "hand-written",
  create({ tokenUrl, clientId, clientSecret, tokens, marginMs = 0 }) {
    async function bearer(retailer) {
      const held = tokens.get(retailer);
      return Date.now() < held.expiresAt - marginMs ? held.accessToken : renew(retailer, held);
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
