import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { LAST_PLAUSIBLE_SECOND } from "../vocabulary/rate-limit.js";
import { type AccessToken, isUsableBearer, isUsableRefreshToken } from "../vocabulary/token-set.js";

/** The usable contents of a 2xx answer of the token endpoint (2.2). */
export interface TokenResponse {
  /** Absent if there is no usable `access_token`. */
  readonly access?: AccessToken;
  /** Absent if the field is not a non-empty text of at most 16 kB: then the stored one stays (R4). */
  readonly refreshToken?: string;
  /** The granted scope, if the answer has one that is not empty. */
  readonly scope?: string;
  /** The answer names another retailer than the one that was asked. It must not be used. */
  readonly otherRetailer?: true;
  /** Oddities of the other fields. Core refuses a login that has any, and saves a renewal anyway (behaviour 3). */
  readonly oddities: readonly string[];
}

/**
 * Reads the body of a 2xx answer. It returns the tokens and the oddities separately: the caller may refuse a login for
 * an oddity, but must not lose a rotated refresh token.
 *
 * @param requestedAt when the request was sent, epoch milliseconds: `expires_in` counts from it.
 * @returns `undefined` if the body is no JSON object.
 */
export function readTokenResponse(
  body: string,
  domainPrefix: DomainPrefix,
  requestedAt: number,
): TokenResponse | undefined {
  const fields = jsonObject(body);
  if (!fields) return undefined;
  const { access_token: value, refresh_token: refreshToken, scope, domain_prefix: named } = fields;
  const expiresAt = expiryOf(fields, requestedAt);
  return {
    ...(isUsableBearer(value) && { access: { value, ...(expiresAt !== undefined && { expiresAt }) } }),
    ...(isUsableRefreshToken(refreshToken) && { refreshToken }),
    ...(isScope(scope) && { scope }),
    ...(namesAnother(named, domainPrefix) && { otherRetailer: true }),
    oddities: odditiesOf(fields),
  };
}

/** As a number: see scripts/bundle.mjs. */
const BYTE_ORDER_MARK = 0xfeff;

/**
 * The fields of a JSON object; `undefined` for any other body. It does not throw, as a parse error repeats the body.
 */
export function jsonObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.charCodeAt(0) === BYTE_ORDER_MARK ? body.slice(1) : body);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The expiry by `expires_in`, counted from the request, else by `expires` (R5, R6). The spec does not say what an
 * instant in the past means. Core takes it as no usable expiry and uses the token until the API rejects it; otherwise
 * it would renew the token for every call.
 */
function expiryOf({ expires_in, expires }: Record<string, unknown>, requestedAt: number): number | undefined {
  const candidates = [requestedAt + seconds(expires_in) * 1000, seconds(expires) * 1000];
  return candidates.find((at) => at > requestedAt);
}

/** Scope tokens with a space between (RFC 6749, section 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** A bound on its length, because it is stored and shown. */
function isScope(value: unknown): value is string {
  return typeof value === "string" && value.length <= 4096 && SCOPE.test(value);
}

/** Not a number, if the value is unusable. */
function seconds(value: unknown): number {
  const isNumeric =
    typeof value === "number" || (typeof value === "string" && /^\s*\d+(\.\d+)?\s*$/.test(value));
  const number = isNumeric ? Number(value) : Number.NaN;
  return number > 0 && number < LAST_PLAUSIBLE_SECOND ? number : Number.NaN;
}

/** Whether `domain_prefix` names another retailer (behaviour 11). Absent, `null` or empty it names none (2.2). */
function namesAnother(value: unknown, asked: DomainPrefix): boolean {
  if (typeof value !== "string" || value === "") return false;
  try {
    return parseDomainPrefix(value) !== asked;
  } catch {
    return true;
  }
}

function odditiesOf({ token_type, domain_prefix, error }: Record<string, unknown>): string[] {
  const oddities: string[] = [];
  const type = token_type ?? "Bearer";
  if (typeof type !== "string" || !/^bearer$/i.test(type)) oddities.push("its token_type is not Bearer");
  if (typeof (domain_prefix ?? "") !== "string") oddities.push("its domain_prefix is no text");
  if ((error ?? "") !== "") oddities.push("it carries an error field");
  return oddities;
}
