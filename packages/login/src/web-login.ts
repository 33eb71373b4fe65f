import type { RetailPos } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import { acceptCallback, type CallbackStates, callbackStates } from "./callback/accept-callback.js";
import { queryIn } from "./callback/callback-query.js";
import { exchangeCode } from "./callback/exchange-code.js";
import { loginOf, type RetailPosLogin } from "./callback/finished-login.js";
import { type FailedLogin, failureOf } from "./callback/login-outcome.js";
import { isCallback } from "./callback/start-or-callback.js";
import { loginCookies, type Visit } from "./cookies/login-cookie-jar.js";
import { secretsIn } from "./cookies/sealed-cookie.js";
import { failureLog, type LogFailures } from "./failures/failure-log.js";
import { failureWords } from "./failures/failure-words.js";
import { LoginFailure } from "./failures/login-failure.js";
import { FRAMING } from "./node-handler.js";
import type { PendingLogin } from "./pending/pending-logins.js";
import { isOpen, spentStates } from "./pending/spent-states.js";
import { type LoginStart, startLogin } from "./pending/start-login.js";
import { type HeaderOf, isEmbed, isPrefetch, mayEvict, PREFETCH_RESPONSE } from "./unmeant-visit.js";
import { applicationOf } from "./values/application.js";

/** Options of {@link webLogin}. */
export interface WebLoginOptions {
  /** The client that `retailPos()` returned. */
  client: RetailPos;
  /**
   * Encrypts the cookies of logins under way; 32 characters or more. In a list, the first secret encrypts, and all
   * decrypt. Default: a secret that the client derives from its client secret (`client.secretFor`). Give one if
   * processes have different client secrets for a while, or if the client secret could be guessed.
   */
  secret?: string | readonly string[] | undefined;
  /**
   * Accepts or refuses a login, before its tokens are saved. A falsy answer refuses the login: `login_refused`, 403.
   * `onLogin` gets the answer as `verified`.
   */
  verify?: ((event: VerifyEvent) => unknown) | undefined;
  /** Makes the response after a login that was accepted. By then its tokens are saved. */
  onLogin: (event: LoginEvent) => Response | Promise<Response>;
  /**
   * Makes the response after a login that failed. Default: plain text for the person who logs in, without `code` and
   * `message`.
   */
  onFailure?: ((event: FailureEvent) => Response | Promise<Response>) | undefined;
  /**
   * Tells a developer why logins fail, in one line the first time that each reason occurs. Default: on the console, if
   * `NODE_ENV` is "development" or not set.
   */
  logFailures?: LogFailures | undefined;
  /** Returns epoch milliseconds, to measure the 15 minutes that a login may take. Default `Date.now`. */
  clock?: (() => number) | undefined;
}

/** A login that the service has accepted. */
export interface VerifyEvent {
  /** The callback. */
  readonly request: Request;
  /** Who logged in, and with which tokens. */
  readonly login: RetailPosLogin;
  /** The application's own state, as given when the login started. */
  readonly state: unknown;
}

/** A login that the application has accepted as well. */
export interface LoginEvent extends VerifyEvent {
  /** The answer of `verify`. */
  readonly verified: unknown;
}

/** A login that failed. */
export interface FailureEvent extends FailedLogin {
  /** The callback. */
  readonly request: Request;
}

/** The two handlers of a login, from `Request` to `Response`. */
export interface WebLogin {
  /**
   * Starts a login: answers with a redirect to the consent page, and a cookie. A browser that prefetches the address
   * (`Sec-Purpose`), or loads it into another site's page (`Sec-Fetch-Site`), gets a 503 and no cookie.
   *
   * @param login `state`: JSON of at most 1,500 bytes.
   * @throws {TypeError} naming the argument that is wrong: `state`, `redirectUri`, `scope`.
   */
  start(request: Request, login?: Omit<LoginStart, "pending">): Promise<Response>;
  /**
   * Finishes a login, when the service redirects the browser back. If the login fails, `onFailure` answers, and nothing
   * is thrown. A browser that prefetches the address gets a 503, and can still finish the login.
   *
   * @throws the errors of `verify`, `onLogin` and `onFailure`, unchanged.
   */
  callback(request: Request): Promise<Response>;
}

const NAMES = "client secret verify onLogin onFailure logFailures clock".split(" ");

