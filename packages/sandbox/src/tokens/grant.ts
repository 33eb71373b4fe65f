import { fingerprintOf, type KeptSecret, newSecret } from "../secrets.js";

/** `"sometimes"`: every other time, starting with the first. */
export const rotations = ["always", "never", "sometimes"] as const;

/** Whether a refresh answers with a new refresh token (R4). */
export type Rotation = (typeof rotations)[number];

/** The tokens of one login: a refresh token and the access tokens issued with it. Changed only in this file. */
export interface Grant {
  readonly domainPrefix: string;
  /** Granted at the login, for as long as it lasts; empty at a service without scopes. */
  readonly scopes: readonly string[];
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

/** The tokens of one token response. The sandbox does not keep them. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly expiresAt: number;
  readonly refreshToken?: string;
  readonly scopes: readonly string[];
}

/** Whose login it is, and what for. */
export interface Login {
  readonly domainPrefix: string;
  readonly scopes: readonly string[];
}

/** When tokens are issued, and for how long: `now` is epoch milliseconds. */
interface Issue {
  readonly now: number;
  readonly lifetimeMs: number;
}

/** 4.2: a login's tokens. */
export function newGrant(login: Login, issue: Issue): { grant: Grant; tokens: IssuedTokens } {
  const refresh = newSecret("refresh");
  const { value, access } = newAccess(issue);
  const { domainPrefix, scopes } = login;
  const grant: Grant = {
    domainPrefix,
    scopes,
    refresh: refresh.kept,
    access: [access],
    renewals: 0,
    lastIssuedAt: issue.now,
  };
  return {
    grant,
    tokens: { accessToken: value, expiresAt: access.expiresAt, refreshToken: refresh.value, scopes },
  };
}

/** 4.3: new tokens for the grant's refresh token, which is spent by it if it rotates. */
export function renew(grant: Grant, rotation: Rotation, issue: Issue): IssuedTokens {
  const { value, access } = newAccess(issue);
  const tokens = { accessToken: value, expiresAt: access.expiresAt, scopes: grant.scopes };
  grant.renewals += 1;
  grant.lastIssuedAt = issue.now;
  if (!rotates(rotation, grant.renewals)) {
    grant.access = [...grant.access.filter((earlier) => isAlive(earlier, issue.now)), access];
    return tokens;
  }
  // The spec is silent; services of this kind end the access tokens issued with the spent refresh token, so that
  // a client has to cope with a 401 for a token that it believes alive.
  const next = newSecret("refresh");
  grant.refresh = next.kept;
  grant.access = [access];
  return { ...tokens, refreshToken: next.value };
}

/** Ends the live access tokens; answers how many. */
export function endAccess(grant: Grant, now: number): number {
  const live = grant.access.filter((access) => isAlive(access, now));
  grant.access = grant.access.map((access) =>
    live.includes(access) ? { ...access, expiresAt: now } : access,
  );
  return live.length;
}

/** Refuses the refresh token from now on. */
export function refuse(grant: Grant, now: number): void {
  grant.refusedAt ??= now;
}

/** Ends everything this grant led to. */
export function revoke(grant: Grant, now: number): void {
  grant.access = [];
  refuse(grant, now);
}

/** Whether its refresh token is still accepted. */
export const isUsable = (grant: Grant): boolean => grant.refusedAt === undefined;

/** Whether any of its tokens is still accepted. */
export const isOfUse = (grant: Grant, now: number): boolean => isUsable(grant) || hasLiveAccess(grant, now);

export const hasLiveAccess = (grant: Grant, now: number): boolean =>
  grant.access.some((access) => isAlive(access, now));

export function acceptsAccess(grant: Grant, token: string, now: number): boolean {
  const fingerprint = fingerprintOf(token);
  return grant.access.some((access) => access.fingerprint === fingerprint && isAlive(access, now));
}

export function acceptsRefresh(grant: Grant, token: string): boolean {
  return isUsable(grant) && grant.refresh.fingerprint === fingerprintOf(token);
}

function newAccess({ now, lifetimeMs }: Issue): { value: string; access: IssuedAccess } {
  const { value, kept } = newSecret("access");
  return { value, access: { ...kept, issuedAt: now, expiresAt: now + lifetimeMs } };
}

const isAlive = (access: IssuedAccess, now: number): boolean => now < access.expiresAt;

/** R4: the renewals are counted from 1. */
function rotates(rotation: Rotation, renewals: number): boolean {
  return rotation === "always" || (rotation === "sometimes" && renewals % 2 === 1);
}
