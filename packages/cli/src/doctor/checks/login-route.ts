import type { Answer } from "../browser/browser-get.js";
import { isSignOn } from "../browser/login.js";
import { errorSaid, hasInput } from "../browser/page-text.js";
import { isReadableOnTheWay, shown } from "../browser/shown-address.js";
import { toldFailure } from "../browser/told-failure.js";
import type { Finding } from "../findings/finding.js";
import { found } from "../findings/messages.js";
import { mendOfSilence } from "../findings/silence.js";
import type { Probe } from "../probe.js";

/** Whether the login route sends the browser to `{auth_url}/connect` (4.1). */
export function loginRoute({
  login,
  target,
  hasAccount,
}: Pick<Probe, "login" | "target" | "hasAccount">): Finding[] {
  const { answers, request, silence } = login;
  if (silence) {
    const mend = mendOfSilence(silence, "application");
    return [found("login-route silent", { why: silence.unreachable, mend })];
  }
  const last = answers.at(-1) as Answer;
  if (!request) return [checkAccounts(answers, hasAccount) ?? wentElsewhere(last, answers.length)];
  return [checkConsentPage(request, target.authUrl), ...checkTransport(last.url), ...checkCaching(last)];
}

function checkConsentPage(request: URL, authUrl: string | undefined): Finding {
  const consent = shown(request);
  if (/\/connect\/+connect$/.test(request.pathname)) return found("login-route connect-twice", { consent });
  const expected =
    authUrl === undefined ? "{auth_url}/connect" : `${shown(new URL(authUrl)).replace(/\/$/, "")}/connect`;
  const isRight = authUrl === undefined ? request.pathname.endsWith("/connect") : consent === expected;
  return found(isRight ? "login-route" : "login-route elsewhere", { consent, expected });
}

/** Applications with accounts of their own let only people who are logged in start a login. */
function checkAccounts(way: readonly Answer[], hasAccount: boolean): Finding | undefined {
  const answer = way.at(-1) as Answer;
  const isRefusal = answer.status === 401 || answer.status === 403;
  if (answer.status === 429 || !(asksWho(way, isRefusal) || (hasAccount && isRefusal))) return undefined;
  if (hasAccount) return found("login-route not-logged-in", { where: shown(answer.url) });
  return found("login-route accounts", { where: shown(answer.location ?? answer.url) });
}

/**
 * A page with a password, or single sign-on: where the store is the login, nobody meets those. An e-mail address is
 * asked for by newsletters too, so it counts only on a page that stands in the login's way.
 */
function asksWho(way: readonly Answer[], isRefusal: boolean): boolean {
  const answer = way.at(-1) as Answer;
  if (answer.status >= 404) return false;
  if (isSignOn(answer) || hasInput(answer, "password")) return true;
  return (way.length > 1 || isRefusal) && hasInput(answer, "email");
}

/** The browser stays in the application: what each answer usually means. */
function wentElsewhere(answer: Answer, count: number): Finding {
  const { url, status, location } = answer;
  const at = count > 1 ? `It redirects to ${shown(url)}, which answers ${status}` : `It answers ${status}`;
  if (location) return found("login-route loop");
  if (status === 429) return found("login-route limited", { at: shown(url) });
  if (status === 404 || status === 405) return found("login-route missing", { at });
  if (status >= 500 || status === 400) return failed(answer, at); // 400: what the request says of its own address
  if (status >= 400) return found("login-route closed", { at });
  if (status >= 300) return found("login-route no-location", { at });
  return found(count > 1 ? "login-route other-page" : "login-route page", { at });
}

/** An application in development says on its error page why; one in production says it in its log. */
function failed(answer: Answer, at: string): Finding {
  const said = errorSaid(answer);
  const [why, mend] = REASONS[toldFailure(answer) ?? ""] ?? [
    "starting a login fails in the application",
    said === ""
      ? `Read the application's log. Usual reasons: ${usualReasons(answer.url)}.`
      : "Look for that error in the application's log, which has its place too. Usual reasons: the session store, or a state store of the strategy, fails or cannot be reached.",
  ];
  return found("login-route failed", { at, why, said, mend });
}

const REASONS: Readonly<Record<string, readonly [why: string, mend: string]>> = {
  no_session: [
    "the login has no session to keep its state in",
    "Put the session middleware, with its secret, before the login route and the callback. If it is there, its store is not connected, or its cookie is for another path.",
  ],
  no_strategy: [
    "Passport does not know the strategy",
    "Call passport.use(new RetailPosStrategy(...)) on the same Passport object, and name it as it is registered.",
  ],
  callback_not_https: [
    "the callback address is made from a request that came over plain http",
    'Behind a proxy that ends TLS, app.set("trust proxy", 1), on Koa app.proxy = true; or configure the callback address in full.',
  ],
};

/** Koa's session, and a relative callback address, refuse a request that is not https, or seems not to be. */
function usualReasons({ protocol }: URL): string {
  const ofScheme =
    protocol === "https:"
      ? 'a proxy that ends TLS, and an application that does not know it: let the proxy send X-Forwarded-Proto: https, and the application trust it, on Koa by app.proxy = true, on Express by app.set("trust proxy", 1)'
      : "over plain http a cookie marked Secure (Koa), or a relative callback address";
  return `a session store, or a state store of the strategy, that fails; no session middleware before the login route; a proxy whose application does not run; ${ofScheme}`;
}

function checkTransport(url: URL): Finding[] {
  return isReadableOnTheWay(url) ? [found("login-transport", { host: url.host })] : [];
}

/** RFC 9111, 4.2.2: a 301 or 308 may be kept unless it says otherwise; a 302 only if it says so. */
function checkCaching({ status, headers }: Answer): Finding[] {
  const control = headers.get("cache-control") ?? "";
  const isKept = /\b(?:max-age|s-maxage)=0*[1-9]/i.test(control) || Number(headers.get("age") ?? 0) > 0;
  const isPermanent = (status === 301 || status === 308) && !/no-store|no-cache|max-age=0/i.test(control);
  if (/no-store/i.test(control) || !(isKept || isPermanent)) return [];
  const how = isPermanent
    ? `is a ${status}, which browsers keep`
    : "may be kept by caches (Cache-Control, Age)";
  return [found("login-cached", { how })];
}
