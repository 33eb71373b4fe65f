import type { DomainPrefix, TokenSet } from "@retail-pos/core";

/** A finished login, before the application has accepted it. */
export interface RetailPosLogin {
  /** The retailer who logged in. Keep it with your user: everything else is asked by it. */
  domainPrefix: DomainPrefix;
  /** Kept by the client as soon as the login is accepted; an application needs no copy. */
  tokens: TokenSet;
  /** The token response, without the refresh token. */
  params: TokenParams;
  /** Who logged in, in Passport's form; what a subclass of the strategy found out, if there is one. */
  profile: RetailPosProfile;
}

/** Who logged in, in Passport's normalized form: the service names nothing but the domain prefix. */
export interface RetailPosProfile {
  /** The strategy's name. */
  provider: "retail-pos";
  /** The domain prefix, which is unique. */
  id: string;
  /** The retailer who logged in. */
  domainPrefix: DomainPrefix;
  /** The domain prefix: the service names nothing else. */
  displayName: string;
}

/** The token response as passport-oauth2 would pass it on (2.2), without the refresh token. Seconds, as on the wire. */
export interface TokenParams {
  /** The bearer. */
  access_token: string;
  /** Always `Bearer`. */
  token_type: "Bearer";
  /** Seconds since the Unix epoch; absent when the service named no usable expiry. */
  expires?: number;
  /** Seconds from the token request until expiry. */
  expires_in?: number;
  /** The retailer's, also where the response named none. */
  domain_prefix: DomainPrefix;
  /** What was granted, if the service said so and it is not empty. */
  scope?: string;
}

/** What the tokens of a login say about it. */
export function loginOf(
  tokens: TokenSet,
  profile: RetailPosProfile = profileOf(tokens.domainPrefix),
): RetailPosLogin {
  return { domainPrefix: tokens.domainPrefix, tokens, params: paramsOf(tokens), profile };
}

/** Who logged in, as far as the service says. */
export function profileOf(domainPrefix: DomainPrefix): RetailPosProfile {
  return { provider: "retail-pos", id: domainPrefix, domainPrefix, displayName: domainPrefix };
}

/** Printing it shows no token; reading it does. */
function paramsOf({ access, domainPrefix, issuedAt, scope }: TokenSet): TokenParams {
  const params: TokenParams = {
    access_token: access.value,
    token_type: "Bearer",
    ...(access.expiresAt !== undefined && {
      expires: Math.floor(access.expiresAt / 1000),
      expires_in: Math.round((access.expiresAt - issuedAt) / 1000),
    }),
    domain_prefix: domainPrefix,
    ...(scope !== undefined && { scope }),
  };
  const shown = { ...params, access_token: "[hidden]" };
  return Object.defineProperty(params, Symbol.for("nodejs.util.inspect.custom"), { value: () => shown });
}
