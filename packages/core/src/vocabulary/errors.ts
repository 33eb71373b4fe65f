import type { RateLimit } from "./rate-limit.js";

/** The `code` of each error class below. Codes do not change between versions. */
export type RetailPosErrorCode = AnyRetailPosError["code"];

/** Details that every error of this library may have besides its message. */
export interface RetailPosErrorDetails {
  /** The retailer concerned, if one is known. */
  readonly domainPrefix?: string | undefined;
  /** The error behind this one, without secrets. */
  readonly cause?: unknown;
}

/** What the token endpoint answered, if it did. */
interface EndpointAnswer {
  /** The HTTP status. */
  readonly endpointStatus?: number | undefined;
  /** The OAuth error code (RFC 6749, section 5.2). */
  readonly error?: string | undefined;
  /** The `error_description`, without control characters and secrets. */
  readonly errorDescription?: string | undefined;
}

// In the global symbol registry, so that two copies of this package recognise each other's errors.
const brand = Symbol.for("@retail-pos/core/error");

/**
 * Base of all errors of this library. The default error handlers of Express, Koa, Fastify, Nest and Hono read `status`,
 * `statusCode`, `headers`, `expose` or `getResponse`, and so answer correctly. No message, property or cause shows a
 * token, a code or the client secret.
 */
export class RetailPosError extends Error {
  /** Which error it is; after {@link isRetailPosError}, TypeScript knows the class by it. */
  readonly code: RetailPosErrorCode;
  /** The HTTP status that an application's error handler should answer with. */
  readonly status: number;
  /** The same, under the name that Fastify and Nest read. */
  readonly statusCode: number;
  /** Whether the message may be shown to the person in the browser; `true` if `status` is below 500. */
  readonly expose: boolean;
  /** Headers for that answer, for example `Retry-After`. */
  declare readonly headers?: Readonly<Record<string, string>>;
  /** The retailer concerned, if one is known. */
  declare readonly domainPrefix?: string;

  constructor(
    code: RetailPosErrorCode,
    status: number,
    message: string,
    { domainPrefix, cause }: RetailPosErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.statusCode = status;
    this.expose = status < 500;
    if (domainPrefix !== undefined) this.domainPrefix = domainPrefix;
  }

  /**
   * The answer for the person in the browser, as Hono's default error handler needs it: `status`, `headers`, and as
   * plain text the message, or only the status's reason phrase if `expose` is `false`. Each call makes a new
   * `Response`.
   */
  getResponse(): Response {
    const headers = new Headers(this.headers);
    headers.set("content-type", "text/plain; charset=utf-8");
    headers.set("x-content-type-options", "nosniff");
    headers.set("cache-control", "no-store");
    const { status, message } = this;
    return new Response(this.expose ? message : (REASONS[status] ?? "Error"), { status, headers });
  }

  static {
    Object.defineProperty(RetailPosError.prototype, brand, { value: true });
  }
}

/** An error that may come from an answer of the token endpoint. */
abstract class AnsweredError extends RetailPosError implements EndpointAnswer {
  /** The HTTP status that the token endpoint answered with, if it answered. */
  declare readonly endpointStatus?: number;
  /** The OAuth error code of the answer (RFC 6749, section 5.2), if it had one. */
  declare readonly error?: string;
  /** The answer's `error_description`, without control characters and secrets. */
  declare readonly errorDescription?: string;

  constructor(
    code: RetailPosErrorCode,
    status: number,
    message: string,
    details: RetailPosErrorDetails & EndpointAnswer,
  ) {
    super(code, status, message, details);
    const { endpointStatus, error, errorDescription } = details;
    if (endpointStatus !== undefined) this.endpointStatus = endpointStatus;
    if (error !== undefined) this.error = error;
    if (errorDescription !== undefined) this.errorDescription = errorDescription;
  }
}

/** A domain prefix is not one DNS label. Nothing was sent. */
export class InvalidDomainPrefixError extends RetailPosError {
  declare readonly code: "invalid_domain_prefix";
  /** @param why describes the value that was given, without showing it. */
  constructor(why?: string) {
    const problem = "The domain prefix is not one DNS label (letters, digits, hyphens)";
    super("invalid_domain_prefix", 400, why === undefined ? problem : `${problem}: ${why}`);
  }
}

