import type { RetailPos, TokenSet } from "@retail-pos/core";
import type { RetailPosLogin, RetailPosProfile } from "@retail-pos/login";
import type { Request } from "express";
import {
  ACCESS_DENIED,
  authorizationFailed,
  type Callback,
  declined,
  type ErrorCallback,
  isAhead,
  isForced,
  LoginFailure,
  loginOf,
  profileOf,
  trade,
} from "../../login/src/parts.js";
import { afterLogIn } from "./hooks/after-log-in.js";
import { guarded, guardedInside, guardLogIn } from "./hooks/thrown-later.js";
import { type AnyVerify, askVerify } from "./hooks/verify.js";
import { authorizationError, callbackOf, isCallback } from "./request/callback-query.js";
import { absoluteCallbackUrl } from "./request/callback-url.js";
import { answerNotNow, keepFromCaches } from "./request/response.js";
import type { CallbackHere, StateKeeper } from "./state-keeper.js";

/** Options of `passport.authenticate("retail-pos", options)` for one login. */
export interface LoginOptions {
  /** The application's own state, any JSON: kept for the callback, never sent; comes back as `req.authInfo.state`. */
  state?: unknown;
  /**
   * The callback URL of this login: https, or http on a loopback host; may be relative. It is kept for the callback.
   */
  callbackURL?: string | undefined;
  /** Sent only if given; the service knows no scopes (R1). */
  scope?: string | string[] | undefined;
  /** Passport's: whether the login is kept in the session; default true. */
  session?: boolean | undefined;
  /** Passport's: puts the user on this property of the request, and logs nobody in. */
  assignProperty?: string | undefined;
}

/** The strategy as one login sees it: the five actions are its own, and it can change nothing that logins share. */
export interface LoginView {
  readonly client: RetailPos;
  readonly states: StateKeeper;
  readonly redirectUri: string;
  readonly callbackURL: string | undefined;
  readonly trustProxy: boolean;
  readonly scope: string | string[] | undefined;
  readonly scopeSeparator: string;
  readonly verify: AnyVerify;
  readonly passReqToCallback: boolean;
  logFailure(failure: { code: string; message: string }): void;
  authorizationParams(options: LoginOptions): object;
  tokenParams(options: LoginOptions): object;
  /** Only if a subclass has its own. */
  readonly parseErrorResponse: ((body: string, status: number) => Error | null) | undefined;
  profileOf(accessToken: string, byDefault: RetailPosProfile): Promise<RetailPosProfile>;
  success(user: unknown, info: object): unknown;
  fail(info: unknown, status?: number): void;
  redirect(url: string, status?: number): void;
  error(error: unknown): unknown;
}

/** How a login ends: one of Passport's actions, with its arguments. */
type Outcome = () => unknown;

/** One request to the strategy: either the start of a login or the service's callback. Answers once. */
export async function handleLogin(view: LoginView, req: Request, options: LoginOptions): Promise<void> {
  const act = await outcomeOf(view, req, options);
  const report = (error: unknown) => reportTo(view, req, error);
  guardLogIn(req, report);
  keepFromCaches(req);
  guarded(act, report)();
}

/**
 * The login was answered already: the application's callback, its flash or Passport threw, at once or later. The
 * framework answers; if it keeps its `next` to itself, whatever Passport does with errors.
 */
function reportTo({ error: pass }: LoginView, req: Request, error: unknown): void {
  const problem = explained(asError(error), req);
  if (typeof req.next === "function") req.next(problem);
  else guarded(pass, () => {})(problem); // a custom callback that throws again has had its chance
}

async function outcomeOf(view: LoginView, req: Request, options: LoginOptions): Promise<Outcome> {
  try {
    const callbackURL = options.callbackURL ?? view.callbackURL ?? view.redirectUri;
    const isBack = await isCallback(req, callbackURL, (state) => view.states.isUnderWay(req, state));
    const header = (name: string) => req.headers?.[name];
    if (isAhead(header) || (!isBack && isForced(header))) return () => answerNotNow(req, view.error);
    if (isBack) return await finish(view, req, options);
    const url = await start(view, req, options);
    // RFC 9700, section 4.12: a browser follows a 303 with a GET, and sends no form of the POST on.
    return () => (req.method === "POST" ? view.redirect(url, 303) : view.redirect(url));
  } catch (error) {
    if (error instanceof LoginFailure) {
      const { code, message, status } = error;
      view.logFailure({ code, message });
      return () => fail(view, req, { code, message }, status);
    }
    return () => view.error(asError(error));
  }
}

/** The `redirect_uri` of a login that starts with this request. */
function redirectUriOf(view: LoginView, req: Request, options: LoginOptions): string {
  const given = options.callbackURL ?? view.callbackURL;
  return given === undefined ? view.redirectUri : absoluteCallbackUrl(given, req, view.trustProxy);
}

