import {
  acceptsAccess,
  acceptsRefresh,
  endAccess,
  type Grant,
  hasLiveAccess,
  type IssuedTokens,
  isOfUse,
  isUsable,
  type Login,
  newGrant,
  type Rotation,
  refuse,
  renew,
  revoke,
} from "./grant.js";

/** Every grant of every retailer. Logging in again leaves earlier grants alone: the spec does not say otherwise. */
export interface Grants {
  start(login: Login): { grant: Grant; tokens: IssuedTokens };
  /** Undefined: this refresh token is unknown here, spent, or refused. */
  renew(domainPrefix: string, refreshToken: string): IssuedTokens | undefined;
  /** Whether this refresh token is good, and its newest access token still lives. */
  isTooEarly(domainPrefix: string, refreshToken: string): boolean;
  acceptsAccess(domainPrefix: string, token: string): boolean;
  /** The scopes of a live access token; undefined for any other text. */
  scopesOf(domainPrefix: string, token: string): readonly string[] | undefined;
  acceptsRefresh(domainPrefix: string, token: string): boolean;
  /** Ends every live access token of the retailer; answers how many. */
  expire(domainPrefix: string): number;
  /** Refuses every refresh token of the retailer from now on; answers how many. */
  refuse(domainPrefix: string): number;
  /** Ends everything this grant led to. */
  revoke(grant: Grant): void;
  of(domainPrefix: string): readonly Grant[];
}

export function issuedGrants(rotation: Rotation, lifetimeMs: number, now: () => number): Grants {
  const byRetailer = new Map<string, Grant[]>();
  const of = (domainPrefix: string) => byRetailer.get(domainPrefix) ?? [];
  const withAccessToken = (domainPrefix: string, token: string) =>
    of(domainPrefix).find((grant) => acceptsAccess(grant, token, now()));
  const withRefreshToken = (domainPrefix: string, token: string) =>
    of(domainPrefix).find((grant) => acceptsRefresh(grant, token));

  return {
    of,
    start(login) {
      const { domainPrefix } = login;
      const started = newGrant(login, { now: now(), lifetimeMs });
      // Grants that are of no more use go, or a store that logs in all day would fill the memory.
      const earlier = of(domainPrefix).filter((grant) => isOfUse(grant, now()));
      byRetailer.set(domainPrefix, [...earlier, started.grant]);
      return started;
    },
    renew(domainPrefix, refreshToken) {
      const grant = withRefreshToken(domainPrefix, refreshToken);
      return grant && renew(grant, rotation, { now: now(), lifetimeMs });
    },
    isTooEarly(domainPrefix, refreshToken) {
      const grant = withRefreshToken(domainPrefix, refreshToken);
      return grant !== undefined && hasLiveAccess(grant, now());
    },
    acceptsAccess: (domainPrefix, token) => withAccessToken(domainPrefix, token) !== undefined,
    scopesOf: (domainPrefix, token) => withAccessToken(domainPrefix, token)?.scopes,
    acceptsRefresh: (domainPrefix, token) => withRefreshToken(domainPrefix, token) !== undefined,
    expire: (domainPrefix) => of(domainPrefix).reduce((ended, grant) => ended + endAccess(grant, now()), 0),
    refuse(domainPrefix) {
      const usable = of(domainPrefix).filter(isUsable);
      for (const grant of usable) refuse(grant, now());
      return usable.length;
    },
    revoke: (grant) => revoke(grant, now()),
  };
}
