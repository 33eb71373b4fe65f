import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import { isInstant, type TokenSet } from "./token-set.js";

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
  /**
   * The service answered 429: no token request goes out for it before, epoch milliseconds. Only while that lies ahead,
   * and only from `status`: a list leaves it out.
   */
  readonly limitedUntil?: number;
  /** The granted scope, if the service said one. */
  readonly scope?: string;
}

/** The fields as a database returns them; some databases return `null` for a missing field. */
type StoredFields = { readonly [field in keyof RetailerStatus]?: unknown };

/**
 * Makes one entry of a store's `list`, for those who write a store. It checks nothing: core checks the entries, leaves
 * out a record that somebody edited, and reports it to `observe`.
 *
 * @param fields as the database returns them; instants are numbers, and a missing field may be `null`.
 */
export function retailerStatus({
  domainPrefix,
  issuedAt,
  expiresAt,
  refusedAt,
  scope,
}: StoredFields): RetailerStatus {
  const given = Object.entries({ expiresAt, refusedAt, scope }).filter(
    ([, value]) => (value ?? null) !== null,
  );
  return { domainPrefix, issuedAt, ...Object.fromEntries(given) } as RetailerStatus;
}

/** Whether an entry of a list has what its type says. */
export function isRetailerStatus(entry: StoredFields): entry is RetailerStatus {
  const { domainPrefix, issuedAt, expiresAt = 0, refusedAt = 0, scope = "" } = entry;
  return (
    isDomainPrefix(domainPrefix) &&
    [issuedAt, expiresAt, refusedAt].every(isInstant) &&
    typeof scope === "string"
  );
}

/** The status of the retailer of a token set. */
export function statusOf(set: TokenSet): RetailerStatus {
  return retailerStatus({ ...set, expiresAt: set.access.expiresAt });
}

/** Whether a value is a domain prefix as `parseDomainPrefix` returns it. */
export function isDomainPrefix(text: unknown): text is DomainPrefix {
  try {
    return parseDomainPrefix(text) === text;
  } catch {
    return false;
  }
}
