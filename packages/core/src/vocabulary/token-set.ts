import type { DomainPrefix } from "./domain-prefix.js";
import { StoredTokensError } from "./errors.js";
import { versionBeforeSealing } from "./token-set-versions.js";

/** A token as callers get it: a bearer credential and when it expires. */
export interface AccessToken {
  /** The text to send after `Authorization: Bearer ` (4.4). */
  readonly value: string;
  /** When it expires, epoch milliseconds; absent if the service named no usable expiry. */
  readonly expiresAt?: number;
}

/** Everything that a store keeps for one retailer. Only the store and the token endpoint get the refresh token. */
export interface TokenSet {
  /** The retailer whose tokens these are. */
  readonly domainPrefix: DomainPrefix;
  /** The access token, and when it expires. */
  readonly access: AccessToken;
  /** Sent to get new tokens (4.3). If the answer has a new refresh token, that replaces this one (R4). */
  readonly refreshToken: string;
  /** When the token request behind this set was sent, epoch milliseconds. */
  readonly issuedAt: number;
  /** A text that no other set has. Compare-and-set compares it. */
  readonly version: string;
  /**
   * When the service first refused the refresh token, epoch milliseconds, if it did. Later refusals of the same token
   * leave it as it is.
   */
  readonly refusedAt?: number;
  /**
   * When the service refused to renew the access token before its end, epoch milliseconds, if it did. No token request
   * is sent before that end, unless the API rejects the access token. A store that cannot keep this field costs one
   * such request for each process.
   */
  readonly refusedEarlyAt?: number;
  /**
   * No token request for the retailer before this instant, in any process; epoch milliseconds. The service answered
   * 429, or it refused the refresh token and is asked again an hour later.
   */
  readonly limitedUntil?: number;
  /** The granted scope, if the service said one that is not empty (2.2). */
  readonly scope?: string;
}

/** The fields that a set may be without. */
const OPTIONAL = [
  "refusedAt",
  "refusedEarlyAt",
  "limitedUntil",
  "scope",
] as const satisfies readonly (keyof TokenSet)[];

const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");

/** Characters. Node and most servers take 16 kB of headers; with a longer token each call would be answered 431. */
const LONGEST_BEARER = 16_384;

/** Whether a refresh token of the token endpoint can be kept: it is sent with each renewal (behaviour 1). */
export function isUsableRefreshToken(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= LONGEST_BEARER;
}

/** Whether an access token of the token endpoint can be used for calls (behaviour 1). */
export function isUsableBearer(value: unknown): value is string {
  return isBearerValue(value) && value.length <= LONGEST_BEARER;
}

/** Whether a text can stand behind `Bearer ` in a header (RFC 6750, section 2.1, without its narrower alphabet). */
export function isBearerValue(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}

/**
 * A copy of a token set that can be printed (`console.log`, `util.inspect`) without showing a token. Each field is read
 * once: a getter could return one value to the check and another one later.
 */
export function redacted(set: TokenSet): TokenSet {
  const { domainPrefix, access, refreshToken, issuedAt, version } = set;
  const copy = {
    domainPrefix,
    access: isObject(access) ? redactedAccess(access) : access,
    refreshToken,
    issuedAt,
    version,
  };
  return hidden(withOptional(copy, set), withoutTokens);
}

/** A copy of an access token that can be printed without showing its value. */
export function redactedAccess({ value, expiresAt }: AccessToken): AccessToken {
  return hidden(isGiven(expiresAt) ? { value, expiresAt } : { value }, withoutValue);
}

/**
 * Checks a record that a store's `load` returned. Only a tool that reads a store itself needs it: core checks every
 * record that it loads.
 *
 * @param record what `load` resolved to.
 * @param domainPrefix the retailer that the record has to belong to.
 * @returns a copy, which can be printed without showing a token.
 * @throws {StoredTokensError} naming the field, never its value; or saying that the record is sealed.
 */
export function checkStored(record: unknown, domainPrefix: DomainPrefix): TokenSet {
  const copy = copyStored(record, domainPrefix);
  const problem = validate(copy, domainPrefix);
  if (problem === SEALED) throw new StoredTokensError(problem, { domainPrefix }, OPEN_IT);
  if (problem) throw new StoredTokensError(problem, { domainPrefix });
  return copy as TokenSet;
}

/** A copy of a record that a store's `load` returned, before anything is checked. */
export function copyStored(record: unknown, domainPrefix: DomainPrefix): unknown {
  try {
    return snapshot(record);
  } catch {
    throw new StoredTokensError("it cannot be read", { domainPrefix }); // an error thrown by a getter may show anything
  }
}

/** A copy of what may be a token set, not checked. */
export function snapshot(record: unknown): unknown {
  return isObject(record) ? redacted(record as TokenSet) : record;
}

/** Adds to the copy the optional fields that the set has. Each is read once. */
function withOptional<T extends object>(copy: T, set: object): T {
  for (const field of OPTIONAL) {
    const value = (set as TokenSet)[field];
    if (isGiven(value)) (copy as Record<string, unknown>)[field] = value;
  }
  return copy;
}

const SEALED = "it is sealed, and this process does not open seals";
const OPEN_IT = "Give this process sealedStore() with its keys. Nothing was changed";

/** Says why a value is no token set of this retailer. The text names the field, never its value. */
export function validate(record: unknown, domainPrefix: DomainPrefix): string | undefined {
  if (!isObject(record)) return "it is no object";
  const set = record as { [field in keyof TokenSet]?: unknown };
  if (set.domainPrefix !== domainPrefix) return "it belongs to another retailer";
  if (versionBeforeSealing(set.version) !== undefined) return SEALED;
  if (!isObject(set.access)) return "access is missing";
  const access: { [field in keyof AccessToken]?: unknown } = set.access;
  if (!isBearerValue(access.value)) return "access.value is no bearer token";
  if (isGiven(access.expiresAt) && !isInstant(access.expiresAt)) return "access.expiresAt is no instant";
  if (typeof set.refreshToken !== "string" || set.refreshToken === "") return "refreshToken is missing";
  if (!isInstant(set.issuedAt)) return "issuedAt is no instant";
  if (typeof set.version !== "string" || set.version === "") return "version is missing";
  for (const field of ["refusedAt", "refusedEarlyAt", "limitedUntil"] as const)
    if (isGiven(set[field]) && !isInstant(set[field])) return `${field} is no instant`;
  if (isGiven(set.scope) && typeof set.scope !== "string") return "scope is no text";
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Some databases return `null` for a missing field. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** Epoch milliseconds. */
export function isInstant(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** The property is not enumerable, so copies, comparisons and JSON contain plain data only. */
function hidden<T extends object>(object: T, shown: (this: T) => object): T {
  return Object.defineProperty(object, INSPECT, { value: shown });
}

function withoutTokens(this: TokenSet): object {
  const { domainPrefix, issuedAt, version } = this;
  const shown = { domainPrefix, access: "[hidden]", refreshToken: "[hidden]", issuedAt, version };
  return withOptional(shown, this);
}

function withoutValue(this: AccessToken): object {
  return { value: "[hidden]", expiresAt: this.expiresAt };
}

/**
 * Whether two sets come from one token request. If a process writes `refusedAt` or `limitedUntil` on a set, the set
 * gets a new version and keeps its access token.
 */
export function haveSameAccess(one: TokenSet, other: TokenSet): boolean {
  return one.access.value === other.access.value && one.issuedAt === other.issuedAt;
}
