import { Cookie, CookieJar } from "tough-cookie";
import { type Answer, type Ask, isSilence, type Reply } from "./browser-get.js";
import type { Silence } from "./silence.js";

/** A login as far as a browser gets before it leaves the application. */
export interface Login {
  /** What the application answered, in order; a login route may redirect within the application first. */
  readonly answers: readonly Answer[];
  /** The authorization request that the last answer sends the browser off with, if it does. */
  readonly request: URL | undefined;
  /** Where the way ended with no answer at all. */
  readonly silence: Silence | undefined;
  /** What a browser keeps of the cookies on the way. */
  readonly jar: CookieJar;
}

/** More redirects than any login needs; browsers give up at about twenty. */
const MOST_REDIRECTS = 10;

/** Marks a cookie that was given. */
const GIVEN = "given";

/**
 * A browser's cookies before the login starts: none, or those that a person brings who is logged in to the application.
 *
 * @param cookies as in a `Cookie` header (RFC 6265, 4.2).
 */
export function cookieJar(url: URL, cookies = ""): CookieJar {
  const jar = new CookieJar();
  for (const pair of cookies.split(/;\s*/).filter(Boolean)) {
    const isSecure = url.protocol === "https:" || /^__(?:Host|Secure)-/.test(pair);
    jar.setCookieSync(`${pair}; Path=/; ${GIVEN}${isSecure ? "; Secure" : ""}`, url.href);
  }
  return jar;
}

/** Starts a login as somebody does who has these cookies. */
export async function startLogin(ask: Ask, url: URL, jar: CookieJar): Promise<Login> {
  const answers: Answer[] = [];
  const soFar = { answers, jar, request: undefined, silence: undefined };

  for (let next: URL | undefined = url; next && answers.length < MOST_REDIRECTS; ) {
    const reply = await ask(next, await jar.getCookieString(next.href));
    if (isSilence(reply)) return { ...soFar, silence: reply };
    answers.push(reply);
    await keep(jar, reply);
    if (isSignOn(reply)) return soFar;
    if (reply.location && isAuthorizationRequest(reply.location, reply.url)) {
      return { ...soFar, request: reply.location };
    }
    next = reply.location;
  }
  return soFar;
}

/** More than any site needs from one spelling of an address to the other. */
const MOST_HOPS = 3;

/**
 * One visit with a browser's cookies, as the service sends it there. A redirect to the same path (with www, with https,
 * with a slash at its end) is followed as a browser does, unless it loses the query.
 */
export async function visit(ask: Ask, to: URL, jar: CookieJar): Promise<Reply> {
  const cookiesFor = (url: URL) => jar.getCookieString(url.href, { sameSiteContext: "lax" });
  let reply = await ask(to, await cookiesFor(to));
  for (let hops = 0; hops < MOST_HOPS && !isSilence(reply) && reply.location; hops += 1) {
    const { location, url } = reply;
    if (!isOtherSpelling(location, url) || location.search !== url.search) break;
    reply = await ask(location, await cookiesFor(location));
  }
  return reply;
}

/** Of the same address: the same path, but for a slash at its end, at another origin or not. */
export function isOtherSpelling(one: URL, other: URL): boolean {
  const plain = ({ pathname }: URL) => pathname.replace(/\/$/, "");
  return plain(one) === plain(other) && one.origin + one.pathname !== other.origin + other.pathname;
}

async function keep(jar: CookieJar, { url, headers }: Answer): Promise<void> {
  for (const header of headers.getSetCookie()) {
    const cookie = Cookie.parse(header);
    if (cookie) await forget(jar, url, cookie.key);
    await jar.setCookie(header, url.href, { ignoreError: true });
  }
}

/** A cookie that was given, and that the application sets anew: how it set it before, nobody said. */
async function forget(jar: CookieJar, url: URL, name: string): Promise<void> {
  for (const { key, domain, path, extensions } of await jar.getCookies(url.href))
    if (key === name && extensions?.includes(GIVEN)) await jar.store.removeCookie(domain, path, key);
}

/**
 * People log in to the application by somebody else's accounts (OpenID Connect Core, 3.1.2.1), not with a store. At the
 * consent page itself `openid` is a wrong scope, and the service says so.
 */
export function isSignOn({ location }: Answer): boolean {
  if (!location || location.pathname.endsWith("/connect")) return false;
  return location.searchParams.get("scope")?.split(" ").includes("openid") ?? false;
}

/** By its parameters, so that one sent to a wrong path is recognised too; by its path, if those are missing. */
function isAuthorizationRequest(location: URL, from: URL): boolean {
  const has = (name: string) => location.searchParams.has(name);
  if (has("client_id") || has("response_type")) return true;
  return location.pathname.endsWith("/connect") && location.origin !== from.origin;
}
