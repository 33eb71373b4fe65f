import type { Request } from "express";
import OAuth2Strategy from "passport-oauth2";
import {
  type Callback,
  type ErrorCallback,
  LoginFailure,
  names,
  type Query,
  queryIn,
  readCallback,
} from "../../../login/src/parts.js";

/**
 * The query of the address: query parsers make numbers of digits, and lose the zeros before them. What the framework
 * has parsed counts if the address has none.
 */
export function queryOf(req: Request): Query {
  const url = addressOf(req.url);
  return url?.search ? queryIn(url) : (req.query ?? {});
}

function addressOf(path: string | undefined): URL | undefined {
  return URL.canParse(path ?? "", "http://localhost") ? new URL(path ?? "", "http://localhost") : undefined;
}

/**
 * Whether a request is the service's redirect back to us and not the start of a login. One route may serve both, and a
 * start elsewhere may have a query of its own. On the callback's own path any query is a callback's: a damaged one that
 * started a new login would come back for ever.
 *
 * @param callbackURL absolute, or relative to the request.
 */
export function isCallback(req: Request, callbackURL: string): boolean {
  const query = queryOf(req);
  const has = (name: string) => names(query, name);
  if (has("code") || has("error")) return true;
  if (has("state") && has("domain_prefix")) return true;
  return Object.keys(query).length > 0 && isPathOf(callbackURL, req);
}

function isPathOf(callbackURL: string, req: Request): boolean {
  const here = addressOf(req.originalUrl ?? req.url);
  return here !== undefined && here.pathname === new URL(callbackURL, here).pathname;
}

/**
 * Checks every parameter before any of them is used.
 *
 * @throws {LoginFailure} `invalid_callback`, `invalid_domain_prefix` or `state_missing`.
 */
export function callbackOf(req: Request): Callback | ErrorCallback {
  if (req.method === undefined || req.method === "GET") return readCallback(queryOf(req));
  throw new LoginFailure(
    "invalid_callback",
    `The callback is a GET request, not ${req.method}; the code was not used`,
  );
}

/** For an error that is no decline, with a state of ours: the class that passport-oauth2 gives to `next`. */
export function authorizationError(failure: LoginFailure, { error, uri }: ErrorCallback): Error {
  return new OAuth2Strategy.AuthorizationError(failure.message, error, uri);
}