/** The application's `acceptRetailer` said no to a login as this retailer. Nothing was sent. */
export class RetailerNotAcceptedError extends RetailPosError {
  declare readonly code: "retailer_not_accepted";
  constructor(details: RetailPosErrorDetails = {}) {
    const who = details.domainPrefix === undefined ? "This retailer" : `Retailer "${details.domainPrefix}"`;
    super("retailer_not_accepted", 403, `${who} is not accepted here`, details);
  }
}

/** Nothing is stored for the retailer, or no retailer is known: send them through login. */
export class NotConnectedError extends RetailPosError {
  declare readonly code: "not_connected";
  constructor(details: RetailPosErrorDetails = {}) {
    const what =
      details.domainPrefix === undefined
        ? "No retailer is connected (the `retailer` option returned nothing)"
        : `Retailer "${details.domainPrefix}" is not connected`;
    super("not_connected", 401, `${what}; log in with the store first`, details);
  }
}

/**
 * The service refused the refresh token, or the API refused a Personal Token. Only a person can help: with a new login,
 * or with a new Personal Token. What the service answered is known only to the process that got the answer.
 */
export class ReconnectRequiredError extends AnsweredError {
  declare readonly code: "reconnect_required";
  constructor(message: string, details: RetailPosErrorDetails & EndpointAnswer = {}) {
    super("reconnect_required", 401, message, details);
  }
}

/**
 * Core sends nothing to this retailer's token endpoint before `retryAt`. The endpoint answered 429 (section 8). Or this
 * is a login, and the service refused the last code, too many logins wait, or the rest of the rate limit is kept for
 * renewals. The message says which.
 */
export class RateLimitedError extends RetailPosError {
  declare readonly code: "rate_limited";
  /** When the next token request for this retailer may be sent, epoch milliseconds. */
  readonly retryAt: number;
  /** The service's rate limit, if an answer had a usable one. */
  declare readonly rateLimit?: RateLimit;
  declare readonly headers: Readonly<Record<string, string>>;

  /** @param now the current time, epoch milliseconds; `Retry-After` counts from it. */
  constructor(
    retryAt: number,
    now: number,
    rateLimit?: RateLimit,
    details: RetailPosErrorDetails & {
      /** The reason, completing the sentence "The token endpoint ..."; default "is rate limited". */
      why?: string;
    } = {},
  ) {
    const { why = "is rate limited" } = details;
    const message = `The token endpoint${ofRetailer(details)} ${why}; next request at ${new Date(retryAt).toISOString()}`;
    super("rate_limited", 503, message, details);
    this.retryAt = retryAt;
    if (rateLimit) this.rateLimit = rateLimit;
    this.headers = { "Retry-After": String(Math.max(1, Math.ceil((retryAt - now) / 1000))) };
  }
}

/** The token request failed: network, timeout, redirect or an unexpected status. */
export class TokenEndpointError extends AnsweredError {
  declare readonly code: "token_endpoint_failed";
  constructor(
    message: string,
    details: RetailPosErrorDetails &
      EndpointAnswer & {
        /**
         * The HTTP status that an error handler should answer with; default 502, and 403 if the service refused a code.
         */
        status?: 403 | undefined;
      } = {},
  ) {
    super("token_endpoint_failed", details.status ?? 502, message, details);
  }
}

/** The token endpoint answered 2xx, but the body is not a usable token response (2.2). */
export class TokenResponseError extends RetailPosError {
  declare readonly code: "bad_token_response";
  constructor(message: string, details: RetailPosErrorDetails = {}) {
    super("bad_token_response", 502, message, details);
  }
}

/**
 * The API answers 401 to a token that was only just issued, so another token would not help. `fetch` then returns the
 * API's own answer. For users it is a {@link TokenResponseError}; only core uses the difference.
 */
export class RejectedByApiError extends TokenResponseError {}

/**
 * The service refused a refresh while the access token was valid; some services renew no token before its end. That is
 * no verdict on the refresh token (behaviour 8). Users see a {@link TokenEndpointError}.
 */
export class RefusedEarlyError extends TokenEndpointError {}

