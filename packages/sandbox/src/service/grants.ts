import type { Rotation } from "../options.js";
import { fingerprintOf, type KeptSecret, newSecret } from "./credentials.js";

/** What one exchanged code led to: a refresh token and the access tokens issued with it. */
export interface Grant {
  readonly domainPrefix: string;
  refresh: KeptSecret;
  access: readonly IssuedAccess[];
  renewals: number;
  lastIssuedAt: number;
  /** When the refresh token stopped being accepted, if it did. Only a new login gives a new one. */
  refusedAt?: number;
}

export interface IssuedAccess extends KeptSecret {
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** What goes out in a token response. Nobody keeps these. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly expiresAt: number;
  readonly refreshToken?: string;
}

/** Every grant of every retailer. Logging in again leaves earlier grants alone: the spec does not say otherwise. */
export interface Grants {
  start(domainPrefix: string): { grant: Grant; tokens: IssuedTokens };
  /** Undefined: this refresh token is unknown here, spent, or refused. */
  renew(domainPrefix: string, refreshToken: string): IssuedTokens | undefined;
  acceptsAccess(domainPrefix: string, token: string): boolean;
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
  const isAlive = (access: IssuedAccess) => now() < access.expiresAt;

  function newAccess(): { value: string; access: IssuedAccess } {
    const { value, kept } = newSecret("access");
    return { value, access: { ...kept, issuedAt: now(), expiresAt: now() + lifetimeMs } };
  }

  function findRefresh(domainPrefix: string, token: string): Grant | undefined {
    const fingerprint = fingerprintOf(token);
    return of(domainPrefix).find(
      (grant) => grant.refresh.fingerprint === fingerprint && grant.refusedAt === undefined,
    );
  }

  function start(domainPrefix: string) {
    const refresh = newSecret("refresh");
    const { value, access } = newAccess();
    const grant: Grant = {
      domainPrefix,
      refresh: refresh.kept,
      access: [access],
      renewals: 0,
      lastIssuedAt: now(),
    };
    // Here what is of no more use goes, so that a store which logs in all day does not fill the memory.
    byRetailer.set(domainPrefix, [...of(domainPrefix).filter(isOfUse), grant]);
    return {
      grant,
      tokens: { accessToken: value, expiresAt: access.expiresAt, refreshToken: refresh.value },
    };
  }

  function renew(domainPrefix: string, refreshToken: string): IssuedTokens | undefined {
    const grant = findRefresh(domainPrefix, refreshToken);
    if (!grant) return undefined;
    const { value, access } = newAccess();
    const tokens = { accessToken: value, expiresAt: access.expiresAt };
    grant.renewals += 1;
    grant.lastIssuedAt = now();
    if (!rotates(rotation, grant.renewals)) {
      grant.access = [...grant.access.filter(isAlive), access];
      return tokens;
    }
    // The spec is silent; services of this kind end the access tokens issued with the spent refresh token, so that
    // a client has to cope with a 401 for a token that it believes alive.
    const next = newSecret("refresh");
    grant.refresh = next.kept;
    grant.access = [access];
    return { ...tokens, refreshToken: next.value };
  }

  function expire(domainPrefix: string): number {
    const live = of(domainPrefix).flatMap((grant) => grant.access.filter(isAlive)).length;
    for (const grant of of(domainPrefix)) {
      grant.access = grant.access.map((access) =>
        isAlive(access) ? { ...access, expiresAt: now() } : access,
      );
    }
    return live;
  }

  function refuse(domainPrefix: string): number {
    const live = of(domainPrefix).filter((grant) => grant.refusedAt === undefined);
    for (const grant of live) grant.refusedAt = now();
    return live.length;
  }

  function acceptsAccess(domainPrefix: string, token: string): boolean {
    const fingerprint = fingerprintOf(token);
    return of(domainPrefix).some((grant) =>
      grant.access.some((access) => access.fingerprint === fingerprint && isAlive(access)),
    );
  }

  function revoke(grant: Grant): void {
    grant.access = [];
    grant.refusedAt ??= now();
  }

  const isOfUse = (grant: Grant) => grant.refusedAt === undefined || grant.access.some(isAlive);
  const acceptsRefresh = (domainPrefix: string, token: string) =>
    findRefresh(domainPrefix, token) !== undefined;
  return { start, renew, acceptsAccess, acceptsRefresh, expire, refuse, revoke, of };
}

/** R4: the renewals are counted from 1. */
function rotates(rotation: Rotation, renewals: number): boolean {
  return rotation === "always" || (rotation === "sometimes" && renewals % 2 === 1);
}

/** Whether its refresh token is still accepted. */
export const isUsable = (grant: Grant): boolean => grant.refusedAt === undefined;
