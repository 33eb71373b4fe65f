import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Request } from "express";
import { type Cookie, cookiesIn, isOnThisMachine, LIFETIME_MS, setCookie } from "../../../login/src/parts.js";
import { hostOf } from "../request/callback-url.js";
import { responseOf } from "../request/response.js";
import { hashOf } from "./hash.js";

// A session tells which logins are under way, but not whether this browser started them: a stranger may have planted
// the session, and two tabs that open first get a session each. A cookie of our own tells which browser it is. Its
// value is random, is no secret, and lives as long as a login may take.

/** The name of a cookie of ours. `__Host-` is set on https: no other host and no plain http can plant such a cookie. */
const NAME = /^(__Host-)?retail-pos-browser-[\w-]{11}$/;
const VALUE = /^[\w-]{32}$/;
/** Tabs that open first get one each; beyond this number the oldest are removed. */
const MOST_COOKIES = 10;
/** Of each kind. A stranger who can plant cookies may have planted hundreds. */
const MOST_LOOKED_AT = 20;

/**
 * The marks of the browser that sent a request, as its logins carry them; several, if several tabs opened first. One
 * that plain http or a neighbouring host could have planted counts on this machine only.
 */
export function browsersOf(req: Request): string[] {
  const isLocal = isOnThisMachine(`http://${hostOf(req)}/`);
  return [...cookiesOf(req, true), ...(isLocal ? cookiesOf(req, false) : [])].map(markOf);
}

/**
 * Marks the browser that starts a login, and returns the mark; `undefined` if the framework keeps the response out of
 * reach (Fastify), so that no cookie can be set.
 *
 * @param isSecure whether the browser comes back over https.
 */
export function markBrowser(req: Request, isSecure: boolean): string | undefined {
  const response = responseOf(req);
  if (!response || response.headersSent) return undefined;
  const usable = cookiesOf(req, isSecure);
  const cookie = usable.at(-1) ?? newCookie(isSecure);
  for (const { name } of usable.slice(0, -MOST_COOKIES)) set(response, { name, value: "" }, isSecure, 0);
  set(response, cookie, isSecure, LIFETIME_MS);
  return markOf(cookie);
}

/** Whether browsers can be told apart at all, on the framework that this request came through. */
export function canMarkBrowser(req: Request): boolean {
  return responseOf(req) !== undefined;
}

/** Whether a request brings back any cookie but ours, as a session's would be. */
export function hasOtherCookies(req: Request): boolean {
  return cookiesIn(req.headers?.cookie).some(({ name }) => !NAME.test(name));
}

function newCookie(isSecure: boolean): Cookie {
  const name = `${isSecure ? "__Host-" : ""}retail-pos-browser-${randomBytes(8).toString("base64url")}`;
  return { name, value: randomBytes(24).toString("base64url") };
}

/** Short, because sessions hold it and may be cookies themselves. It covers the name, and with it `__Host-`. */
function markOf({ name, value }: Cookie): string {
  return hashOf(`${name}=${value}`).slice(0, 22);
}

function cookiesOf(req: Request, isSecure: boolean): Cookie[] {
  const isOurs = ({ name, value }: Cookie) =>
    NAME.test(name) && VALUE.test(value) && name.startsWith("__Host-") === isSecure;
  return cookiesIn(req.headers?.cookie).filter(isOurs).slice(-MOST_LOOKED_AT); // a browser sends the newest last
}

function set(response: ServerResponse, cookie: Cookie, isSecure: boolean, lifetimeMs: number): void {
  const others = [response.getHeader("set-cookie") ?? []].flat().map(String);
  response.setHeader("set-cookie", [...others, setCookie(cookie, isSecure, lifetimeMs)]);
}
