import { callSafely } from "@retail-pos/core/authoring";
import type { RetailPosProfile } from "@retail-pos/login";
import type { Request } from "express";
import OAuth2Strategy from "passport-oauth2";
import {
  acceptCallback,
  type CallbackStates,
  exchangeCode,
  isEmbed,
  isForeignPost,
  isPrefetch,
  LoginFailure,
  loginOf,
  mayEvict,
  profileOf,
} from "../../login/src/parts.js";
import { guarded, wrapLogIn } from "./hooks/log-in.js";
import { type AnyVerify, askVerify } from "./hooks/verify.js";
import type { LoginOptions } from "./options.js";
import { absoluteCallbackUrl } from "./request/callback-url.js";
import { callbackQueryOf, type Routes } from "./request/request-query.js";
import { answerPrefetch, keepPrivate } from "./request/response.js";
import type { StrategySettings } from "./settings.js";
import { checkSessionCookie, checkSessionStore } from "./state/session-check.js";
import type { CallbackRoute, FinishedState, StateKeeper } from "./state-keeper.js";

/** What all logins of a strategy share. */
export interface SharedByLogins extends StrategySettings {
  readonly states: StateKeeper;
  readonly routes: Routes;
  readonly verify: AnyVerify;
}

/** A copy of the strategy for one request: Passport's actions on it, and hooks that a subclass may override. */
export interface OwnStrategy {
  success(user: unknown, info: object): unknown;
  fail(info: unknown, status?: number): void;
  redirect(url: string, status?: number): void;
  error(error: unknown): unknown;
  authorizationParams(options: LoginOptions): object;
  tokenParams(options: LoginOptions): object;
}

/** The strategy as one login sees it. */
export interface LoginView extends SharedByLogins {
  readonly own: OwnStrategy;
  /** Only if a subclass has its own. */
  readonly parseErrorResponse: ((body: string, status: number) => Error | null) | undefined;
  profileOf(accessToken: string, byDefault: RetailPosProfile): Promise<RetailPosProfile>;
}

/** How a login ends. */
interface Outcome {
  /** One of Passport's actions, with its arguments. */
  readonly act: () => unknown;
  /** To be called once Passport has logged the person in. */
  readonly loggedIn?: (() => void) | undefined;
}

/** One request to the strategy: either the start of a login or the service's callback. Answers once. */
export async function handleLogin(view: LoginView, req: Request, options: LoginOptions): Promise<void> {
  const { act, loggedIn } = await outcomeOf(view, req, options);
  const report = (error: unknown) => reportTo(view, req, error);
  wrapLogIn(req, report, () => {
    loggedIn?.();
    checkSessionStore(req, view.logSession);
  });
  keepPrivate(req);
  guarded(act, report)();
}

/**
 * The login was answered already: the application's callback, its flash or Passport threw, at once or later. The
 * framework answers; if it keeps its `next` to itself, whatever Passport does with errors.
 */
function reportTo({ own }: LoginView, req: Request, error: unknown): void {
  const problem = explained(asError(error));
  if (typeof req.next === "function") req.next(problem);
  else callSafely(() => own.error(problem)); // a custom callback that throws again has had its chance
}

async function outcomeOf(view: LoginView, req: Request, options: LoginOptions): Promise<Outcome> {
  try {
    const given = options.callbackURL ?? view.callbackURL;
    const redirectUri = given ?? view.redirectUri;
    const route: CallbackRoute = {
      redirectUri: () =>
        given === undefined ? redirectUri : absoluteCallbackUrl(given, req, view.trustProxy),
      isConnecting: options.assignProperty !== undefined,
    };
    const states = view.states.of(req, route);
    const isBack = await view.routes.isCallback(req, redirectUri, states.isKnown);
    const header = (name: string) => req.headers?.[name];
    const leaveAlone = { act: () => answerPrefetch(req, (error) => view.own.error(error)) };
    const { originalMethod = req.method } = req as { originalMethod?: string }; // method-override notes it there
    const isUnmeant = isEmbed(header) || isForeignPost(originalMethod, header);
    if (isPrefetch(header) || (!isBack && isUnmeant)) return leaveAlone;
    if (options.session !== false) checkSessionCookie(req, view.logSession);
    if (isBack) return await finish(view, req, options, states);
    view.routes.started(req, redirectUri);
    const url = await start(view, req, options, route.redirectUri(), mayEvict(header));
    if (url === undefined) return leaveAlone;
    // RFC 9700, section 4.12: a browser follows a 303 with a GET, and sends no form of the POST on.
    return { act: () => (req.method === "POST" ? view.own.redirect(url, 303) : view.own.redirect(url)) };
  } catch (error) {
    if (!(error instanceof LoginFailure)) return { act: () => view.own.error(asError(error)) };
    const { code, message, status, answer } = error;
    if (answer)
      return { act: () => view.own.error(new OAuth2Strategy.AuthorizationError(message, answer.error)) };
    view.logFailure({ code, message });
    return { act: () => view.own.fail({ code, message }, status) };
  }
}

