import { allowInsecureRequests, ClientSecretPost, Configuration, refreshTokenGrant } from "openid-client";
import { joinedRenewals } from "./joined-renewals.mjs";

export default {
  name: "openid-client",
  create({ tokenUrl, clientId, clientSecret, ...setup }) {
    return joinedRenewals(setup, (retailer, refreshToken) => {
      const token_endpoint = tokenUrl(retailer);
      const server = { issuer: new URL(token_endpoint).origin, token_endpoint };
      const configuration = new Configuration(server, clientId, clientSecret, ClientSecretPost(clientSecret));
      allowInsecureRequests(configuration); // http on this machine
      return refreshTokenGrant(configuration, refreshToken);
    });
  },
};
