import { CANNOT_BE_OPENED } from "../failures/failure-words.js";
import {
  type FoundLogin,
  isInTime,
  LIFETIME_MS,
  loginWith,
  NOT_THIS_ONE,
  ONE_COOKIE_HOSTS,
  type PendingLogin,
  pendingLoginsIn,
} from "../pending/pending-logins.js";
import type { Application } from "../values/application.js";
import { hashOf } from "../values/bytes.js";
import { type Cookie, cookiesIn, setCookie } from "./cookies.js";
import { type Seal, type SealSecret, sealOf } from "./sealed-cookie.js";

/** As much of a request as the cookies of its browser depend on. */
export interface Visit {
  /** The header `Cookie`. */
  readonly cookie: string | null | undefined;
  /** The request's address, as far as it is known. */
  readonly url: string;
}

/** The sealed cookies of a browser's logins under way, one for each. */
export interface LoginCookies {
  /**
   * The `Set-Cookie` lines of a login that starts: its own, and the removal of those for which there is no room,
   * twenty at most. `undefined` if there is no room and the visit may remove no login that is under way.
   *
   * @throws {TypeError} browsers would drop it for its size.
   */
  add(visit: Visit, login: PendingLogin, ask: NewCookie): Promise<string[] | undefined>;
  /** The login that a callback's state belongs to. */
  find(visit: Visit, state: string): Promise<LoginInCookie>;
}

/** What the cookie of a login that starts depends on. */
export interface NewCookie {
  /** Whether the browser comes back over https. */
  readonly isSecure: boolean;
  /** Whether the oldest logins may go to make room. */
  readonly mayEvict: boolean;
}

/** A login as a browser brought it back. */
export interface LoginInCookie extends FoundLogin {
  /** The `Set-Cookie` lines that remove its cookie. */
  readonly removal: readonly string[];
}

/** Longer than a login lives, so that somebody who comes back late is told so. */
const COOKIE_LIFETIME_MS = 2 * LIFETIME_MS;
/** Of one client; the oldest go first. */
const MOST_COOKIES = 10;
/** Names and values of one client's together; the oldest go first. Servers take 8 kB of headers in all, or more. */
const MOST_BYTES = 3_000;
/** Browsers take 4,096 bytes of one cookie; its attributes need the rest. */
const LONGEST_COOKIE = 4_000;
/** Opened, and removed, when a login starts. A stranger who can plant cookies may have planted hundreds. */
const MOST_LOOKED_AT = 20;
/** No browser sends a cookie's name more often than this; somebody who attacks may. */
const MOST_OF_A_NAME = 5;

export interface LoginCookiesOptions {
  readonly application: Application;
  readonly secrets: readonly SealSecret[];
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Tells two keepers of one application apart. */
  readonly keeper: string;
}

