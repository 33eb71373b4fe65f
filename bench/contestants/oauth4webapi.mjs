import * as oauth from "oauth4webapi";
import { joinedRenewals } from "./joined-renewals.mjs";

export default {
  name: "oauth4webapi",
  create({ tokenUrl, clientId, clientSecret, ...setup }) {
    const client = { client_id: clientId };
    const authentication = oauth.ClientSecretPost(clientSecret);
    const options = { [oauth.allowInsecureRequests]: true }; // http on this machine

    return joinedRenewals(setup, async (retailer, refreshToken) => {
      const token_endpoint = tokenUrl(retailer);
      const server = { issuer: new URL(token_endpoint).origin, token_endpoint };
      const response = await oauth.refreshTokenGrantRequest(
        server,
        client,
        authentication,
        refreshToken,
        options,
      );
      return oauth.processRefreshTokenResponse(server, client, response);
    });
  },
};
