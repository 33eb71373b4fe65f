import { RejectedByApiError, type RetailPosError, TokenResponseError } from "./errors.js";
import type { HeldTokens } from "./held-tokens.js";
import type { TokenAnswer } from "./token-endpoint.js";

/** Why callers have no use for an answer. It is saved all the same. */
export function uselessness(
  held: HeldTokens,
  { response: { access } }: TokenAnswer,
): RetailPosError | undefined {
  if (access && !held.isRejected(access.value)) return undefined;
  const issued = `The token endpoint of retailer "${held.domainPrefix}" issued`;
  if (access) return new RejectedByApiError(`${issued} an access token again that the API rejects`, held);
  return new TokenResponseError(`${issued} a refresh token but no usable access_token`, held);
}
