import type { Request } from "express";
import {
  CANNOT_BE_OPENED,
  loginCookies,
  loginWith,
  ONE_COOKIE_HOSTS,
  pendingText,
  type Visit,
} from "../../../login/src/parts.js";
import { hostOf } from "../request/callback-url.js";
import { addCookies } from "../request/response.js";
import type { LoginJar } from "./own-states.js";

/** Keeps each login under way in a sealed cookie of its own, as `webLogin` does. */
export function cookieJar(options: Parameters<typeof loginCookies>[0], trustProxy: boolean): LoginJar {
  const cookies = loginCookies(options);
  const text = pendingText(options.application);
  const visitOf = (req: Request): Visit => ({ cookie: req.headers?.cookie, url: addressOf(req, trustProxy) });

  return {
    async add(req, login, ask) {
      const pending = await text.writeWith(login, []);
      const lines = await cookies.add(visitOf(req), { ...ask, state: login.state, pending });
      if (lines) addCookies(req, lines);
      return lines !== undefined;
    },
    async find(req, state) {
      const { pending, isThere, hasOthers, removal } = await cookies.find(visitOf(req), state);
      return {
        login: loginWith(state, await text.read(pending)),
        whyUnknown: () => (isThere ? CANNOT_BE_OPENED : hasOthers ? NOT_THIS_ONE : NO_COOKIE),
        remove: () => void addCookies(req, removal),
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