export function loginCookies({ application, secrets, clock, keeper }: LoginCookiesOptions): LoginCookies {
  const seal = sealOf(secrets, application);
  const owner = `${application.identity}\n${keeper}`;

  return {
    async add(visit, login, { isSecure, mayEvict }) {
      const name = await nameOf(owner, login.state, isSecure);
      const cookie = { name, value: await seal.seal(name, JSON.stringify(login)) };
      if (sizeOf(cookie) > LONGEST_COOKIE)
        throw new TypeError("redirectUri and state are together too long for a cookie of 4,000 bytes");
      const ours = await others(visit, isSecure);
      const surplus = await surplusOf(ours.slice(-MOST_LOOKED_AT), sizeOf(cookie)); // a browser sends the newest last
      if (!mayEvict && surplus.some(({ startedAt }) => Number.isFinite(startedAt))) return undefined;
      const unopened = ours.slice(0, -MOST_LOOKED_AT);
      return [
        ...[...surplus, ...unopened].slice(0, MOST_LOOKED_AT).map((one) => removalOf(one.name, isSecure)),
        setCookie(cookie, isSecure, COOKIE_LIFETIME_MS),
      ];
    },
    async find(visit, state) {
      for (const isSecure of [true, false]) {
        const name = await nameOf(owner, state, isSecure);
        const cookies = cookiesIn(visit.cookie).filter((cookie) => cookie.name === name);
        if (cookies.length === 0) continue;
        const all = await Promise.all(cookies.slice(0, MOST_OF_A_NAME).map((cookie) => opened(seal, cookie)));
        const login = all.find((one) => one !== undefined);
        if (!isSecure && login && !comesBackPlain(visit, login))
          return { login: undefined, whyUnknown: CAME_PLAIN, removal: [] };
        return {
          login: loginWith(state, login ? [login] : []),
          whyUnknown: CANNOT_BE_OPENED,
          removal: [removalOf(name, isSecure)],
        };
      }
      const hasOthers = [...(await others(visit, true)), ...(await others(visit, false))].length > 0;
      return { login: undefined, whyUnknown: hasOthers ? NOT_THIS_ONE : NO_COOKIE, removal: [] };
    },
  };

  /**
   * Whether a login may have a cookie without `__Host-`, which plain http and neighbouring hosts can plant: it comes
   * back over http. If the application itself is on https, only to the login's own address on this machine.
   */
  function comesBackPlain({ url }: Visit, login: PendingLogin): boolean {
    const redirectUri = login.redirectUri ?? application.redirectUri;
    if (!isHttp(url) || !isHttp(redirectUri)) return false;
    return isHttp(application.redirectUri) || new URL(url).origin === new URL(redirectUri).origin;
  }

  /** The cookies of this client's other logins, each name once. */
  async function others(visit: Visit, isSecure: boolean): Promise<Cookie[]> {
    const start = await startOfNames(owner, isSecure);
    const ours = cookiesIn(visit.cookie).filter(({ name }) => name.startsWith(start));
    return [...new Map(ours.map((cookie) => [cookie.name, cookie])).values()];
  }

  /** The cookies to remove, so that a login of `size` bytes has room. */
  async function surplusOf(cookies: readonly Cookie[], size: number) {
    const dated = await Promise.all(
      cookies.map(async (cookie) => ({ ...cookie, startedAt: await startOf(cookie) })),
    );
    const newestFirst = dated.sort((one, other) => other.startedAt - one.startedAt);
    let [count, bytes] = [1, size];
    return newestFirst.filter((cookie) => {
      count += 1;
      bytes += sizeOf(cookie);
      return count > MOST_COOKIES || bytes > MOST_BYTES;
    });
  }

  /** Epoch milliseconds; before all others for a cookie that finishes no login any more. */
  async function startOf(cookie: Cookie): Promise<number> {
    const login = await opened(seal, cookie);
    return login && isInTime(login, clock()) ? login.startedAt : Number.NEGATIVE_INFINITY;
  }
}

/**
 * `__Host-` is set on https: no other host can plant such a cookie, nor can plain http.
 *
 * @param owner client id, consent server, API and keeper: in one cookie no two of them meet.
 */
async function startOfNames(owner: string, isSecure: boolean): Promise<string> {
  return `${isSecure ? "__Host-" : ""}retail-pos.${(await hashOf(owner)).slice(0, 8)}.`;
}

async function nameOf(owner: string, state: string, isSecure: boolean): Promise<string> {
  return (await startOfNames(owner, isSecure)) + (await hashOf(state)).slice(0, 16);
}

async function opened(seal: Seal, { name, value }: Cookie): Promise<PendingLogin | undefined> {
  const text = await seal.open(name, value);
  return text === undefined ? undefined : pendingLoginsIn([JSON.parse(text)])[0];
}

const NO_COOKIE =
  "No login is under way in this browser: the cookie of this login did not come back. If it was not finished already " +
  "(reload, back button), check that login and callback use one host name (localhost and 127.0.0.1 are two), that a " +
  "login starts on https if its callback is there, and that neither the browser nor anything in front drops or changes " +
  `cookies. ${ONE_COOKIE_HOSTS}. For those, and for logins that start on another subdomain, the Passport strategy has ` +
  'the option store: "session"';

/** Of a cookie without `__Host-` that does not count: see `comesBackPlain`. */
const CAME_PLAIN =
  "The login's cookie of plain http came to another address than its redirectUri: let the proxy pass the header Host";

function removalOf(name: string, isSecure: boolean): string {
  return setCookie({ name, value: "" }, isSecure, 0);
}

function isHttp(address: string | undefined): address is string {
  return /^http:/i.test(address ?? "");
}

/** Names and values are ASCII. */
const sizeOf = ({ name, value }: Cookie): number => name.length + value.length;
