import { isLoopback } from "@retail-pos/core/authoring";
import { Cookie, CookieJar, defaultPath, domainMatch, getPublicSuffix, pathMatch } from "tough-cookie";
import { printable } from "../../terminal/output.js";
import { type Answer, isSilence } from "../browser/browser-get.js";
import { asWarning, type Finding } from "../findings/finding.js";
import { found, type MessageKey, ofSession } from "../findings/messages.js";
import type { Probe } from "../probe.js";

/** The retailer has to read the consent page, and often to log in at the service first. */
const HARDLY_TIME_MS = 60_000;
/** As long as a code is good (section 8). */
const TIME_ENOUGH_MS = 600_000;
/** RFC 6265bis, 5.7: name and value together, in bytes. */
const LARGEST_COOKIE = 4096;
/** In such a cookie the strategy and `webLogin` keep a login; then no session is needed for it. */
export const OF_A_LOGIN: RegExp = /^(?:__Host-)?retail-pos\.[\w-]{8}\.[\w-]{16}$/;

interface CookieFrom {
  /** `Set-Cookie` as it came. */
  readonly header: string;
  readonly cookie: Cookie;
  readonly from: URL;
}

/** Whether the browser brings back to the callback what the application's pages gave it. */
export async function cookie({ request, callback, login, hasAccount, visitAs }: Probe): Promise<Finding[]> {
  if (!request || !callback) return [];
  const start = login.answers.at(-1)?.url as URL;
  const other = await visitAs("forged");
  const pages = { login: login.answers, others: isSilence(other) ? [] : [other] };
  return cookieFindings(pages, callback, { now: Date.now(), hasAccount, start });
}

interface Circumstances {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The doctor brought cookies of its own, so the application may need no others. */
  readonly hasAccount: boolean;
  /** The address that sends the browser to the service. */
  readonly start: URL;
}

type Pages = Readonly<Record<"login" | "others", readonly Pick<Answer, "url" | "headers">[]>>;

/**
 * A retailer comes back by a redirect from another site, which RFC 6265bis calls a cross-site top-level navigation. If
 * the login has a cookie of its own, a wrong cookie of the session does not end the login, but what comes after it.
 */
export async function cookieFindings(
  pages: Pages,
  callback: URL,
  { now, hasAccount, start }: Circumstances,
): Promise<Finding[]> {
  const ofLogin = cookiesSet(pages.login, now);
  if (ofLogin.length === 0 && hasAccount) return [checkHosts(start, callback)];
  if (ofLogin.length === 0)
    return [found(callback.protocol === "https:" ? "session-cookie none-over-https" : "session-cookie none")];
  const isLoginApart = ofLogin.some(({ cookie }) => OF_A_LOGIN.test(cookie.key));
  const hasHttpOnly = ofLogin.some(({ cookie }) => cookie.httpOnly);
  const findings: Finding[] = [];
  for (const one of cookiesSet([...pages.login, ...pages.others], now)) {
    const isOfLogin = ofLogin.some(({ cookie }) => cookie.key === one.cookie.key);
    const carriesLogin = isLoginApart ? OF_A_LOGIN.test(one.cookie.key) : isOfLogin;
    // Every session library sets HttpOnly, so what is without it beside one that has it is no session.
    const mayBeSession = one.cookie.httpOnly || !hasHttpOnly;
    if (!carriesLogin && !mayBeSession) continue;
    const lost = await troublesOf(one, callback, now);
    const troubles = carriesLogin ? lost : lost.map(ofSession);
    findings.push(...(carriesLogin && mayBeSession ? troubles : troubles.map(asWarning)));
    const [name, isOverHttps] = [printable(one.cookie.key), one.from.protocol === "https:"];
    if (troubles.length > 0) continue;
    if (mayBeSession && isOverHttps && !one.cookie.secure)
      findings.push(found("cookie-secure missing", { name }));
    findings.push(found("session-cookie", { name }));
  }
  return findings;
}

/**
 * The last one of each name, without those that only delete another, and without the signatures that Koa sets beside
 * its cookies. A cookie that has just ended was meant to live: its life was counted in the wrong unit.
 */
