import type { CookieJar } from "tough-cookie";
import { realTime, type Time } from "../terminal/time.js";
import { type Ask, asker, type Reply } from "./browser/browser-get.js";
import { callbackAddress, forgedState, type Way } from "./browser/callback-addresses.js";
import { cookieJar, type Login, startLogin, visit } from "./browser/login.js";
import { isWebAddress } from "./browser/shown-address.js";

/** What is to be looked at. */
export interface Target {
  /** The application's login route. */
  readonly url: URL;
  /** The callback address registered with the service. */
  readonly callback?: string | undefined;
  /** {auth_url}; without it any address that ends in `/connect` passes for the consent page. */
  readonly authUrl?: string | undefined;
  readonly clientId?: string | undefined;
  /** Of a browser that is logged in to the application, as in a `Cookie` header; for the application's host alone. */
  readonly cookies?: string | undefined;
  /** A retailer whose token endpoint the application may ask once, with a made-up code. */
  readonly domainPrefix?: string | undefined;
  /** How long one answer may take, milliseconds; default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Default: the time of this machine. */
  readonly time?: Time | undefined;
}

/** The callback as it is visited by somebody who cannot be let in; or an address that is not there. */
export type Stranger = Way | "forged again" | "failed again" | "nowhere";

/** Visits the application, each address once, and remembers what it answered. */
export interface Probe {
  readonly target: Target;
  readonly time: Time;
  readonly timeoutMs: number;
  readonly ask: Ask;
  /** Somebody's cookies were given; without them the application answers nothing else. */
  readonly hasAccount: boolean;
  /** The first login, and the authorization request that it leads to. */
  readonly login: Login;
  readonly request: URL | undefined;
  /** Where the service will send the browser back to. */
  readonly callback: URL | undefined;
  /** A check before this one found a problem of the application: what comes after may come from that. */
  isBroken: boolean;
  /** The login of this number, each in a browser of its own. */
  loginOf(number: number): Promise<Login>;
  /** From a browser with a login under way, or with the cookies that are given. */
  visitAs(stranger: Stranger, jar?: CookieJar): Promise<Reply>;
  remember<T>(what: string, look: () => Promise<T>): Promise<T>;
}

export async function newProbe(target: Target): Promise<Probe> {
  const { url, cookies, timeoutMs = 10_000, time = realTime } = target;
  const ask = asker(timeoutMs, time);
  const seen = new Map<string, Promise<unknown>>();
  const remember = <T>(what: string, look: () => Promise<T>): Promise<T> => {
    if (!seen.has(what)) seen.set(what, look());
    return seen.get(what) as Promise<T>;
  };
  const loginOf = (number: number) =>
    remember(`login ${number}`, () => startLogin(ask, url, cookieJar(url, cookies)));
  const login = await loginOf(0);
  const { request } = login;
  const callback = webAddress(request?.searchParams.get("redirect_uri") || target.callback);
  return {
    ...{ target, time, timeoutMs, ask, login, request, callback, loginOf, remember },
    hasAccount: cookies !== undefined,
    isBroken: false,
    visitAs(stranger, jar = login.jar) {
      const address = addressOf(stranger, callback as URL, target.domainPrefix);
      return remember(`${stranger}${jar === login.jar ? "" : " without cookies"}`, () =>
        visit(ask, address, jar),
      );
    },
  };
}

function addressOf(stranger: Stranger, callback: URL, domainPrefix: string | undefined): URL {
  if (stranger === "nowhere") return new URL(`/${forgedState()}`, callback);
  return callbackAddress(callback, stranger.replace(" again", "") as Way, { domainPrefix });
}

function webAddress(text: string | undefined): URL | undefined {
  return text !== undefined && isWebAddress(text) ? new URL(text) : undefined;
}
