import type { Request } from "express";
import {
  type Application,
  CANNOT_BE_OPENED,
  loginCookies,
  loginWith,
  ONE_COOKIE_HOSTS,
  pendingText,
  type SealSecret,
  sealOf,
  type Visit,
} from "../../../login/src/parts.js";
import { hostOf } from "../request/callback-url.js";
import { addCookies } from "../request/response.js";
import type { LoginJar } from "./login-jar.js";
import type { StartedLogin } from "./person.js";

export interface CookieJarOptions {
  readonly application: Application;
  /** The first seals, all open. */
  readonly secrets: readonly SealSecret[];
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Whether the strategy trusts the proxy in front. */
  readonly trustProxy: boolean;
}

/** Keeps each login under way in a sealed cookie of its own, as `webLogin` does. */
export function cookieJar({ application, secrets, clock, trustProxy }: CookieJarOptions): LoginJar {
  const cookies = loginCookies(application, sealOf(secrets, application), clock);
  const text = pendingText(application);
  const visitOf = (req: Request): Visit => ({ cookie: req.headers?.cookie, url: addressOf(req, trustProxy) });

  return {
    async add(req, login, isSecure) {
      addCookies(req, await cookies.add(visitOf(req), login.handle, text.writeWith(login, []), isSecure));
    },
    async find(req, state) {
      const { pending, isThere, hasOthers, removal } = await cookies.find(visitOf(req), state);
      return {
        login: loginWith(state, text.read(pending) as StartedLogin[]),
        whyUnknown: () => (isThere ? CANNOT_BE_OPENED : hasOthers ? NOT_THIS_ONE : NO_COOKIE),
        remove() {
          addCookies(req, removal);
          return () => {}; // each has a cookie of its own
        },
      };
    },
  };
}

const NOT_THIS_ONE =
  "The state is none of the logins under way in this browser: it was started in another browser, is older than the " +
  "last 10, or the callback is forged";

const NO_COOKIE =
  "No login is under way in this browser: the cookie of this login did not come back. Check that login and callback " +
  "use one host name (localhost and 127.0.0.1 are two), that a login whose callback is on https starts on https too, " +
  `and that nothing in front removes cookies. ${ONE_COOKIE_HOSTS}. For those, and for logins that start on another ` +
  'subdomain, there is the option store: "session"';

/** The scheme is the connection's: whether cookies need `__Host-` is decided by the login's `redirect_uri`. */
function addressOf(req: Request, trustProxy: boolean): string {
  const isTls = (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  return `${isTls ? "https" : "http"}://${hostOf(req, trustProxy)}/`;
}
