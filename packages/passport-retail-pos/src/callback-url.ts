import { checkedRedirectUri } from "@retail-pos/core";
import type { Request } from "express";

/**
 * The absolute callback URL of one login. A relative one is resolved against the address the browser
 * used; behind a proxy that ends TLS this takes `trust proxy` (Express), `app.proxy` (Koa), `trustProxy` (Fastify) or
 * the strategy's `proxy` option.
 *
 * @throws {TypeError} no code may be sent to that address.
 * @throws {Error} when the request names no usable host; its `status` is 400.
 */
export function absoluteCallbackUrl(callbackURL: string, req: Request, trustProxy: boolean): string {
  if (URL.canParse(callbackURL)) return checkedRedirectUri("callbackURL", callbackURL);
  const origin = originOf(req, trustProxy);
  const path = req.originalUrl ?? req.url;
  const resolved = new URL(callbackURL, `${origin}${path.startsWith("/") ? path : "/"}`).href;
  return checkedRedirectUri(
    "callbackURL (relative; if a proxy ends TLS, trust it: `trust proxy`, or `proxy: true`)",
    resolved,
  );
}

/** A host and perhaps a port, and nothing that could turn it into the user name of another one. */
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;

function originOf(req: Request, trustProxy: boolean): string {
  const { protocol, host } = isFastify(req) && !trustProxy ? req : addressOf(req, trustProxy);
  const origin = `${protocol}://${host}`;
  if (HOST.test(host) && URL.canParse(origin)) return origin;
  const message = "callbackURL is relative, and the request's Host header is unusable";
  throw Object.assign(new Error(message), { status: 400, statusCode: 400, expose: true });
}

function addressOf(req: Request, trustProxy: boolean): { protocol: string; host: string } {
  const isTrusted = trustProxy || isFromTrustedProxy(req);
  const forwarded = (name: string) => (isTrusted ? firstOf(req.headers[name]) : undefined);
  const isTls = (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  const isHttps = isTls || forwarded("x-forwarded-proto")?.toLowerCase() === "https";
  return {
    protocol: isHttps ? "https" : "http",
    host: forwarded("x-forwarded-host") ?? hostOf(req),
  };
}

/** The host that a request names itself; over HTTP/2 as `:authority`. Empty if it names none. */
export function hostOf(req: Request): string {
  return req.headers?.host ?? (req.headers?.[":authority"] as string | undefined) ?? "";
}

/** The application's own setting: Express decides by the address of the connection, Koa for all requests. */
function isFromTrustedProxy(req: Request): boolean {
  const trusts: unknown = req.app?.get?.("trust proxy fn");
  if (typeof trusts === "function") return trusts(req.socket?.remoteAddress, 0) === true;
  return Boolean(req.app?.get?.("trust proxy"));
}

/** Fastify's request has both already, as the application's setting says. */
function isFastify(req: Request): boolean {
  const { raw } = req as { raw?: { socket?: unknown } };
  return typeof raw?.socket === "object" && typeof req.host === "string";
}

/** Each proxy appends a value; the browser's comes first. */
function firstOf(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text?.split(",")[0]?.trim() || undefined;
}
