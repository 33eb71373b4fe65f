import type { DomainPrefix, TokenSet } from "@retail-pos/core";

/** A finished login, before the application has accepted it. */
export interface RetailPosLogin {
  /** The retailer who logged in. Keep it with your user: every other call takes it. */
  domainPrefix: DomainPrefix;
  /** Kept by the client as soon as the login is accepted; an application needs no copy. */
  tokens: TokenSet;
  /** The token response, without the refresh token. */
  params: TokenParams;
  /** Who logged in, in Passport's form; a subclass of the strategy may have made a richer one. */
  profile: RetailPosProfile;
}

/** Who logged in, in Passport's normalized form. The service says nothing but the domain prefix. */
export interface RetailPosProfile {
  /** The strategy's name. */
  provider: "retail-pos";
  /** The domain prefix, which is unique. */
  id: string;
  /** The retailer who logged in. */
  domainPrefix: DomainPrefix;
  /** The domain prefix: the service says nothing else. */
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
  /** The retailer's, also if the response named none. */
  domain_prefix: DomainPrefix;
  /** The granted scope, if the service said one that is not empty. */
  scope?: string;
}

/** A finished login, made of its tokens. */
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
