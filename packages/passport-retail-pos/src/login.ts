import type { RetailPos, TokenSet } from "@retail-pos/core";
import type { Request } from "express";
import { type Callback, isCallback, readCallback } from "./callback.js";
import { absoluteCallbackUrl } from "./callback-url.js";
import { LoginFailure } from "./login-failure.js";
import { paramsOf, profileOf, type RetailPosProfile } from "./profile.js";
import type { StateKeeper } from "./state-keeper.js";
import { type AnyVerify, askVerify, type RetailPosLogin } from "./verify.js";

/** What `passport.authenticate("retail-pos", options)` may be given for one login. */
export interface LoginOptions {
  /** The application's own state: kept in the session, never sent; comes back as `req.authInfo.state`. */
  state?: unknown;
  /** The callback URL of this login; has to be given on the callback's route too. */
  callbackURL?: string;
  /** Sent only if given; the service knows no scopes (R1). */
  scope?: string | string[];
  /** Passport's: whether the login is kept in the session; default true. */
  session?: boolean;
  /** Passport's: puts the user on this property of the request, and logs nobody in. */
  assignProperty?: string;
}

/** The strategy as one login sees it: its own five actions, and nothing shared that it may change. */
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
  authorizationParams(options: LoginOptions): object;
  tokenParams(options: LoginOptions): object;
  /** Only where a subclass has its own. */
  readonly parseErrorResponse: ((body: string, status: number) => Error | null) | undefined;
  profileOf(accessToken: string, byDefault: RetailPosProfile): Promise<RetailPosProfile>;
  success(user: unknown, info: object): void;
  fail(info: unknown, status?: number): void;
  redirect(url: string): void;
  error(error: unknown): void;
}

/** What a login comes to: one of Passport's actions, with its arguments. */
type Outcome = () => void;

/** One request to the strategy: either the start of a login or the service's callback. Answers once. */
export async function handleLogin(view: LoginView, req: Request, options: LoginOptions): Promise<void> {
  const act = await outcomeOf(view, req, options);
  try {
    act();
  } catch (error) {
    // The application's own callback threw, or its flash: Passport was told, so it is the framework's to answer.
    const { next } = req;
    if (typeof next === "function") next(asError(error));
    else view.error(asError(error));
  }
}

async function outcomeOf(view: LoginView, req: Request, options: LoginOptions): Promise<Outcome> {
  try {
    const given = options.callbackURL ?? view.callbackURL;
    const callbackURL = given === undefined ? undefined : absoluteCallbackUrl(given, req, view.trustProxy);
    if (isCallback(req, callbackURL ?? view.redirectUri))
      return await finish(view, req, options, callbackURL);
    const url = await start(view, req, options, callbackURL);
    return () => view.redirect(url);
  } catch (error) {
    if (error instanceof LoginFailure) return () => view.fail(error.info, error.status);
    return () => view.error(asError(error));
  }
}

/** `next(undefined)` and `next("route")` would go on as if the login had succeeded. */
function asError(error: unknown): unknown {
  const isTakenForNone = !error || error === "route" || error === "router";
  return isTakenForNone
    ? new Error(`The login failed with ${JSON.stringify(error) ?? "undefined"} for an error`)
    : error;
}

/** 4.1: where to send the browser. */
async function start(
  view: LoginView,
  req: Request,
  options: LoginOptions,
  callbackURL: string | undefined,
): Promise<string> {
  const state = await view.states.issue(req, options.state, callbackURL);
  const url = view.client.authorizationUrl(state);
  const required = new Set(url.searchParams.keys());
  if (callbackURL !== undefined) url.searchParams.set("redirect_uri", callbackURL);
  const scope = options.scope ?? view.scope;
  const added = {
    ...(scope !== undefined && { scope: [scope].flat().join(view.scopeSeparator) }),
    ...view.authorizationParams(options),
  };
  for (const [name, value] of Object.entries(added)) {
    if (!required.has(name) && value !== undefined && value !== null)
      url.searchParams.set(name, String(value));
  }
  return url.href;
}

/** The callback, in the order that matters: nothing is sent before the state is checked, nobody is let in before tokens are kept. */
async function finish(
  view: LoginView,
  req: Request,
  options: LoginOptions,
  callbackURL: string | undefined,
): Promise<Outcome> {
  const callback = readCallback(req);
  if (options.session !== false && !options.assignProperty) requireLoginSession(req);
  const state = await view.states.spend(req, callback.state, callbackURL);
  const tokens = await exchange(view, options, callback, callbackURL);
  const login = await describe(view, tokens);
  const { user, info } = await askVerify(view.verify, view.passReqToCallback, req, login);
  if (!user) return () => view.fail(info);
  await view.client.connect(tokens);
  return () => view.success(user, { ...asInfo(info), ...(state !== undefined && { state }) });
}

/** What `done` said besides the user; a text is a message. */
function asInfo(info: unknown): object {
  return typeof info === "object" || info === undefined ? { ...info } : { message: info };
}

/** 4.2, through the client: rate limit, timeout and errors are handled in one place. */
async function exchange(
  view: LoginView,
  options: LoginOptions,
  { domainPrefix, code }: Callback,
  callbackURL: string | undefined,
): Promise<TokenSet> {
  const { parseErrorResponse } = view;
  const params = Object.entries(view.tokenParams(options) ?? {}).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return view.client.exchange(domainPrefix, code, {
    params: Object.fromEntries(params.map(([name, value]) => [name, String(value)])),
    ...(callbackURL !== undefined && { redirectUri: callbackURL }),
    ...(parseErrorResponse && { parseErrorResponse }),
  });
}

async function describe(view: LoginView, tokens: TokenSet): Promise<RetailPosLogin> {
  const { domainPrefix } = tokens;
  const profile = await view.profileOf(tokens.access.value, profileOf(domainPrefix));
  return { domainPrefix, tokens, params: paramsOf(tokens), profile };
}

/**
 * Passport gives the session a new id when somebody logs in. Without that ability it would answer 500
 * after the code is spent; so this is asked before.
 */
function requireLoginSession(req: Request): void {
  const { session } = req as { session?: { regenerate?: unknown } | null };
  if (!session) {
    throw new Error(
      "Passport needs a session to log in: use session middleware, or authenticate with { session: false }",
    );
  }
  if (typeof session.regenerate !== "function") {
    throw new Error(
      "This session cannot be regenerated (cookie-session cannot), which Passport needs to log in; use " +
        "express-session or koa-session, or authenticate with { session: false }. The code was not used",
    );
  }
}
