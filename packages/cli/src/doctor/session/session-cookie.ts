import { type Cookie, CookieJar, defaultPath, domainMatch, getPublicSuffix, pathMatch } from "tough-cookie";
import { printable } from "../../terminal/output.js";
import type { CookieFrom } from "../browser/login.js";
import { isLoopback } from "../browser/shown-address.js";
import { type Finding, ok, problem, skipped, warning } from "../findings/finding.js";

/** The retailer has to read the consent page, and often to log in at the service first. */
const HARDLY_TIME_MS = 60_000;
/** As long as a code is good (section 8). */
const TIME_ENOUGH_MS = 600_000;

/** The same for all of these: without its cookie, a callback belongs to nobody. */
const effect =
  "The retailer approves, comes back, and is told that this login is unknown or did not start here.";

interface Circumstances {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The doctor brought cookies of its own, so the application may need no others. */
  readonly hasAccount: boolean;
  /** The address that sends the browser to the service. */
  readonly login: URL;
}

/**
 * Whether the browser brings back to the callback what the login route gave it. A retailer comes back
 * by a redirect from another site, which RFC 6265bis calls a cross-site top-level navigation.
 */
export async function sessionCookie(
  cookies: readonly CookieFrom[],
  callback: URL,
  { now, hasAccount, login }: Circumstances,
): Promise<Finding[]> {
  const set = cookiesSet(cookies, now);
  if (set.length === 0) return [hasAccount ? sessionOfTheAccount(login, callback) : noCookie(callback)];
  const hasHttpOnly = set.some(({ cookie }) => cookie.httpOnly);
  const findings: Finding[] = [];
  for (const one of set) {
    const troubles = [
      ...whyNotKept(one),
      ...(await whyNotItsHost(one)),
      ...whyNotBroughtBack(one, callback, now),
    ];
    // Every session library sets HttpOnly, so what is without it beside one that has it is no session.
    const mayBeSession = one.cookie.httpOnly || !hasHttpOnly;
    findings.push(...(mayBeSession ? troubles : troubles.map(lessGrave)));
    if (troubles.length === 0) {
      findings.push(ok("session-cookie", `The cookie ${nameOf(one)} comes back to the callback.`));
    }
  }
  return findings;
}

/** By this the Passport strategy knows a browser again. It replaces no session, and is no trouble beside one. */
const OF_THE_STRATEGY = /^(__Host-)?retail-pos-browser-/;

/**
 * The last one of each name, without those that only delete another and without those that others set beside a session.
 */
function cookiesSet(cookies: readonly CookieFrom[], now: number): CookieFrom[] {
  const byName = new Map(cookies.map((one) => [one.cookie.key, one]));
  const isKoasSignature = (name: string) => name.endsWith(".sig") && byName.has(name.slice(0, -4));
  const isBeside = (name: string) => isKoasSignature(name) || OF_THE_STRATEGY.test(name);
  return [...byName.values()].filter(({ cookie }) => !isDeletion(cookie, now) && !isBeside(cookie.key));
}

/** A cookie that has just ended was meant to live: its life was counted in the wrong unit. */
function isDeletion(cookie: Cookie, now: number): boolean {
  return cookie.value === "" || cookie.TTL(now) < -HARDLY_TIME_MS || cookie.maxAge === 0;
}

function noCookie(callback: URL): Finding {
  const withheld =
    callback.protocol === "https:"
      ? 'behind a proxy that ends https, let the proxy send X-Forwarded-Proto: https, and set app.set("trust proxy", 1) in Express or app.proxy = true in Koa'
      : "over plain http, do not set secure: true";
  const message = "The login route sets no cookie: nothing ties the callback to this browser.";
  const mend = `Put the session middleware before the login route; and ${withheld}, because session libraries withhold a Secure cookie there.`;
  return problem("session-cookie", message, { effect, mend });
}

/** How the account's session cookie was set, nobody sees here; but no cookie of one host reaches any other one. */
function sessionOfTheAccount(login: URL, callback: URL): Finding {
  if (login.hostname !== callback.hostname) return sessionOfAnotherHost(login, callback);
  return skipped(
    "session-cookie",
    "The login sets no cookie beside those that were given; how the application sets those cannot be seen from here.",
    "In the browser's developer tools, see that the session's cookie is SameSite=Lax, for the path / and the callback's host.",
  );
}

function sessionOfAnotherHost(login: URL, callback: URL): Finding {
  const mayShare = sharedDomain(login, callback);
  const message = `The login is at ${login.hostname}, and the callback at ${callback.hostname}.`;
  const mend = `${openAt(callback)} Or let the application send a callback address with the host that people open, and register that.`;
  if (mayShare === undefined) return problem("cookie-host", message, { effect, mend });
  return warning(
    "cookie-host",
    `${message} Unless the session's cookie has Domain=${mayShare}, it stays at the first.`,
    {
      effect,
      mend,
    },
  );
}

/** The domain whose cookies both hosts get, if there may be one. An IP address has none, nor has localhost. */
function sharedDomain(one: URL, other: URL): string | undefined {
  const domain = getDomain(one);
  return domain !== undefined && domain === getDomain(other) ? domain : undefined;
}

