import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { TokenResponseError } from "../vocabulary/errors.js";
import { redacted, type TokenSet } from "../vocabulary/token-set.js";
import type { Versions } from "../vocabulary/token-set-versions.js";
import type { TokenAnswer } from "./token-endpoint.js";

/** The set after a renewal (R4): a token that the answer has replaces the stored one; else the stored one stays. */
export function tokenSetFromRefresh(
  stored: TokenSet,
  { response, requestedAt }: TokenAnswer,
  version: string,
): TokenSet {
  const scope = response.scope ?? stored.scope;
  return redacted({
    domainPrefix: stored.domainPrefix,
    access: response.access ?? stored.access,
    refreshToken: response.refreshToken ?? stored.refreshToken,
    issuedAt: response.access ? requestedAt : stored.issuedAt,
    version,
    ...(scope !== undefined && { scope }),
  });
}

/**
 * The set of a new login. Core refuses an answer with any oddity, because the person can log in again (2.2, R4).
 *
 * @throws {TokenResponseError} the answer is unusable.
 */
export function tokenSetFromCode(
  { response, requestedAt }: TokenAnswer,
  domainPrefix: DomainPrefix,
  versions: Versions,
): TokenSet {
  const { access, refreshToken, oddities, scope } = response;
  const problem = !access
    ? "it holds no usable access_token"
    : refreshToken
      ? oddities[0]
      : "it holds no refresh_token, or one that is longer than 16 kB";
  if (problem || !access || !refreshToken) {
    throw new TokenResponseError(
      `The token response for the login of retailer "${domainPrefix}" is unusable: ${problem}`,
      { domainPrefix },
    );
  }
  const set = { domainPrefix, access, refreshToken, issuedAt: requestedAt, version: versions.next() };
  return redacted(scope === undefined ? set : { ...set, scope });
}
