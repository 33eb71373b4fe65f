import { OAuth2Client, OAuth2Fetch } from "@badgateway/oauth2-client";

// One client and one `OAuth2Fetch` for each retailer, made when the retailer is first seen. It joins renewals
// itself. It may also renew from a timer one minute before expiry, for tokens that live longer than two: left
// on, as it is by default, where a process serves one retailer, and off where a timer each would be 100,000.
export default {
  name: "@badgateway/oauth2-client",
  create({ tokenUrl, clientId, clientSecret, tokens }) {
    const sources = new Map();

    function sourceOf(retailer) {
      const client = new OAuth2Client({
        clientId,
        clientSecret,
        tokenEndpoint: tokenUrl(retailer),
        authenticationMethod: "client_secret_post",
      });
      const source = new OAuth2Fetch({
        client,
        getNewToken: () => null, // only a person can log in again
        getStoredToken: () => tokens.get(retailer),
        storeToken: (token) => tokens.set(retailer, token),
        scheduleRefresh: tokens.size === 1,
      });
      sources.set(retailer, source);
      return source;
    }

    return { bearer: (retailer) => (sources.get(retailer) ?? sourceOf(retailer)).getAccessToken() };
  },
};
