import type { DomainPrefix, TokenSet } from "@retail-pos/core";

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
}

export function profileOf(domainPrefix: DomainPrefix): RetailPosProfile {
  return { provider: "retail-pos", id: domainPrefix, domainPrefix, displayName: domainPrefix };
}

/** Printing it shows no token; reading it does. */
export function paramsOf({ access, domainPrefix, issuedAt }: TokenSet): TokenParams {
  const params: TokenParams = {
    access_token: access.value,
    token_type: "Bearer",
    ...(access.expiresAt !== undefined && {
      expires: Math.floor(access.expiresAt / 1000),
      expires_in: Math.round((access.expiresAt - issuedAt) / 1000),
    }),
    domain_prefix: domainPrefix,
  };
  const shown = { ...params, access_token: "[hidden]" };
  return Object.defineProperty(params, Symbol.for("nodejs.util.inspect.custom"), { value: () => shown });
}

/** Whether the profile of a login is left as it is. */
export type SkipUserProfile =
  | boolean
  | ((accessToken: string) => unknown)
  | ((accessToken: string, done: (error?: unknown, skip?: unknown) => void) => void);

/** passport-oauth2's rule: a function that declares `done` answers through it, any other by what it returns or promises. */
export async function isSkipped(skip: SkipUserProfile | undefined, accessToken: string): Promise<boolean> {
  if (typeof skip !== "function") return skip === true;
  if (skip.length < 2) return Boolean(await (skip as (accessToken: string) => unknown)(accessToken));
  return new Promise((resolve, reject) => {
    const answer: unknown = skip(accessToken, (error, isToSkip) =>
      error ? reject(error) : resolve(Boolean(isToSkip)),
    );
    Promise.resolve(answer).catch(reject); // it may be async
  });
}
