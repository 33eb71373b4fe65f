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

const PARAMETERS = ["code", "domain_prefix", "state", "scope", "error", "error_description", "error_uri"];
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
 */
export function isCallback(req: Request, callbackURL: string): boolean {
  const has = (name: string) =>
    Object.keys(queryOf(req)).some((key) => key === name || key.startsWith(`${name}[`));
  if (has("code") || has("error")) return true;
  if (has("state") && has("domain_prefix")) return true;
  return (has("state") || has("domain_prefix")) && pathOf(req.originalUrl ?? req.url) === pathOf(callbackURL);
}

/**
 * Checks every parameter before any of them is used.
 *
 * @throws {LoginFailure} `access_denied`, `invalid_callback`, `invalid_domain_prefix` or `state_missing`.
 * @throws {AuthorizationError} for any other error the service reports (RFC 6749, section 4.1.2.1).
 */
export function readCallback(req: Request): Callback {
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
  if (error !== undefined) throw declined(error, error_description, error_uri);
  if (!code || code.length > LONGEST_CODE || !/^[\x20-\x7e]+$/.test(code)) {
    throw new LoginFailure("invalid_callback", "The callback carries no usable code; start the login again");
  }
  const domainPrefix = domainPrefixOf(domain_prefix);
  if (!state) {
    throw new LoginFailure(
      "state_missing",
      "The callback carries no state, so it does not belong to a login that was started here",
    );
  }
  return { code, domainPrefix, state };
}

/** Behind every query parser: `a=1&a=2` as a list, `a[]=1` and `a[b]=1` as objects or as names of their own. */
function refuseRepeated(query: Record<string, unknown>, name: string): void {
  const value = query[name];
  const isOdd = value !== undefined && typeof value !== "string";
  if (isOdd || Object.keys(query).some((key) => key.startsWith(`${name}[`))) {
    throw new LoginFailure("invalid_callback", `The callback's ${name} is repeated or no plain text`);
  }
}

function declined(error: string, description: string | undefined, uri: string | undefined): Error {
  if (error === "access_denied") {
    return new LoginFailure("access_denied", "The retailer declined the access; nothing was changed");
  }
  return new OAuth2Strategy.AuthorizationError(
    printable(description ?? "The service reported an error instead of a code"),
    printable(error),
    uri === undefined ? undefined : printable(uri),
  );
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

function pathOf(url: string): string {
  return new URL(url, "http://localhost").pathname;
}
