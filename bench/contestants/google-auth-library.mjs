import { OAuth2Client } from "google-auth-library";

// It keeps the tokens of one user in one client, so there is one client for each retailer, made when the
// retailer is first seen. A rotated refresh token has to be taken from its event: the client itself goes on
// with the old one.
export default {
  name: "google-auth-library",
  create({ tokenUrl, clientId, clientSecret, tokens, marginMs = 0 }) {
    const clients = new Map();

    function clientOf(retailer) {
      const { accessToken, refreshToken, expiresAt } = tokens.get(retailer);
      const client = new OAuth2Client({
        clientId,
        clientSecret,
        endpoints: { oauth2TokenUrl: tokenUrl(retailer) },
      });
      client.eagerRefreshThresholdMillis = marginMs; // by default five minutes; callers wait whenever it begins
      client.setCredentials({
        access_token: accessToken,
        refresh_token: refreshToken,
        expiry_date: expiresAt,
      });
      client.on("tokens", ({ refresh_token }) => {
        if (refresh_token) client.setCredentials({ ...client.credentials, refresh_token });
      });
      clients.set(retailer, client);
      return client;
    }

    const ask = (retailer) => (clients.get(retailer) ?? clientOf(retailer)).getAccessToken();
    const read = ({ token }) => token;
    return { bearer: async (retailer) => read(await ask(retailer)), ask, read };
  },
};