/** `next(undefined)` and `next("route")` would go on as if the login had succeeded. */
function asError(error: unknown): unknown {
  if (error && error !== "route" && error !== "router") return error;
  return new Error(`The login failed with ${JSON.stringify(error) ?? "undefined"} for an error`);
}

/** If a session lacks a method that Passport needs to log a person in, Passport throws a bare TypeError. */
function explained(error: unknown): unknown {
  const [lack] = /session\.\w+ is not a function/.exec(error instanceof Error ? error.message : "") ?? [];
  if (!lack) return error;
  return new Error(
    `Passport cannot log in with this session (${lack}; cookie-session has no such method): use express-session ` +
      "or koa-session, or authenticate with { session: false }",
    { cause: error },
  );
}

/** The parameters that 4.1 requires. No hook replaces them. */
const REQUIRED = ["response_type", "client_id", "redirect_uri", "state"];

/** 4.1: the address to send the browser to; `undefined` if there is no room for the login. */
async function start(
  view: LoginView,
  req: Request,
  options: LoginOptions,
  redirectUri: string,
  mayEvict: boolean,
): Promise<string | undefined> {
  const issued = await view.states.issue(req, { appState: options.state, redirectUri, mayEvict });
  if (!issued) return undefined;
  const scope = [options.scope ?? view.scope ?? []].flat().join(view.scopeSeparator) || undefined;
  const url = view.client.authorizationUrl(issued.state, { redirectUri, scope });
  for (const [name, value] of textsIn(view.own.authorizationParams(options)))
    if (!REQUIRED.includes(name)) url.searchParams.set(name, value);
  return url.href;
}

/**
 * The callback, in the order that matters: nothing is sent before the state is checked, nobody is let in before tokens
 * are kept.
 */
async function finish(
  view: LoginView,
  req: Request,
  options: LoginOptions,
  states: CallbackStates<FinishedState>,
): Promise<Outcome> {
  const { callback, kept } = await acceptCallback(callbackQueryOf(req), states);
  const tokens = await exchangeCode(view.client, callback, {
    params: Object.fromEntries(textsIn(view.own.tokenParams(options))),
    redirectUri: kept.redirectUri,
    parseErrorResponse: view.parseErrorResponse,
  });
  const profile = await view.profileOf(tokens.access.value, profileOf(tokens.domainPrefix));
  const login = loginOf(tokens, profile);
  const { user, info } = await askVerify(view.verify, view.passReqToCallback, req, login);
  if (!user) {
    view.logFailure({ code: "login_refused", message: refusedBy(user) });
    return { act: () => view.own.fail(info) };
  }
  if (Object.getOwnPropertyDescriptor(Object(user), "tokens")?.value === tokens)
    view.logSession(LOGIN_AS_USER, "Sessions and pages may show tokens");
  await view.client.connect(tokens);
  const { appState, loggedIn } = kept;
  const own = { ...asInfo(info), ...(appState !== undefined && { state: appState }) };
  return { act: () => view.own.success(user, own), loggedIn };
}

const LOGIN_AS_USER = "verify returned the login, which has the tokens. Return a user of your own";

/** The likely mistake is a verify without `return`. */
function refusedBy(user: unknown): string {
  const hint = user === undefined ? ": return a user, or call done(null, user)" : "";
  return `verify let nobody in, it answered ${user === "" ? '""' : String(user)}${hint}`;
}

/** The `info` that `done` was called with; a text becomes its message. */
function asInfo(info: unknown): object {
  return typeof info === "object" || info === undefined ? { ...info } : { message: info };
}

/** The parameters that a hook adds. */
function textsIn(params: object): [name: string, text: string][] {
  return Object.entries(params ?? {}).flatMap(([name, value]) =>
    value == null ? [] : [[name, String(value)]],
  );
}
