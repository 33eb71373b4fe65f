import type { CheckedOptions } from "../settings/options.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import {
  ReconnectRequiredError,
  RefusedEarlyError,
  type RetailPosError,
  TokenEndpointError,
} from "../vocabulary/errors.js";
import type { RateLimit } from "../vocabulary/rate-limit.js";

/** `grant_type` (4.2, 4.3). */
export type GrantType = "authorization_code" | "refresh_token";

/** One token request before it is sent: its form, and how to make its errors, which show no secret. */
export interface TokenRequest {
  readonly type: GrantType;
  readonly domainPrefix: DomainPrefix;
  readonly form: Readonly<Record<string, string>>;
  /** The values that no error may show, whatever the service repeats. */
  readonly secrets: readonly string[];
  /** The error for an answer that refuses the code or the refresh token. */
  readonly refused: (details: Refusal) => RetailPosError;
  /** The same while the access token is valid: then no refusal is a verdict, whatever it says (behaviour 8). */
  readonly refusedEarly?: (details: Refusal) => RetailPosError;
  readonly parseErrorResponse?: ExchangeExtra["parseErrorResponse"];
}

/** What an answer that refuses said: its status, and the OAuth error (RFC 6749, section 5.2) if it has one. */
export interface Refusal {
  readonly endpointStatus: number;
  readonly error: string | undefined;
  readonly errorDescription: string | undefined;
}

/** Options of one exchange. */
export interface ExchangeExtra {
  /** The `redirect_uri` of this login, if it differs from the configured one. https, or http on loopback. */
  redirectUri?: string | undefined;
  /** Further form parameters; the five of 4.2 cannot be replaced. */
  params?: Record<string, string>;
  /**
   * May turn an error answer (neither 2xx nor 429) into another error. For `undefined` or `null`, core throws its own.
   */
  parseErrorResponse?: ((body: string, status: number) => Error | null | undefined) | undefined;
}

export interface TokenRequestOptions
  extends Pick<CheckedOptions, "clientId" | "clientSecret" | "redirectUri"> {
  logins?: LoginObserver;
}

/** Told what the next logins of a retailer have to know. */
export interface LoginObserver {
  /** The rate limit in an answer, good or bad, to a login or a renewal (section 8). */
  answered(domainPrefix: DomainPrefix, rateLimit: RateLimit): void;
  /** The service refused a code. */
  codeRefused(domainPrefix: DomainPrefix): void;
}

/** The access token that is renewed. */
export interface RefreshedAccess {
  /** Its value. A service that says which token is still valid may repeat it. */
  accessToken?: string;
  /** Whether it is valid: then a refusal is no verdict. */
  isEarly?: boolean;
}

/**
 * Exchanges a login's code (4.2).
 *
 * @param held the retailer's tokens of an earlier login. A service that refuses the code may repeat them.
 */
export function codeRequest(
  options: TokenRequestOptions,
  domainPrefix: DomainPrefix,
  code: string,
  extra: ExchangeExtra = {},
  held: readonly string[] = [],
): TokenRequest {
  const { redirectUri = options.redirectUri, params, parseErrorResponse } = extra;
  const type = "authorization_code";
  const redirect = redirectUri !== undefined && { redirect_uri: redirectUri };
  const form = { ...params, grant_type: type, code, ...redirect, ...credentials(options) };
  const refused = (details: Refusal) => {
    options.logins?.codeRefused(domainPrefix);
    return codeRefused(domainPrefix, details);
  };
  const secrets = [code, options.clientSecret, ...held];
  return { type, domainPrefix, form, secrets, refused, parseErrorResponse };
}

/** 4.3: spends a refresh token. */
export function refreshRequest(
  options: TokenRequestOptions,
  domainPrefix: DomainPrefix,
  refreshToken: string,
  { accessToken, isEarly }: RefreshedAccess,
): TokenRequest {
  const type = "refresh_token";
  const form = { grant_type: type, refresh_token: refreshToken, ...credentials(options) };
  const refused = (details: Refusal) => refreshTokenRefused(domainPrefix, details);
  const early = { refusedEarly: (details: Refusal) => refusedEarly(domainPrefix, details) };
  const secrets = [refreshToken, options.clientSecret, ...(accessToken === undefined ? [] : [accessToken])];
  return { type, domainPrefix, form, secrets, refused, ...(isEarly && early) };
}

function credentials({ clientId, clientSecret }: TokenRequestOptions) {
  return { client_id: clientId, client_secret: clientSecret };
}

function codeRefused(domainPrefix: DomainPrefix, details: Refusal): TokenEndpointError {
  return new TokenEndpointError(
    `The service refused the code of retailer "${domainPrefix}" (${wordsOf(details)}): expired after 10 minutes, ` +
      "already used, or made for another address. Start again with the login",
    { domainPrefix, status: 403, ...details, error: "invalid_grant" },
  );
}

function refreshTokenRefused(domainPrefix: DomainPrefix, details: Refusal): ReconnectRequiredError {
  return new ReconnectRequiredError(
    `The service refused the refresh token of retailer "${domainPrefix}" (${wordsOf(details)}); log in with the store again`,
    { domainPrefix, ...details },
  );
}

function refusedEarly(domainPrefix: DomainPrefix, details: Refusal): RefusedEarlyError {
  return new RefusedEarlyError(
    `The service refused to renew the access token of retailer "${domainPrefix}" before its end ` +
      `(${wordsOf(details)}); it is used until then, unless another process has replaced it`,
    { domainPrefix, ...details },
  );
}

/** What the service said, for an operator: such as `400 invalid_grant: Refresh token reuse detected`. */
export function wordsOf({ endpointStatus, error, errorDescription }: Refusal): string {
  const status = error === undefined ? String(endpointStatus) : `${endpointStatus} ${error}`;
  return errorDescription === undefined ? status : `${status}: ${errorDescription}`;
}
