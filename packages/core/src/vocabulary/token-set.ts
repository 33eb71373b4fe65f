import type { DomainPrefix } from "./domain-prefix.js";
import { StoredTokensError } from "./errors.js";

/** A token as it is handed out: a bearer credential and when it ends. */
export interface AccessToken {
  /** Goes behind `Authorization: Bearer ` (4.4). */
  readonly value: string;
  /** Epoch milliseconds; absent when the service named no usable expiry. */
  readonly expiresAt?: number;
}

/** Everything that a store keeps for one retailer. The refresh token goes nowhere else. */
export interface TokenSet {
  /** The retailer whose tokens these are. */
  readonly domainPrefix: DomainPrefix;
  /** The access token, and when it ends. */
  readonly access: AccessToken;
  /** Sent to ask for a renewal (4.3). If the answer brings a new one, that replaces it (R4). */
  readonly refreshToken: string;
  /** When the token request behind this set was sent, epoch milliseconds. */
  readonly issuedAt: number;
  /** New for every set ever made; compare-and-set compares this. */
  readonly version: string;
  /** When the service refused the refresh token, epoch milliseconds, if it did. */
  readonly refusedAt?: number;
  /** The service answered 429: no token request for the retailer before, in any process; epoch milliseconds. */
  readonly limitedUntil?: number;
  /** The granted scope, if the service said one that is not empty (2.2). */
  readonly scope?: string;
}

/** The fields that a set may lack. */
const OPTIONAL = ["refusedAt", "limitedUntil", "scope"] as const satisfies readonly (keyof TokenSet)[];

const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");

/** Whether a text can stand behind `Bearer ` in a header (RFC 6750, section 2.1, without its narrower alphabet). */
export function isBearerValue(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}

/** A copy of a token set that can be printed (`console.log`, `util.inspect`) without showing a token. */
export function quiet(set: TokenSet): TokenSet {
  const { domainPrefix, access, refreshToken, issuedAt, version } = set;
  const copy = { domainPrefix, access: quietAccess(access), refreshToken, issuedAt, version };
  return hidden(withOptional(copy, set), withoutTokens);
}

/** The same for a token that is handed out. */
export function quietAccess({ value, expiresAt }: AccessToken): AccessToken {
  return hidden(isGiven(expiresAt) ? { value, expiresAt } : { value }, withoutValue);
}

/**
 * Checks a record that a store returned: a stranger's bytes until proven otherwise. The retailer's calls need none of
 * this: core checks what it loads.
 *
 * @param record what `load` gave.
 * @param domainPrefix whose it has to be.
 * @returns a copy, which can be printed without showing a token.
 * @throws {StoredTokensError} naming the field, never its value.
 */
export function checkStored(record: unknown, domainPrefix: DomainPrefix): TokenSet {
  let copy: unknown;
  try {
    copy = copied(record);
  } catch {
    throw new StoredTokensError("it cannot be read", { domainPrefix }); // an error thrown by a getter may show anything
  }
  const problem = problemWith(copy, domainPrefix);
  if (problem) throw new StoredTokensError(problem, { domainPrefix });
  return quiet(copy as TokenSet);
}

/** Reads each field once: if the record has getters, they could give one value to the check and another later. */
export function copied(record: unknown): unknown {
  if (typeof record !== "object" || record === null) return record;
  const { domainPrefix, access, refreshToken, issuedAt, version } = record as TokenSet;
  const copy = { domainPrefix, access: copiedAccess(access), refreshToken, issuedAt, version };
  return withOptional(copy, record);
}

function copiedAccess(access: unknown): unknown {
  if (typeof access !== "object" || access === null) return undefined;
  const { value, expiresAt } = access as AccessToken;
  return { value, expiresAt };
}

/** The copy, with those of the optional fields that the set has. Each is read once. */
function withOptional<T extends object>(copy: T, set: object): T {
  for (const field of OPTIONAL) {
    const value = (set as TokenSet)[field];
    if (isGiven(value)) (copy as Record<string, unknown>)[field] = value;
  }
  return copy;
}

/** Why a value is no token set of this retailer; names the field, never its value. */
export function problemWith(record: unknown, domainPrefix: DomainPrefix): string | undefined {
  if (typeof record !== "object" || record === null) return "it is no object";
  const set = record as { [field in keyof TokenSet]?: unknown };
  if (set.domainPrefix !== domainPrefix) return "it belongs to another retailer";
  const access = set.access as { [field in keyof AccessToken]?: unknown } | null | undefined;
  if (typeof access !== "object" || access === null) return "access is missing";
  if (!isBearerValue(access.value)) return "access.value is no bearer token";
  if (isGiven(access.expiresAt) && !isInstant(access.expiresAt)) return "access.expiresAt is no instant";
  if (typeof set.refreshToken !== "string" || set.refreshToken === "") return "refreshToken is missing";
  if (!isInstant(set.issuedAt)) return "issuedAt is no instant";
  if (typeof set.version !== "string" || set.version === "") return "version is missing";
  if (isGiven(set.refusedAt) && !isInstant(set.refusedAt)) return "refusedAt is no instant";
  if (isGiven(set.limitedUntil) && !isInstant(set.limitedUntil)) return "limitedUntil is no instant";
  if (isGiven(set.scope) && typeof set.scope !== "string") return "scope is no text";
  return undefined;
}

/** `null` is how a database says that there is none. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

function isInstant(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Not enumerable, so copies, comparisons and JSON see plain data only. */
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

/** A mark or a note gives a set a new version, and leaves its access token what it was. */
export function haveSameAccess(one: TokenSet, other: TokenSet): boolean {
  return one.access.value === other.access.value && one.issuedAt === other.issuedAt;
}
