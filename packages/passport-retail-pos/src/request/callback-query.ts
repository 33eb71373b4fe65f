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
 * The query of the address that the browser sent. Query parsers make numbers of digits, and lose the zeros before
 * them; routers and middleware add parameters. What the framework has parsed counts only if there is no address.
 */
export function queryOf(req: Request): Query {
  const url = addressOf(req.originalUrl ?? req.url);
  return url ? queryIn(url) : (req.query ?? {});
}

function addressOf(path: string | undefined): URL | undefined {
  if (typeof path !== "string" || !URL.canParse(path, "http://localhost")) return undefined;
  return new URL(path, "http://localhost");
}

/**
 * Whether a request is the service's redirect back to us and not the start of a login. One route may serve both, and a
 * start elsewhere may have a query of its own. On the callback's own path any query is a callback's: a damaged one that
 * started a new login would come back for ever. Elsewhere (a proxy may have changed the path) the state of a login
 * under way makes it one.
 *
 * @param callbackURL absolute, or relative to the request.
 * @param isUnderWay whether a login with this state is under way in this browser.
 */
export async function isCallback(
  req: Request,
  callbackURL: string,
  isUnderWay: (state: string) => boolean | Promise<boolean>,
): Promise<boolean> {
  const query = queryOf(req);
  const has = (name: string) => names(query, name);
  if (has("code") || has("error")) return true;
  if (has("state") && has("domain_prefix")) return true;
  if (Object.keys(query).length > 0 && isPathOf(callbackURL, req)) return true;
  const { state } = query;
  return typeof state === "string" && state !== "" && isUnderWay(state);
}

/** Routers take other capitals and a slash at the end for the same. */
function isPathOf(callbackURL: string, req: Request): boolean {
  const here = addressOf(req.originalUrl ?? req.url);
  const plain = ({ pathname }: URL) => pathname.toLowerCase().replace(/\/$/, "");
  return here !== undefined && plain(here) === plain(new URL(callbackURL, here));
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