/** `next(undefined)` and `next("route")` would go on as if the login had succeeded. */
function asError(error: unknown): unknown {
  const isTakenForNone = !error || error === "route" || error === "router";
  return isTakenForNone
    ? new Error(`The login failed with ${JSON.stringify(error) ?? "undefined"} for an error`)
    : error;
}

/** Passport gives the session of a person who logs in a new id. If it cannot, it throws a bare TypeError. */
function explained(error: unknown, req: Request): unknown {
  const { session } = req as { session?: { regenerate?: unknown } | null };
  if (!session || typeof session.regenerate === "function" || !/regenerate/.test(String(error))) return error;
  return new Error(
    "This session cannot be regenerated (cookie-session cannot), which Passport needs to log in; use " +
      "express-session or koa-session, or authenticate with { session: false }",
    { cause: error },
  );
}

/** The parameters that 4.1 requires. No hook replaces them. */
const REQUIRED = ["response_type", "client_id", "redirect_uri", "state"];

/** 4.1: the address to send the browser to. */
async function start(view: LoginView, req: Request, options: LoginOptions): Promise<string> {
  const redirectUri = redirectUriOf(view, req, options);
  const state = await view.states.issue(req, options.state, redirectUri);
  const scope = [options.scope ?? view.scope ?? []].flat().join(view.scopeSeparator) || undefined;
  const url = view.client.authorizationUrl(state, { redirectUri, scope });
  url.searchParams.set("redirect_uri", redirectUri); // a client of an older core takes no second argument
  const added = { ...(scope !== undefined && { scope }), ...view.authorizationParams(options) };
  for (const [name, value] of Object.entries(added)) {
    if (!REQUIRED.includes(name) && value !== undefined && value !== null)
      url.searchParams.set(name, String(value));
  }
  return url.href;
}

/**
 * The callback, in the order that matters: nothing is sent before the state is checked, nobody is let in before tokens
 * are kept.
 */
async function finish(view: LoginView, req: Request, options: LoginOptions): Promise<Outcome> {
  const callback = callbackOf(req);
  const here: CallbackHere = {
    redirectUri: () => redirectUriOf(view, req, options),
    isConnecting: options.assignProperty !== undefined,
  };
  if ("error" in callback) throw await errorIn(callback, view, req, here);
  const { state, redirectUri, loggedIn } = await view.states.spend(req, callback.state, here);
  const tokens = await exchange(view, options, callback, redirectUri);
  const login = await describe(view, tokens);
  const { user, info } = await askVerify(view.verify, view.passReqToCallback, req, login);
  if (!user) {
    view.logFailure({ code: "login_refused", message: refusedBy(user) });
    return () => fail(view, req, info);
  }
  await view.client.connect(tokens);
  if (loggedIn) afterLogIn(req, loggedIn);
  return () => view.success(user, { ...asInfo(info), ...(state !== undefined && { state }) });
}

/** The likely mistake is a verify without `return`. */
function refusedBy(user: unknown): string {
  const hint = user === undefined ? ": return a user, or call done(null, user)" : "";
  return `verify let nobody in, it answered ${JSON.stringify(user)}${hint}`;
}

/** Passport drops the promise of a custom callback here. */
function fail(view: LoginView, req: Request, info: unknown, status?: number): void {
  guardedInside(
    () => view.fail(info, status),
    (error) => reportTo(view, req, error),
  )();
}

/** The end of a callback with an error. It spends no pending login. */
async function errorIn(
  callback: ErrorCallback,
  { states }: LoginView,
  req: Request,
  here: CallbackHere,
): Promise<Error> {
  const { error, state } = callback;
  if (error === ACCESS_DENIED || !state)
    return declined(callback, !!state && (await states.isUnderWay(req, state)));
  await states.check(req, state, here);
  return authorizationError(authorizationFailed(callback), callback);
}

/** The `info` that `done` was called with; a text becomes its message. */
function asInfo(info: unknown): object {
  return typeof info === "object" || info === undefined ? { ...info } : { message: info };
}

/** 4.2, with what a subclass's hooks add. @throws {LoginFailure | RetailPosError} */
async function exchange(
  view: LoginView,
  options: LoginOptions,
  callback: Callback,
  redirectUri: string,
): Promise<TokenSet> {
  const { parseErrorResponse } = view;
  const params = Object.entries(view.tokenParams(options) ?? {}).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return trade(view.client, callback, {
    params: Object.fromEntries(params.map(([name, value]) => [name, String(value)])),
    redirectUri,
    ...(parseErrorResponse && { parseErrorResponse }),
  });
}

async function describe(view: LoginView, tokens: TokenSet): Promise<RetailPosLogin> {
  const { domainPrefix } = tokens;
  return loginOf(tokens, await view.profileOf(tokens.access.value, profileOf(domainPrefix)));
}
