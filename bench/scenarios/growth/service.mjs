// The token endpoint of a million retailers, without network or delay: what is left to measure is the client's
// part. It rotates, and takes no refresh token but the latest.
import { randomBytes } from "node:crypto";
import { LIFETIME_MS, tokenSet } from "./retailers.mjs";

export const options = {
  authUrl: "https://auth.example",
  baseUrl: "https://{domain_prefix}.retail.example",
  clientId: "growth",
  clientSecret: "growth-secret",
  redirectUri: "https://app.example/callback",
};

export function service({ delayMs = 0 } = {}) {
  const issued = new Map();
  let requests = 0;
  return {
    get requests() {
      return requests;
    },
    /** The tokens of retailer `n` that are good now. */
    current: (n) => {
      const set = tokenSet(n);
      return (
        issued.get(set.domainPrefix) ?? { access_token: set.access.value, refresh_token: set.refreshToken }
      );
    },
    /** `fetch`, for requests about these retailers. */
    fetchFor(numbers) {
      const original = new Map(numbers.map(tokenSet).map((set) => [set.domainPrefix, set.refreshToken]));
      return async (url, { body }) => {
        requests += 1;
        if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
        const domainPrefix = new URL(url).hostname.split(".", 1)[0];
        const good = issued.get(domainPrefix)?.refresh_token ?? original.get(domainPrefix);
        if (new URLSearchParams(body).get("refresh_token") !== good)
          return Response.json({ error: "invalid_grant" }, { status: 400 });
        const tokens = { access_token: secret(), refresh_token: secret() };
        issued.set(domainPrefix, tokens);
        return Response.json({ ...tokens, token_type: "Bearer", expires_in: LIFETIME_MS / 1000 });
      };
    },
  };
}

function secret() {
  return randomBytes(32).toString("hex");
}
