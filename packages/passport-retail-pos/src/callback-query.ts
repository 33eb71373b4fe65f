import {
  type Callback,
  type ErrorCallback,
  LoginFailure,
  names,
  type Query,
  queryIn,
  readCallback,
} from "@retail-pos/login/parts";
import type { Request } from "express";
import OAuth2Strategy from "passport-oauth2";

/** The query as the framework parsed it; parsed here if none did, or `query parser` is off. */
export function queryOf(req: Request): Query {
  if (req.query && Object.keys(req.query).length > 0) return req.query;
  return queryIn(new URL(req.url, "http://localhost"));
}

/**
 * Whether a request is the service's redirect back to us and not the start of a login. One route may
 * serve both, and a start may have a query of its own; on the callback's own path even an
 * incomplete callback is recognised.
 *
 * @param callbackURL absolute, or relative to the request.
 */
export function isCallback(req: Request, callbackURL: string): boolean {
  const query = queryOf(req);
  const has = (name: string) => names(query, name);
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