/** A 503 with `Retry-After`: the next renewal waits at least so long. Users see a {@link TokenEndpointError}. */
export class UnavailableError extends TokenEndpointError {
  /** Epoch milliseconds. */
  readonly retryAt: number;
  constructor(
    message: string,
    details: RetailPosErrorDetails & EndpointAnswer & { readonly retryAt: number },
  ) {
    super(message, details);
    this.retryAt = details.retryAt;
  }
}

/** The service refuses the application's own credentials: a new login does not help. */
export class ClientRefusedError extends AnsweredError {
  declare readonly code: "client_refused";
  /** `invalid_client` or `unauthorized_client` (RFC 6749, section 5.2). */
  declare readonly error: string;
  constructor(error: string, details: RetailPosErrorDetails & EndpointAnswer = {}) {
    const { errorDescription } = details;
    const said = errorDescription === undefined ? error : `${error}: ${errorDescription}`;
    const message = `The service refuses this application (${said}); check clientId and clientSecret`;
    super("client_refused", 500, message, { ...details, error });
  }
}

/** The operation of the store, or of the lock, that failed. */
export type StoreOperation = "load" | "save" | "remove" | "list" | "claim" | "lock";

/**
 * The store rejected or did not answer, or the lock could not be taken. The retailer's login is not affected: try again
 * when the store works. `cause` is the store's error, without secrets.
 */
export class StoreFailedError extends RetailPosError {
  declare readonly code: "store_failed";
  /** The operation that failed. */
  readonly operation: StoreOperation;

  constructor(operation: StoreOperation, problem: string, details: RetailPosErrorDetails = {}) {
    super("store_failed", 503, problem, details);
    this.operation = operation;
  }
}

/** A store returned a record that is not a token set of this retailer. Core does not change the record. */
export class StoredTokensError extends RetailPosError {
  declare readonly code: "bad_stored_tokens";
  /** Whether the record is a valid one of another application (client id). Logging in again would not help then. */
  get isOfAnotherApplication(): boolean {
    return false;
  }
  /** @param remedy the last sentence of the message: what to do, or that nothing was changed. */
  constructor(problem: string, details: RetailPosErrorDetails = {}, remedy = "Logging in again replaces it") {
    super(
      "bad_stored_tokens",
      500,
      `What is stored${details.domainPrefix === undefined ? "" : ` for retailer "${details.domainPrefix}"`} is unusable: ${problem}. ${remedy}`,
      details,
    );
  }
}

// On the prototypes, so that `name` is not a field of each error, and a minifier does not change it.
const NAMED = {
  RetailPosError,
  InvalidDomainPrefixError,
  RetailerNotAcceptedError,
  NotConnectedError,
  ReconnectRequiredError,
  RateLimitedError,
  TokenEndpointError,
  TokenResponseError,
  ClientRefusedError,
  StoreFailedError,
  StoredTokensError,
};
for (const [name, { prototype }] of Object.entries(NAMED)) prototype.name = name;

/** Every error of this library, by `code`. */
export type AnyRetailPosError =
  | InvalidDomainPrefixError
  | RetailerNotAcceptedError
  | NotConnectedError
  | ReconnectRequiredError
  | RateLimitedError
  | TokenEndpointError
  | TokenResponseError
  | ClientRefusedError
  | StoreFailedError
  | StoredTokensError;

/**
 * Whether an error is one of this library's, also if it comes from another copy of the package. TypeScript then knows
 * the class by its `code`: after `error.code === "rate_limited"` there is a `retryAt`.
 */
export function isRetailPosError(error: unknown): error is AnyRetailPosError {
  return typeof error === "object" && error !== null && (error as { [brand]?: unknown })[brand] === true;
}

/** Whether the error is a `StoreFailedError`, also one from another copy of the package. */
export function isStoreFailure(error: unknown): error is StoreFailedError {
  return isRetailPosError(error) && error.code === "store_failed";
}

function ofRetailer({ domainPrefix }: RetailPosErrorDetails): string {
  return domainPrefix === undefined ? "" : ` of retailer "${domainPrefix}"`;
}

/** The reason phrases of RFC 9110, section 15, for the statuses of our errors whose message is not shown. */
const REASONS: Record<number, string> = {
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** Names the kind of a value, for messages that must not show the value. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null || typeof value === "boolean") return String(value);
  if (value === "") return "an empty text";
  if (typeof value === "string") return "a text";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Promise) return "a promise";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
