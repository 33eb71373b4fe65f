import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import type { TokenSet } from "./token-set.js";

/** Facts about a connected retailer, without a token. */
export interface RetailerStatus {
  /** Who it is. */
  readonly domainPrefix: DomainPrefix;
  /** When the token request behind its tokens was sent, epoch milliseconds. */
  readonly issuedAt: number;
  /** When its access token ends, epoch milliseconds; absent if the service named no usable expiry. */
  readonly expiresAt?: number;
  /** When the service refused its refresh token, epoch milliseconds, if it did: it has to log in again. */
  readonly refusedAt?: number;
  /** The granted scope, if the service said one. */
  readonly scope?: string;
}

/** The fields as a store kept them; a database gives `null` for a field that is not there. */
type Kept = { readonly [field in keyof RetailerStatus]?: unknown };

/**
 * For those who write a store: one entry of its `list`.
 *
 * @param kept the fields as the database gives them; instants are numbers, absent fields may be `null`.
 * @returns `undefined` if the record is no retailer's, because somebody edited it. The list leaves it out; the error of
 * a call for that retailer says what is wrong with it.
 */
export function retailerStatus({
  domainPrefix,
  issuedAt,
  expiresAt,
  refusedAt,
  scope,
}: Kept): RetailerStatus | undefined {
  if (!isDomainPrefix(domainPrefix) || !isInstant(issuedAt)) return undefined;
  const status: { -readonly [field in keyof RetailerStatus]: RetailerStatus[field] } = {
    domainPrefix,
    issuedAt,
  };
  for (const [field, value] of [
    ["expiresAt", expiresAt],
    ["refusedAt", refusedAt],
  ] as const) {
    if (value === undefined || value === null) continue;
    if (!isInstant(value)) return undefined;
    status[field] = value;
  }
  if (scope === undefined || scope === null) return status;
  return typeof scope === "string" ? { ...status, scope } : undefined;
}

/** The same, of a token set. */
export function statusOf({ domainPrefix, access, issuedAt, refusedAt, scope }: TokenSet): RetailerStatus {
  return {
    domainPrefix,
    issuedAt,
    ...(access.expiresAt !== undefined && { expiresAt: access.expiresAt }),
    ...(refusedAt !== undefined && { refusedAt }),
    ...(scope !== undefined && { scope }),
  };
}

function isInstant(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isDomainPrefix(text: unknown): text is DomainPrefix {
  try {
    return parseDomainPrefix(text) === text;
  } catch {
    return false;
  }
}
