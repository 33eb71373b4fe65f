// A code for tokens, by everybody: each takes the setup and gives `code => Promise<access token>`. Each loads
// its own library alone.
import { request } from "node:http";

const HEADERS = { accept: "application/json", "user-agent": "retail-pos-auth" };
const DEADLINE_MS = 10_000;

export const exchanges = {
  /** The floor: what has to be sent, and what comes back. */
  fetch: (setup) => (code) => plainFetch(setup, code),

  "fetch-with-headers": (setup) => (code) => plainFetch(setup, code, { headers: HEADERS }),

  /** What a server that never answers must not do to a login, as people write it. */
  "fetch-with-deadline": (setup) => async (code) => {
    const controller = new AbortController();
    const deadline = setTimeout(() => controller.abort(), DEADLINE_MS);
    try {
      return await plainFetch(setup, code, { headers: HEADERS, signal: controller.signal });
    } finally {
      clearTimeout(deadline);
    }
  },

  http:
    ({ clientId, clientSecret, redirectUri, tokenUrl }) =>
    (code) =>
      new Promise((resolve, reject) => {
        const body = new URLSearchParams({
          grant_type: "authorization_code",
          code,
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uri: redirectUri,
        }).toString();
        const headers = {
          "content-type": "application/x-www-form-urlencoded",
          "content-length": Buffer.byteLength(body),
        };
        const sent = request(tokenUrl, { method: "POST", headers }, (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part) => {
            text += part;
          });
          response.once("error", reject).once("end", () => {
            if (response.statusCode === 200) resolve(JSON.parse(text).access_token);
            else reject(new Error(`The token endpoint answered ${response.statusCode}`));
          });
        });
        sent.once("error", reject).end(body);
      }),

  async ours({ retailer, baseUrl, ...application }) {
    const { retailPos } = await import("@retail-pos/core");
    const pos = retailPos({ authUrl: new URL(baseUrl).origin, baseUrl, ...application });
    return async (code) => (await pos.exchange(retailer, code)).access.value;
  },

  /** What its `authenticate` does with the code of a callback. */
  async "passport-oauth2"({ clientId, clientSecret, redirectUri, tokenUrl }) {
    const { default: OAuth2Strategy } = await import("passport-oauth2");
    const { _oauth2: oauth2 } = new OAuth2Strategy(
      {
        authorizationURL: tokenUrl,
        tokenURL: tokenUrl,
        clientID: clientId,
        clientSecret,
        callbackURL: redirectUri,
      },
      () => {},
    );
    const params = { grant_type: "authorization_code", redirect_uri: redirectUri };
    return (code) =>
      new Promise((resolve, reject) => {
        oauth2.getOAuthAccessToken(code, params, (error, accessToken) =>
          error ? reject(error) : resolve(accessToken),
        );
      });
  },

  async "google-auth-library"({ clientId, clientSecret, redirectUri, tokenUrl }) {
    const { OAuth2Client } = await import("google-auth-library");
    const endpoints = { oauth2TokenUrl: tokenUrl };
    const client = new OAuth2Client({ clientId, clientSecret, redirectUri, endpoints });
    return async (code) => (await client.getToken(code)).tokens.access_token;
  },

  async "simple-oauth2"({ clientId, clientSecret, redirectUri, tokenUrl }) {
    const { AuthorizationCode } = await import("simple-oauth2");
    const { origin, pathname } = new URL(tokenUrl);
    const client = new AuthorizationCode({
      client: { id: clientId, secret: clientSecret },
      auth: { tokenHost: origin, tokenPath: pathname },
      options: { authorizationMethod: "body" },
    });
    return async (code) => (await client.getToken({ code, redirect_uri: redirectUri })).token.access_token;
  },

  async "badgateway-oauth2-client"({ clientId, clientSecret, redirectUri, tokenUrl }) {
    const { OAuth2Client } = await import("@badgateway/oauth2-client");
    const client = new OAuth2Client({
      clientId,
      clientSecret,
      tokenEndpoint: tokenUrl,
      authenticationMethod: "client_secret_post",
    });
    return async (code) => (await client.authorizationCode.getToken({ code, redirectUri })).accessToken;
  },

  async "openid-client"({ clientId, clientSecret, redirectUri, tokenUrl }) {
    const oauth = await import("openid-client");
    const server = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
    const authentication = oauth.ClientSecretPost(clientSecret);
    const configuration = new oauth.Configuration(server, clientId, clientSecret, authentication);
    oauth.allowInsecureRequests(configuration); // http on this machine
    return async (code) => {
      const callback = new URL(`${redirectUri}?${new URLSearchParams({ code, state: "a-state" })}`);
      const answer = await oauth.authorizationCodeGrant(configuration, callback, {
        expectedState: "a-state",
      });
      return answer.access_token;
    };
  },

  async oauth4webapi({ clientId, clientSecret, redirectUri, tokenUrl }) {
    const oauth = await import("oauth4webapi");
    const server = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
    const client = { client_id: clientId };
    const authentication = oauth.ClientSecretPost(clientSecret);
    const options = { [oauth.allowInsecureRequests]: true }; // http on this machine
    return async (code) => {
      const callback = oauth.validateAuthResponse(
        server,
        client,
        new URLSearchParams({ code, state: "a-state" }),
        "a-state",
      );
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        callback,
        redirectUri,
        oauth.nopkce,
        options,
      );
      return (await oauth.processAuthorizationCodeResponse(server, client, response)).access_token;
    };
  },
};

async function plainFetch({ clientId, clientSecret, redirectUri, tokenUrl }, code, more) {
  const response = await fetch(tokenUrl, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uri: redirectUri,
    }),
    ...more,
  });
  if (!response.ok) throw new Error(`The token endpoint answered ${response.status}`);
  return (await response.json()).access_token;
}
