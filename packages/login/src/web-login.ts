import type { RetailPos } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import { queryIn } from "./callback/callback-query.js";
import type { RetailPosLogin } from "./callback/finished-login.js";
import { refusalOf } from "./callback/login-outcome.js";
import { isCallback } from "./callback/start-or-callback.js";
import { type FoundCookie, loginCookies, type Visit } from "./cookies/login-cookie-jar.js";
import { secretsIn } from "./cookies/sealed-cookie.js";
import { failureLog, type LogFailures } from "./failures/failure-log.js";
import { CANNOT_BE_OPENED, failureWords } from "./failures/failure-words.js";
import { LoginFailure } from "./failures/login-failure.js";
import { type LoginStart, loginFlow } from "./flow.js";
import { FRAMING } from "./node-handler.js";
import {
  type HeaderOf,
  isCrossSiteEmbed,
  isPrefetch,
  isUnclicked,
  PREFETCH_RESPONSE,
} from "./unmeant-visit.js";
import { applicationOf } from "./values/application.js";
import { checkAppState } from "./values/json-check.js";

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
export interface FailureEvent {
  /** The callback. */
  readonly request: Request;
  /** Why the login failed: a `LoginFailureCode`, or the `code` of core's error. */
  readonly code: string;
  /** The HTTP status to answer with. */
  readonly status: number;
  /** For the log: what happened, and what to check. It contains no text that a stranger can choose. */
  readonly message: string;
  /** Headers for the answer, `Retry-After` for example. */
  readonly headers: Record<string, string>;
  /** Core's error, if it has more details. */
  readonly error?: unknown;
}

/** The two handlers of a login, from `Request` to `Response`. */
export interface WebLogin {
  /**
   * Starts a login: answers with a redirect to the consent page, and a cookie. A browser that prefetches the address
   * (`Sec-Purpose`), or loads it into another host's page (`Sec-Fetch-Site`), gets a 503 and no cookie.
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

const NAMES = [
  "client",
  "secret",
  "verify",
  "onLogin",
  "onFailure",
  "logFailures",
  "clock",
] satisfies (keyof WebLoginOptions)[];

/**
 * Makes two login handlers from `Request` to `Response`, for any framework. Each login under way is kept in an
 * encrypted cookie, and nothing on the server. No header is trusted: the callback's address is the configured one.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function webLogin(options: WebLoginOptions): WebLogin {
  const { client, verify, onLogin, onFailure = plainText, clock = Date.now } = checked(options);
  const flow = loginFlow({ client, clock });
  const log = failureLog(options.logFailures);
  const application = applicationOf(client);
  const secrets = secretsIn(options.secret, client);
  const cookies = loginCookies({ application, secrets, clock, keeper: "" });

  return {
    async start(request, login) {
      if (request.method !== "GET") return notAllowed();
      const header = headersOf(request);
      const isBack = await isFinishing(request, login?.redirectUri);
      if (isPrefetch(header) || (!isBack && isCrossSiteEmbed(header))) return prefetched();
      return isBack ? finish(request) : begin(request, login);
    },
    async callback(request) {
      if (request.method !== "GET") return notAllowed();
      return isPrefetch(headersOf(request)) ? prefetched() : finish(request);
    },
  };

  async function begin(
    request: Request,
    { state, redirectUri, scope }: Omit<LoginStart, "pending"> = {},
  ): Promise<Response> {
    checkAppState(state);
    const { url, pending } = await flow.start({ state, redirectUri, scope });
    const sent = new URL(url).searchParams;
    const lines = await cookies.add(visitOf(request), {
      state: sent.get("state") ?? "",
      pending,
      isSecure: /^https:/i.test(sent.get("redirect_uri") ?? ""),
      mayEvict: !isUnclicked(headersOf(request)),
    });
    if (!lines) return prefetched();
    return withCookies(new Response(null, { status: 302, headers: { location: url } }), lines);
  }

  async function finish(request: Request): Promise<Response> {
    const address = new URL(request.url);
    const cookie = await cookieOf(request, address.searchParams.get("state"));
    const outcome = await flow.finish(address, { pending: cookie.pending });
    const isOver = cookie.pending !== undefined && outcome.pending === undefined;
    const lines = isOver ? cookie.removal : [];
    if (!outcome.ok) return failed(request, sealedElsewhere(outcome, cookie), lines);

    const { login, state } = outcome;
    const verified = await verify?.({ request, login, state });
    if (verify && !verified) return failed(request, refusalOf(notVerified(), undefined), lines);
    try {
      await client.connect(login.tokens);
    } catch (error) {
      return failed(request, refusalOf(error, undefined), lines);
    }
    return withCookies(await onLogin({ request, login, state, verified }), lines);
  }

  async function isFinishing(
    request: Request,
    redirectUri = application.redirectUri ?? "",
  ): Promise<boolean> {
    const address = new URL(request.url);
    const isKnown = async (state: string) => (await cookieOf(request, state)).isThere;
    return isCallback({ query: queryIn(address), path: address.pathname, redirectUri, isKnown });
  }

  async function cookieOf(request: Request, state: string | null): Promise<FoundCookie> {
    const none = { pending: undefined, isThere: false, hasOthers: false, removal: [] };
    return state ? cookies.find(visitOf(request), state) : none;
  }

  async function failed(
    request: Request,
    { code, status, message, headers, error }: Omit<FailureEvent, "request">,
    lines: readonly string[],
  ): Promise<Response> {
    log({ code, message });
    const event = { request, code, status, message, headers, ...(error !== undefined && { error }) };
    return withCookies(await onFailure(event), lines);
  }
}

/** @throws {TypeError} naming the option that is wrong. */
function checked(options: WebLoginOptions): WebLoginOptions {
  refuseMisspelt(options, NAMES, { onsuccess: "onLogin", onerror: "onFailure" });
  const { onLogin, verify, onFailure } = options;
  if (typeof onLogin !== "function")
    throw new TypeError("onLogin must be a function that returns a Response");
  for (const [name, fn] of Object.entries({ verify, onFailure })) {
    if (fn !== undefined && typeof fn !== "function") throw new TypeError(`${name} must be a function`);
  }
  return options;
}

function notVerified(): LoginFailure {
  return new LoginFailure("login_refused", "The application refused this login; nothing was kept of it");
}

/** A cookie that came back and cannot be opened has other causes than one that did not come back. */
function sealedElsewhere<Failure extends Omit<FailureEvent, "request">>(
  failure: Failure,
  cookie: FoundCookie,
): Failure {
  if (failure.code !== "state_unknown" || !cookie.isThere || cookie.pending !== undefined) return failure;
  return { ...failure, message: CANNOT_BE_OPENED };
}

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
 * A copy, because the headers of some responses cannot be changed. If an application passes on an answer of `fetch`,
 * its length may be of a body that was packed: the server frames this one. The application removes `content-encoding`.
 */
function withCookies(answer: Response, lines: readonly string[]): Response {
  if (typeof answer?.headers?.get !== "function")
    throw new TypeError("onLogin and onFailure must return a Response");
  const headers = new Headers(answer.headers);
  headers.set("cache-control", "no-store");
  for (const name of FRAMING) headers.delete(name);
  for (const line of lines) headers.append("set-cookie", line);
  const { body, status, statusText } = answer;
  return new Response(body, { status, statusText, headers });
}