function cookiesSet(answers: Pages["login"], now: number): CookieFrom[] {
  const byName = new Map<string, CookieFrom>();
  for (const { url, headers } of answers) {
    for (const header of headers.getSetCookie()) {
      const cookie = Cookie.parse(header);
      const isDeletion =
        cookie && (cookie.value === "" || cookie.TTL(now) < -HARDLY_TIME_MS || cookie.maxAge === 0);
      if (cookie && !isDeletion) byName.set(cookie.key, { header, cookie, from: url });
    }
  }
  return [...byName.values()].filter(
    ({ cookie: { key } }) => !(key.endsWith(".sig") && byName.has(key.slice(0, -4))),
  );
}

/** How the account's session cookie was set, nobody sees here; but no cookie of one host reaches any other one. */
function checkHosts(login: URL, callback: URL): Finding {
  if (login.hostname === callback.hostname) return found("session-cookie given");
  const { hostname, origin } = callback;
  const hosts = found("cookie-host account", { login: login.hostname, callback: hostname, origin });
  const domain = domainOf(login);
  return domain !== undefined && domain === domainOf(callback) ? asWarning(hosts) : hosts;
}

/** The domain whose cookies a host may share. An IP address has none, nor has localhost. */
function domainOf({ hostname }: URL): string | undefined {
  if (/^\[|^[\d.]+$/.test(hostname)) return undefined;
  return getPublicSuffix(hostname, { allowSpecialUseDomain: false, ignoreError: true }) ?? undefined;
}

async function troublesOf(one: CookieFrom, callback: URL, now: number): Promise<Finding[]> {
  const { cookie, from, header } = one;
  const name = printable(cookie.key);
  const findings: Finding[] = [];
  const add = (key: MessageKey, values: Record<string, string | number> = {}) =>
    findings.push(found(key, { name, callback: callback.pathname, ...values }));

  const bytes = Buffer.byteLength(cookie.key + cookie.value);
  const path = cookie.path ?? defaultPath(from.pathname);
  if (bytes > LARGEST_COOKIE) add("cookie-size", { bytes, most: LARGEST_COOKIE });
  else if (cookie.secure && from.protocol === "http:")
    // Chromium and Firefox take this machine for secure; WebKit does not.
    add(isLoopback(from.hostname) ? "cookie-secure dropped-by-safari" : "cookie-secure dropped");
  else if (cookie.sameSite === "none" && !cookie.secure) add("cookie-same-site none");
  if (!(await isKept(header, from))) add("cookie-domain", { host: from.hostname });
  if (cookie.sameSite === "strict") add("cookie-same-site strict");
  if (!reachesHost(one, callback)) {
    const owner = printable(cookie.domain ?? from.hostname);
    add("cookie-host", { owner, callback: callback.hostname, origin: callback.origin });
  }
  if (!pathMatch(callback.pathname, path)) add("cookie-path", { path: printable(path) });
  if (cookie.secure && from.protocol === "https:" && callback.protocol === "http:")
    add("cookie-secure not-sent");
  const lifetimeMs = cookie.TTL(now);
  const seconds = Math.max(1, Math.ceil(lifetimeMs / 1000));
  const time = `${seconds} ${seconds === 1 ? "second" : "seconds"}`;
  const short = found("cookie-lifetime", { name, time });
  if (lifetimeMs < TIME_ENOUGH_MS) findings.push(lifetimeMs < HARDLY_TIME_MS ? short : asWarning(short));
  return findings;
}

/** A jar knows which Domain a host may name, all public suffixes, and what a `__Host-` or `__Secure-` cookie needs. */
async function isKept(header: string, from: URL): Promise<boolean> {
  const overHttps = new URL(from);
  overHttps.protocol = "https:"; // Secure over http is told apart
  const jar = new CookieJar(undefined, { prefixSecurity: "strict" });
  return jar.setCookie(header, overHttps.href).then(
    () => true,
    () => false,
  );
}

function reachesHost({ cookie, from }: CookieFrom, callback: URL): boolean {
  if (!cookie.domain) return from.hostname === callback.hostname;
  const isFromThere = domainMatch(from.hostname, cookie.domain);
  return !isFromThere || domainMatch(callback.hostname, cookie.domain) === true; // a foreign Domain is not kept at all
}
