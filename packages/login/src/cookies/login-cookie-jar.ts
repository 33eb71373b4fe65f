import { isInTime, LIFETIME_MS, pendingLoginsIn } from "../pending/pending-logins.js";
import type { Application } from "../values/application.js";
import { type Cookie, cookiesIn, isOnThisMachine, setCookie } from "./cookies.js";
import { type CookieNames, cookieNames, type Seal, type SealSecret, sealOf } from "./sealed-cookie.js";

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
  add(visit: Visit, login: StartedLogin): Promise<string[] | undefined>;
  /** The cookie of the login that a callback's state belongs to. */
  find(visit: Visit, state: string): Promise<FoundCookie>;
}

/** A login that starts, as its cookie depends on it. */
export interface StartedLogin {
  readonly state: string;
  /** The text that the flow wants kept. */
  readonly pending: string;
  /** Whether the browser comes back over https. */
  readonly isSecure: boolean;
  /** Whether the oldest logins may go to make room. */
  readonly mayEvict: boolean;
}

/** The cookie that a browser brought back for one login. */
export interface FoundCookie {
  /** The text that the flow wanted kept; `undefined` if there is no cookie that can be opened. */
  readonly pending: string | undefined;
  /** Whether there was one at all. */
  readonly isThere: boolean;
  /** Whether the browser brought back cookies of other logins of this application. */
  readonly hasOthers: boolean;
  /** The `Set-Cookie` lines that remove it. */
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
  let known: CookieNames | undefined;
  const names = async () => {
    known ??= await cookieNames(application, keeper); // no promise is kept: it may be one of a request that the runtime ended
    return known;
  };

  return {
    async add(visit, { state, pending, isSecure, mayEvict }) {
      const name = await (await names()).of(state, isSecure);
      const cookie = { name, value: await seal.seal(name, pending) };
      if (sizeOf(cookie) > LONGEST_COOKIE)
        throw new TypeError("redirectUri and state are together too long for a cookie of 4,000 bytes");
      const ours = await others(visit, isSecure);
      const surplus = await surplusOf(ours.slice(-MOST_LOOKED_AT), sizeOf(cookie)); // a browser sends the newest last
      if (!mayEvict && surplus.some(({ startedAt }) => Number.isFinite(startedAt))) return undefined;
      const unopened = ours.slice(0, -MOST_LOOKED_AT);
      return [
        ...[...surplus, ...unopened]
          .slice(0, MOST_LOOKED_AT)
          .map((one) => setCookie({ name: one.name, value: "" }, isSecure, 0)),
        setCookie(cookie, isSecure, COOKIE_LIFETIME_MS),
      ];
    },
    async find(visit, state) {
      const cookies = cookiesIn(visit.cookie);
      const ours = [...(await others(visit, true)), ...(await others(visit, false))].map(({ name }) => name);
      for (const isSecure of [true, false]) {
        const name = await (await names()).of(state, isSecure);
        const values = cookies.filter((cookie) => cookie.name === name).slice(0, MOST_OF_A_NAME);
        if (values.length === 0) continue;
        const pending = await firstOpened(seal, values);
        if (!isSecure && pending !== undefined && !comesBackPlain(visit, pending)) continue;
        const hasOthers = ours.some((one) => one !== name);
        return { pending, isThere: true, hasOthers, removal: [setCookie({ name, value: "" }, isSecure, 0)] };
      }
      return { pending: undefined, isThere: false, hasOthers: ours.length > 0, removal: [] };
    },
  };

  /**
   * Whether a login may have a cookie without `__Host-`, which plain http and neighbouring hosts can plant: it comes
   * back over http. If the application itself is on https, only to the login's own address on this machine.
   */
  function comesBackPlain({ url }: Visit, pending: string): boolean {
    const redirectUri = loginsIn(pending)[0]?.redirectUri ?? application.redirectUri;
    if (!isHttp(url) || !isHttp(redirectUri)) return false;
    if (isHttp(application.redirectUri)) return true;
    return isOnThisMachine(url) && originOf(url) === originOf(redirectUri);
  }

  /** The cookies of this client's other logins, each name once. */
  async function others(visit: Visit, isSecure: boolean): Promise<Cookie[]> {
    const { isOurs } = await names();
    const ours = cookiesIn(visit.cookie).filter(({ name }) => isOurs(name, isSecure));
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
  async function startOf({ name, value }: Cookie): Promise<number> {
    const [login] = loginsIn(await seal.open(name, value));
    return login && isInTime(login, clock()) ? login.startedAt : Number.NEGATIVE_INFINITY;
  }
}

/** The text of the first of these cookies of one name that can be opened. */
async function firstOpened(seal: Seal, cookies: readonly Cookie[]): Promise<string | undefined> {
  for (const { name, value } of cookies) {
    const pending = await seal.open(name, value);
    if (pending !== undefined) return pending;
  }
  return undefined;
}

function loginsIn(pending: string | undefined) {
  return pending === undefined ? [] : pendingLoginsIn(JSON.parse(pending).logins);
}

function originOf(address: string | undefined): string | undefined {
  return address && new URL(address).origin;
}

function isHttp(address: string | undefined): boolean {
  return /^http:/i.test(address ?? "");
}

/** Names and values are ASCII. */
function sizeOf({ name, value }: Cookie): number {
  return name.length + value.length;
}
