import slack from "@slack/oauth";

// Nothing that has to be renewed is asked of it. It renews at one address for all (`oauth.v2.access` of Slack's API),
// expects Slack's own shape of a token response, and always two hours ahead: no configuration lets it renew here.
// Its memory store warns on every call to use another one; this is one.
export default {
  name: "@slack/oauth",
  create({ clientId, clientSecret, tokens }) {
    const installations = new Map();
    for (const [retailer, { accessToken, refreshToken, expiresAt }] of tokens) {
      installations.set(retailer, {
        team: { id: retailer },
        authVersion: "v2",
        bot: { token: accessToken, refreshToken, expiresAt: expiresAt / 1000, scopes: [] },
      });
    }
    const provider = new slack.InstallProvider({
      clientId,
      clientSecret,
      stateSecret: "the-state-secret",
      installationStore: {
        fetchInstallation: async ({ teamId }) => installations.get(teamId),
        storeInstallation: async (installation) => installations.set(installation.team.id, installation),
      },
    });

    const ask = (retailer) => provider.authorize({ teamId: retailer, isEnterpriseInstall: false });
    const read = ({ botToken }) => botToken;
    return { bearer: async (retailer) => read(await ask(retailer)), ask, read };
  },
};
