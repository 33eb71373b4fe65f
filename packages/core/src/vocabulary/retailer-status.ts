import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import type { TokenSet } from "./token-set.js";

/** Facts about a connected retailer, without a token. */
export interface RetailerStatus {
  /** The retailer. */
  readonly domainPrefix: DomainPrefix;
  /** When the token request behind its tokens was sent, epoch milliseconds. */
  readonly issuedAt: number;
  /** When its access token ends, epoch milliseconds; absent if the service named no usable expiry. */
  readonly expiresAt?: number;
  /** When the service refused its refresh token, epoch milliseconds, if it did: the retailer has to log in again. */
  readonly refusedAt?: number;
  /** The granted scope, if the service said one. */
  readonly scope?: string;
}

/** The fields as a database returns them; some databases return `null` for a missing field. */
type StoredFields = { readonly [field in keyof RetailerStatus]?: unknown };

/**
 * Makes one entry of a store's `list`, for those who write a store.
 *
 * @param fields as the database returns them; instants are numbers, and a missing field may be `null`.
 * @returns `undefined` if the fields describe no retailer, for example because somebody edited the record. Leave it out
 * of the list; a call for that retailer then reports what is wrong with the record.
 */
export function retailerStatus({
  domainPrefix,
  issuedAt,
  expiresAt,
  refusedAt,
  scope,
}: StoredFields): RetailerStatus | undefined {
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

/** The status of the retailer of a token set. */
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
