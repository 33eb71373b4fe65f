import type { RateLimit } from "./rate-limit.js";

/** One stable word for each kind of failure; each belongs to one class below. */
export type RetailPosErrorCode =
  | "invalid_domain_prefix"
  | "retailer_not_accepted"
  | "not_connected"
  | "reconnect_required"
  | "rate_limited"
  | "token_endpoint_failed"
  | "bad_token_response"
  | "client_refused"
  | "store_failed"
  | "bad_stored_tokens";

/** Details that every error of this library may carry besides its message. */
export interface RetailPosErrorDetails {
  /** The retailer concerned, if one is known. */
  readonly domainPrefix?: string | undefined;
  /** The error behind this one, without secrets. */
  readonly cause?: unknown;
}

// Registered, so that two copies of this package in one process recognise each other's errors.
const brand = Symbol.for("@retail-pos/core/error");

/**
 * Base of all errors of this library. `status`, `statusCode`, `headers`, `expose` and `getResponse` are what Express,
 * Koa, Fastify, Nest and Hono look at, so their default error handlers answer right. No token, code or client secret
 * is ever in a message, a property or a cause.
 */
export class RetailPosError extends Error {
  /** Which of the errors it is; TypeScript tells the class by it after {@link isRetailPosError}. */
  readonly code: RetailPosErrorCode;
  /** The HTTP status an application's error handler should answer with. */
  readonly status: number;
  /** The same, under the name that Fastify and Nest look for. */
  readonly statusCode: number;
  /** Whether the message may be shown to the person at the other end (true below 500). */
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
   * The answer for the person at the other end, as Hono's default error handler wants it: `status`, `headers`, and in
   * plain text the message, or the status's own words if the message is not for everybody (`expose`). New at each call.
   */
  getResponse(): Response {
    return responseTo(this);
  }

  static {
    Object.defineProperty(RetailPosError.prototype, brand, { value: true });
  }
}

/** A domain prefix is not one DNS label. Nothing was sent. */
export class InvalidDomainPrefixError extends RetailPosError {
  declare readonly code: "invalid_domain_prefix";
  /** @param why what came instead, in words that do not show it. */
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

/** The service refused the refresh token, or the API refuses a personal token: only a person can mend it. */
export class ReconnectRequiredError extends RetailPosError {
  declare readonly code: "reconnect_required";
  constructor(message: string, details: RetailPosErrorDetails = {}) {
    super("reconnect_required", 401, message, details);
  }
}

/**
 * Nothing is sent to this retailer's token endpoint before `retryAt`. It answered 429 (section 8); or this is a login,
 * and the last code was refused, too many wait, or what is left of the limit is kept for renewals. The message says.
 */
export class RateLimitedError extends RetailPosError {
  declare readonly code: "rate_limited";
  /** When the next token request for this retailer may go out, epoch milliseconds. */
  readonly retryAt: number;
  /** The service's rate limit, if it said one that is usable. */
  declare readonly rateLimit?: RateLimit;
  declare readonly headers: Readonly<Record<string, string>>;

