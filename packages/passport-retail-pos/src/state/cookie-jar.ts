import type { Request } from "express";
import { type LoginCookiesOptions, loginCookies, type Visit } from "../../../login/src/parts.js";
import { hostOf } from "../request/callback-url.js";
import { addCookies } from "../request/response.js";
import type { LoginJar } from "./own-states.js";

/** Keeps each login under way in a sealed cookie of its own, as `webLogin` does. */
export function cookieJar(options: LoginCookiesOptions, trustProxy: boolean): LoginJar {
  const cookies = loginCookies(options);
  const visitOf = (req: Request): Visit => ({ cookie: req.headers?.cookie, url: addressOf(req, trustProxy) });

  return {
    async add(req, login, ask) {
      const lines = await cookies.add(visitOf(req), login, ask);
      if (lines) addCookies(req, lines);
      return lines !== undefined;
    },
    async find(req, state) {
      const { removal, ...found } = await cookies.find(visitOf(req), state);
      return { ...found, remove: () => void addCookies(req, removal) };
    },
  };
}

/** The scheme is the connection's: whether cookies need `__Host-` is decided by the login's `redirect_uri`. */
function addressOf(req: Request, trustProxy: boolean): string {
  const isTls = (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  return `${isTls ? "https" : "http"}://${hostOf(req, trustProxy)}/`;
}
