import { type DomainPrefix, isRetailPosError, parseDomainPrefix } from "@retail-pos/core";
import type { Request } from "express";
import OAuth2Strategy from "passport-oauth2";
import { LoginFailure } from "./login-failure.js";

/** What a good callback carries (2.3). */
export interface Callback {
  readonly code: string;
  readonly domainPrefix: DomainPrefix;
  readonly state: string;
}

/** What a callback carries if the service reports an error (RFC 6749, section 4.1.2.1). A stranger may have written it. */
export interface ErrorCallback {
  readonly error: string;
  readonly description: string | undefined;
  readonly uri: string | undefined;
  /** Absent only beside `access_denied`. */
  readonly state: string | undefined;
}

const PARAMETERS = ["code", "domain_prefix", "state", "scope", "error", "error_description", "error_uri"];
/** The one error that needs no state: it changes nothing. */
export const ACCESS_DENIED = "access_denied";
/** A code longer than this is no code of any service we know; the spec names no length. */
const LONGEST_CODE = 4096;

/** The query as the framework parsed it, or parsed here where none did (or `query parser` is off). */
export function queryOf(req: Request): Record<string, unknown> {
  if (req.query && Object.keys(req.query).length > 0) return req.query;
  const query: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URL(req.url, "http://localhost").searchParams) {
    query[name] = query[name] === undefined ? value : [query[name], value].flat();
  }
  return query;
}

/**
 * Whether a request is the service's redirect back to us and not the start of a login. One route may
 * serve both, and a start may have a query of its own; on the callback's own path even a crippled
 * callback is recognised.
 *
 * @param callbackURL absolute, or relative to the request.
 */
export function isCallback(req: Request, callbackURL: string): boolean {
  const has = (name: string) =>
    Object.keys(queryOf(req)).some((key) => key === name || key.startsWith(`${name}[`));
  if (has("code") || has("error")) return true;
  if (has("state") && has("domain_prefix")) return true;
  if (!has("state") && !has("domain_prefix")) return false;
  const here = new URL(req.originalUrl ?? req.url, "http://localhost");
  return here.pathname === new URL(callbackURL, here).pathname;
}

/**
 * Checks every parameter before any of them is used.
 *
 * @throws {LoginFailure} `invalid_callback`, `invalid_domain_prefix` or `state_missing`.
 */
export function readCallback(req: Request): Callback | ErrorCallback {
  if (req.method !== undefined && req.method !== "GET") {
    throw new LoginFailure(
      "invalid_callback",
      `The callback is a GET request, not ${req.method}; the code was not used`,
    );
  }
  const query = queryOf(req);
  for (const name of PARAMETERS) refuseRepeated(query, name);
  const { code, domain_prefix, state, error, error_description, error_uri } = query as Record<
    string,
    string | undefined
  >;
  if (error === ACCESS_DENIED) return { error, description: error_description, uri: error_uri, state };
  if (error !== undefined) {
    return { error, description: error_description, uri: error_uri, state: stateOf(state) };
  }
  if (!code || code.length > LONGEST_CODE || !/^[\x20-\x7e]+$/.test(code)) {
    throw new LoginFailure("invalid_callback", "The callback carries no usable code; start the login again");
  }
  return { code, domainPrefix: domainPrefixOf(domain_prefix), state: stateOf(state) };
}

/** The retailer declined. Good without a state, as it changes nothing; the service's own words only if the state is ours. */
export function declined({ description }: ErrorCallback, isOurs: boolean): LoginFailure {
  const words = isOurs && description ? `. The service says: ${printable(description)}` : "";
  return new LoginFailure(
    ACCESS_DENIED,
    "The retailer declined the access (or the service asks for scopes that the login did not name); nothing was " +
      `changed${words}`,
  );
}

/** Any other error, with a state of ours. The description stays out of the message: it is not ours. */
export function refusedAuthorization({ error, uri }: ErrorCallback): Error {
  return new OAuth2Strategy.AuthorizationError(
    `The service answered the login with the error "${printable(error)}" instead of a code`,
    printable(error),
    uri === undefined ? undefined : printable(uri),
  );
}

function stateOf(state: string | undefined): string {
  if (state) return state;
  throw new LoginFailure(
    "state_missing",
    "The callback carries no state, so it does not belong to a login that was started here",
  );
}

/** Behind every query parser: `a=1&a=2` as a list, `a[]=1` and `a[b]=1` as objects or as names of their own. */
function refuseRepeated(query: Record<string, unknown>, name: string): void {
  const value = query[name];
  const isOdd = value !== undefined && typeof value !== "string";
  if (isOdd || Object.keys(query).some((key) => key.startsWith(`${name}[`))) {
    throw new LoginFailure("invalid_callback", `The callback's ${name} is repeated or no plain text`);
  }
}

function domainPrefixOf(text: unknown): DomainPrefix {
  try {
    return parseDomainPrefix(text);
  } catch (error) {
    if (!isRetailPosError(error)) throw error;
    throw new LoginFailure(
      "invalid_domain_prefix",
      "The callback's domain_prefix is missing or not one DNS label; nothing was sent to it",
    );
  }
}

/** A stranger's words, short enough and clean enough for a log line. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, " ").slice(0, 200);
}