  /** @param now the instant the error is made, epoch milliseconds; `Retry-After` counts from it. */
  constructor(
    retryAt: number,
    now: number,
    rateLimit?: RateLimit,
    details: RetailPosErrorDetails & {
      /** What the token endpoint's retry waits for, after "The token endpoint"; default "is rate limited". */
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

/** The token endpoint could not be used: network, timeout, redirect or an unexpected status. */
export class TokenEndpointError extends RetailPosError {
  declare readonly code: "token_endpoint_failed";
  /** The HTTP status the token endpoint answered with, if it answered. */
  declare readonly endpointStatus?: number;
  /** The OAuth error code of the answer (RFC 6749, section 5.2), if it named one. */
  declare readonly error?: string;
  /** The answer's `error_description`, cleaned of control characters and of everything secret. */
  declare readonly errorDescription?: string;

  constructor(
    message: string,
    details: RetailPosErrorDetails & {
      /** What an HTTP handler should answer; default 502. 403 for a code that the service refused. */
      status?: 403 | undefined;
      endpointStatus?: number | undefined;
      error?: string | undefined;
      errorDescription?: string | undefined;
    } = {},
  ) {
    super("token_endpoint_failed", details.status ?? 502, message, details);
    if (details.endpointStatus !== undefined) this.endpointStatus = details.endpointStatus;
    if (details.error !== undefined) this.error = details.error;
    if (details.errorDescription !== undefined) this.errorDescription = details.errorDescription;
  }
}

/** The token endpoint answered 2xx with something that is no usable token response (2.2). */
export class TokenResponseError extends RetailPosError {
  declare readonly code: "bad_token_response";
  constructor(message: string, details: RetailPosErrorDetails = {}) {
    super("bad_token_response", 502, message, details);
  }
}

/**
 * The API answers 401 to a token that was only just issued, so another token would not help. `fetch` then returns the
 * API's own answer. Users see a {@link TokenResponseError}; the difference matters inside core only.
 */
export class RejectedByApiError extends TokenResponseError {}

/** The service refuses the application's own credentials: nobody should be sent to log in. */
export class ClientRefusedError extends RetailPosError {
  declare readonly code: "client_refused";
  /** `invalid_client` or `unauthorized_client` (RFC 6749, section 5.2). */
  readonly error: string;

  constructor(error: string, details: RetailPosErrorDetails = {}) {
    super(
      "client_refused",
      500,
      `The service refuses this application (${error}); check clientId and clientSecret`,
      details,
    );
    this.error = error;
  }
}

/** The operation of the store, or of the lock, that failed. */
export type StoreOperation = "load" | "save" | "remove" | "list" | "claim" | "lock";

/**
 * The store rejected or did not answer, or the lock could not be taken. Nothing is wrong with the retailer's login:
 * try again when the store is back. `cause` is the store's error, without secrets.
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

/** A store returned a record that is no token set of this retailer. It is left as it is. */
export class StoredTokensError extends RetailPosError {
  declare readonly code: "bad_stored_tokens";
  /** Nothing is wrong with the record, but another application (client id) keeps it here; a login changes nothing. */
  get isOfAnotherApplication(): boolean {
    return false;
  }
  /** @param remedy ends the message: how to mend it, or that nothing was changed. */
  constructor(problem: string, details: RetailPosErrorDetails = {}, remedy = "Logging in again replaces it") {
    super(
      "bad_stored_tokens",
      500,
      `What is stored${details.domainPrefix === undefined ? "" : ` for retailer "${details.domainPrefix}"`} is unusable: ${problem}. ${remedy}`,
      details,
    );
  }
}

// On the prototypes, so that a name is no field of each error, and stays when code is made smaller.
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
 * Whether an error is one of this library's, also when it comes from another copy of the package. Its `code`
 * then tells TypeScript the class: behind `error.code === "rate_limited"` there is a `retryAt`.
 */
export function isRetailPosError(error: unknown): error is AnyRetailPosError {
  return typeof error === "object" && error !== null && (error as { [brand]?: unknown })[brand] === true;
}

/** Whether the store or the lock failed, also as another copy of the package says it. */
export function isStoreFailure(error: unknown): error is StoreFailedError {
  return isRetailPosError(error) && error.code === "store_failed";
}

function ofRetailer({ domainPrefix }: RetailPosErrorDetails): string {
  return domainPrefix === undefined ? "" : ` of retailer "${domainPrefix}"`;
}

/** The reason phrases of RFC 9110, section 15, for the statuses that our errors have. */
const REASONS: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** The answer of an HTTP handler to an error of ours. It has the message only if anybody may see it. */
export function responseTo(error: {
  readonly status: number;
  readonly message: string;
  readonly expose: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}): Response {
  const { status, message, expose } = error;
  const headers = new Headers(error.headers);
  headers.set("content-type", "text/plain; charset=utf-8");
  headers.set("x-content-type-options", "nosniff");
  headers.set("cache-control", "no-store");
  return new Response(expose ? message : (REASONS[status] ?? "Error"), { status, headers });
}

/** A value of the wrong kind, in words that do not show it. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null || typeof value === "boolean") return String(value);
  if (value === "") return "an empty text";
  if (typeof value === "string") return "a text";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Promise) return "a promise";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
