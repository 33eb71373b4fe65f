import type { ServerResponse } from "node:http";
import type { Request } from "express";
import { PREFETCH_RESPONSE } from "../../../login/src/parts.js";

/** As much of a response as Passport itself needs: koa-passport has one of its own. */
type PassportResponse = Pick<ServerResponse, "statusCode" | "setHeader" | "end">;

/** As much of a response as a login needs. One without `getHeader` adds cookies to those it has (Fastify's reply). */
type CookieResponse = Pick<ServerResponse, "setHeader"> &
  Partial<Pick<ServerResponse, "getHeader" | "headersSent">>;

/**
 * The response to a request; `undefined` if the framework keeps it out of reach (Fastify, unless the application puts
 * it on the request). Express keeps it on the request, koa-passport on the request's context (its own `res` can only
 * replace headers).
 */
export function responseOf(req: Request): CookieResponse | undefined {
  const { ctx, res } = req as { ctx?: { res?: CookieResponse }; res?: CookieResponse | null };
  return [ctx?.res, res].find((one): one is CookieResponse => typeof one?.setHeader === "function");
}

/** Adds cookies to those that the response has already. */
export function addCookies(req: Request, lines: readonly string[]): void {
  const response = responseOf(req);
  if (!response || lines.length === 0) return;
  const others = [response.getHeader?.("set-cookie") ?? []].flat().map(String);
  response.setHeader("set-cookie", [...others, ...lines]);
}

/** A login's answers belong to one browser. The address of one that failed can have a code (RFC 9700, 4.2.4). */
export function keepPrivate(req: Request): void {
  const response = responseOf(req);
  if (!response || response.headersSent) return;
  response.setHeader("cache-control", "no-store");
  if (!response.getHeader?.("referrer-policy")) response.setHeader("referrer-policy", "strict-origin");
}

/** Answers without doing anything; by an error, if the response is out of reach. */
export function answerPrefetch(req: Request, error: (error: Error) => void): void {
  const { status, headers, body } = PREFETCH_RESPONSE;
  const { res } = req as { res?: PassportResponse };
  if (typeof res?.setHeader === "function" && typeof res.end === "function") {
    res.statusCode = status;
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    res.end(body);
  } else {
    error(Object.assign(new Error(body.trim()), { status, statusCode: status, headers, expose: true }));
  }
}