/**
 * Makes two login handlers from `Request` to `Response`, for any framework. Each login under way is kept in an
 * encrypted cookie, and nothing on the server. No header is trusted: the callback's address is the configured one.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function webLogin(options: WebLoginOptions): WebLogin {
  const { client, verify, onLogin, onFailure = plainText, clock = Date.now } = checked(options);
  const log = failureLog(options.logFailures);
  const application = applicationOf(client);
  const spent = spentStates(client);
  const secrets = secretsIn(options.secret, client);
  const cookies = loginCookies({ application, secrets, clock, keeper: "" });

  return {
    async start(request, login) {
      if (request.method !== "GET") return notAllowed();
      const header = headersOf(request);
      const isBack = await isFinishing(request, login?.redirectUri);
      if (isPrefetch(header) || (!isBack && isEmbed(header))) return prefetched();
      return isBack ? finish(request) : begin(request, login);
    },
    async callback(request) {
      if (request.method !== "GET") return notAllowed();
      return isPrefetch(headersOf(request)) ? prefetched() : finish(request);
    },
  };

  async function begin(request: Request, start: Omit<LoginStart, "pending"> = {}): Promise<Response> {
    const { login, url } = startLogin(client, clock(), start);
    const isSecure = /^https:/i.test(url.searchParams.get("redirect_uri") ?? "");
    const ask = { isSecure, mayEvict: mayEvict(headersOf(request)) };
    const lines = await cookies.add(visitOf(request), login, ask);
    if (!lines) return prefetched();
    return withCookies(new Response(null, { status: 302, headers: { location: url.href } }), lines);
  }

  async function finish(request: Request): Promise<Response> {
    let event: VerifyEvent;
    try {
      const { callback, kept } = await acceptCallback(queryIn(new URL(request.url)), statesOf(request));
      const { redirectUri, appState } = kept.login;
      const tokens = await exchangeCode(client, callback, { redirectUri });
      event = { request, login: loginOf(tokens), state: appState };
    } catch (error) {
      return failed(request, error);
    }
    const verified = await verify?.(event);
    // By its tag: @hono/node-server has replaced the global Response, and fetch's own is none of these.
    if (/ (Response|Error)\]$/.test(Object.prototype.toString.call(verified)))
      throw new TypeError("verify returned a Response or an Error: a falsy value refuses, onFailure answers");
    if (verify && !verified) return failed(request, new LoginFailure("login_refused", NOT_VERIFIED));
    try {
      await client.connect(event.login.tokens);
    } catch (error) {
      return failed(request, error);
    }
    return finished(request, await onLogin({ ...event, verified }));
  }

  async function isFinishing(
    request: Request,
    redirectUri = application.redirectUri ?? "",
  ): Promise<boolean> {
    const address = new URL(request.url);
    const { isKnown } = statesOf(request);
    return isCallback({ query: queryIn(address), path: address.pathname, redirectUri, isKnown });
  }

  function statesOf(request: Request): CallbackStates<{ readonly login: PendingLogin }> {
    return callbackStates({ find: (state) => cookies.find(visitOf(request), state), spent, clock });
  }

  async function failed(request: Request, error: unknown): Promise<Response> {
    const failure = failureOf(error);
    log(failure);
    return finished(request, await onFailure({ request, ...failure }));
  }

  /** Removes the cookie of a login that cannot be finished any more. */
  async function finished(request: Request, answer: Response): Promise<Response> {
    const state = new URL(request.url).searchParams.get("state") ?? "";
    const { login, removal } = await cookies.find(visitOf(request), state);
    return withCookies(answer, login && !isOpen(login, spent, clock()) ? removal : []);
  }
}

/** @throws {TypeError} naming the option that is wrong. */
function checked(options: WebLoginOptions): WebLoginOptions {
  refuseMisspelt(options, NAMES, { onsuccess: "onLogin", onerror: "onFailure" });
  const { onLogin = null, verify, onFailure, clock } = options;
  for (const [name, fn] of Object.entries({ onLogin, verify, onFailure, clock })) {
    if (fn !== undefined && typeof fn !== "function") throw new TypeError(`${name} must be a function`);
  }
  return options;
}

const NOT_VERIFIED = "The application refused this login; nothing was kept of it";

/** The default answer. Its reader runs a store; `logFailures` tells the developer. */
function plainText(failure: FailureEvent): Response {
  const { status, headers } = failure;
  const own = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  const { title, text, action } = failureWords(failure);
  const more = action === "wait" ? " To try again, start the login from the beginning." : ""; // this callback is spent
  return new Response(`${title}. ${text}${more}\n`, { status, headers: { ...headers, ...own } });
}

function notAllowed(): Response {
  return new Response(null, { status: 405, headers: { allow: "GET", "cache-control": "no-store" } });
}

function headersOf({ headers }: Request): HeaderOf {
  return (name) => headers.get(name);
}

function visitOf({ headers, url }: Request): Visit {
  return { cookie: headers.get("cookie"), url };
}

function prefetched(): Response {
  const { body, ...init } = PREFETCH_RESPONSE;
  return new Response(body, init);
}

/**
 * A copy, because the headers of some responses cannot be changed. The address of a callback that failed can have a
 * code that was not sent: what its page loads gets the origin only (RFC 9700, 4.2.4). If an application passes on an
 * answer of `fetch`, its length may be of a body that was packed: the server frames this one. The application removes
 * `content-encoding`.
 */
function withCookies(answer: Response, lines: readonly string[]): Response {
  if (typeof answer?.headers?.get !== "function")
    throw new TypeError("onLogin and onFailure must return a Response");
  const headers = new Headers(answer.headers);
  headers.set("cache-control", "no-store");
  if (!headers.has("referrer-policy")) headers.set("referrer-policy", "strict-origin");
  for (const name of FRAMING) headers.delete(name);
  for (const line of lines) headers.append("set-cookie", line);
  const { body, status, statusText } = answer;
  return new Response(body, { status, statusText, headers });
}
