import type { TokenAnswer } from "./token-endpoint.js";
import { quiet, type TokenSet } from "./token-set.js";

/** R4: a new refresh token replaces the old one; the old one stays if there is none. The same for the access token. */
export function renewed(stored: TokenSet, { response, requestedAt }: TokenAnswer, version: string): TokenSet {
  const scope = response.scope ?? stored.scope;
  return quiet({
    domainPrefix: stored.domainPrefix,
    access: response.access ?? stored.access,
    refreshToken: response.refreshToken ?? stored.refreshToken,
    issuedAt: response.access ? requestedAt : stored.issuedAt,
    version,
    ...(scope !== undefined && { scope }),
  });
}
