import type { Answer } from "../browser/browser-get.js";
import { isSignOn } from "../browser/login.js";
import { errorSaid, hasInput } from "../browser/page-text.js";
import { isReadableOnTheWay, shown } from "../browser/shown-address.js";
import { toldFailure } from "../browser/told-failure.js";
import type { Finding } from "../findings/finding.js";
import { found } from "../findings/messages.js";
import type { Probe } from "../probe.js";

/** Whether the login route sends the browser to `{auth_url}/connect` (4.1). */
export function loginRoute({
  login,
  target,
  hasAccount,
}: Pick<Probe, "login" | "target" | "hasAccount">): Finding[] {
  const { answers, request, silence } = login;
  if (silence)
    return [found("login-route silent", { why: silence.unreachable, mend: silence.mends.application })];
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
  const told = toldFailure(answer);
  if (told === "no_session") return found("login-route no-session", { at, said });
  if (told === "no_strategy") return found("login-route no-strategy", { at, said });
  if (told === "callback_not_https") return found("login-route not-https", { at, said });
  if (said !== "") return found("login-route failed-aloud", { at, said });
  // Koa's session, and a relative callback address, refuse a request that is not https, or seems not to be.
  const isHttps = answer.url.protocol === "https:";
  return found(isHttps ? "login-route failed-over-https" : "login-route failed", { at });
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
