import type { Request } from "express";

/**
 * The absolute callback URL of one login. A relative one is resolved against the address the browser
 * used; behind a proxy that ends TLS this takes `trust proxy` (Express), `app.proxy` (Koa) or the
 * strategy's `proxy` option.
 *
 * @throws {Error} when the request names no usable host.
 */
export function absoluteCallbackUrl(callbackURL: string, req: Request, trustProxy: boolean): string {
  if (URL.canParse(callbackURL)) return callbackURL;
  const here = `${originOf(req, trustProxy || isFromTrustedProxy(req))}${req.originalUrl ?? req.url}`;
  if (!URL.canParse(callbackURL, here))
    throw new Error("callbackURL is relative, and the request's Host header is unusable");
  return new URL(callbackURL, here).href;
}

function originOf(req: Request, trustProxy: boolean): string {
  const forwarded = (name: string) => (trustProxy ? firstOf(req.headers[name]) : undefined);
  const isTls = (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  const protocol = isTls || forwarded("x-forwarded-proto")?.toLowerCase() === "https" ? "https" : "http";
  return `${protocol}://${forwarded("x-forwarded-host") ?? req.headers.host ?? ""}`;
}

/** What the application says: Express by the address of whoever is connected, Koa for all or none. */
function isFromTrustedProxy(req: Request): boolean {
  const trusts: unknown = req.app?.get?.("trust proxy fn");
  if (typeof trusts === "function") return trusts(req.socket?.remoteAddress, 0) === true;
  return Boolean(req.app?.get?.("trust proxy"));
}

/** Each proxy appends; what the browser used comes first. */
function firstOf(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text?.split(",")[0]?.trim() || undefined;
}