function getDomain({ hostname }: URL): string | undefined {
  if (/^\[|^[\d.]+$/.test(hostname)) return undefined;
  return getPublicSuffix(hostname, { allowSpecialUseDomain: false, ignoreError: true }) ?? undefined;
}

function openAt({ origin }: URL): string {
  return `Open the login at ${origin}: to a browser, localhost and 127.0.0.1 are two hosts, and so are a name with and without www.`;
}

/** RFC 6265bis, 5.7: name and value together, in bytes. */
const LARGEST_COOKIE = 4096;

function whyNotKept(one: CookieFrom): Finding[] {
  const { cookie, from } = one;
  const bytes = Buffer.byteLength(cookie.key + cookie.value);
  if (bytes > LARGEST_COOKIE) {
    const message = `The cookie ${nameOf(one)} has ${bytes} bytes: browsers drop what has more than ${LARGEST_COOKIE}.`;
    const mend = "Keep less in the session, or keep it on the server and only its id in the cookie.";
    return [problem("cookie-size", message, { effect, mend })];
  }
  if (cookie.secure && from.protocol === "http:") {
    const mend = "Serve the login over https, or set secure to true only where the application is served so.";
    // Chromium and Firefox take this machine for secure; WebKit does not.
    const [grave, who] = isLoopback(from) ? [warning, "Safari drops"] : [problem, "browsers drop"];
    const message = `The cookie ${nameOf(one)} is Secure over http: ${who} it.`;
    return [grave("cookie-secure", message, { effect, mend })];
  }
  if (cookie.sameSite !== "none" || cookie.secure) return [];
  const message = `The cookie ${nameOf(one)} is SameSite=None without Secure: browsers drop it.`;
  const mend = "Set sameSite to lax: that is enough for a redirect from the consent page.";
  return [problem("cookie-same-site", message, { effect, mend })];
}

/** A jar knows which Domain a host may name, all public suffixes, and what a `__Host-` or `__Secure-` cookie needs. */
async function whyNotItsHost(one: CookieFrom): Promise<Finding[]> {
  const { header, from } = one;
  const overHttps = new URL(from);
  overHttps.protocol = "https:"; // Secure over http is whyNotKept's
  try {
    await new CookieJar(undefined, { prefixSecurity: "strict" }).setCookie(header, overHttps.href);
    return [];
  } catch {
    const message = `The cookie ${nameOf(one)} has a Domain or a name that ${from.hostname} may not set: browsers drop it.`;
    const mend =
      "Leave the cookie's domain unset, which makes it the host's own; a name with __Host- also needs Secure and Path=/.";
    return [problem("cookie-domain", message, { effect, mend })];
  }
}

function whyNotBroughtBack(one: CookieFrom, callback: URL, now: number): Finding[] {
  const { cookie, from } = one;
  const path = cookie.path ?? defaultPath(from.pathname);
  const findings: Finding[] = [];
  const add = (check: string, message: string, mend: string) =>
    findings.push(problem(check, `The cookie ${nameOf(one)} ${message}`, { effect, mend }));

  if (cookie.sameSite === "strict") {
    add(
      "cookie-same-site",
      "is SameSite=Strict: it stays away when another site sends the browser back.",
      "Set sameSite to lax.",
    );
  }
  if (!reachesHost(one, callback)) {
    add(
      "cookie-host",
      `belongs to ${printable(cookie.domain ?? from.hostname)}; the callback is at ${callback.hostname}.`,
      openAt(callback),
    );
  }
  if (!pathMatch(callback.pathname, path)) {
    add(
      "cookie-path",
      `is for ${printable(path)} and below; the callback is ${callback.pathname}.`,
      "Set the cookie's path to /.",
    );
  }
  if (cookie.secure && from.protocol === "https:" && callback.protocol === "http:") {
    add(
      "cookie-secure",
      "is Secure; the callback is plain http.",
      "Serve and register the callback over https.",
    );
  }
  return [...findings, ...whetherLongEnough(one, now)];
}

function reachesHost({ cookie, from }: CookieFrom, callback: URL): boolean {
  if (!cookie.domain) return from.hostname === callback.hostname;
  const isFromThere = domainMatch(from.hostname, cookie.domain);
  return !isFromThere || domainMatch(callback.hostname, cookie.domain) === true; // a foreign Domain is whyNotItsHost's
}

function whetherLongEnough(one: CookieFrom, now: number): Finding[] {
  const lifetimeMs = one.cookie.TTL(now);
  if (lifetimeMs >= TIME_ENOUGH_MS) return [];
  const seconds = Math.max(1, Math.ceil(lifetimeMs / 1000));
  const message = `The cookie ${nameOf(one)} is gone after ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
  const advice = {
    effect: "A retailer who takes longer to approve is told that this login is unknown.",
    mend: "Let it live 15 minutes or more; maxAge of express-session and koa-session counts milliseconds.",
  };
  return [(lifetimeMs < HARDLY_TIME_MS ? problem : warning)("cookie-lifetime", message, advice)];
}

function lessGrave(finding: Finding): Finding {
  return { ...finding, level: "warning" };
}

function nameOf({ cookie }: CookieFrom): string {
  return printable(cookie.key);
}
