import { checkedRedirectUri } from "@retail-pos/core/authoring";
import type { Request } from "express";

/**
 * The absolute callback URL of one login. A relative one is resolved against the address the browser
 * used; behind a proxy that ends TLS this takes `trust proxy` (Express), `app.proxy` (Koa), `trustProxy` (Fastify) or
 * the strategy's `proxy` option.
 *
 * @throws {TypeError} no code may be sent to that address.
 * @throws {Error} the request names no usable host, or plain http on a public one; its `status` is 400.
 */
export function absoluteCallbackUrl(callbackURL: string, req: Request, trustProxy: boolean): string {
  if (URL.canParse(callbackURL)) return checkedRedirectUri("callbackURL", callbackURL);
  const origin = originOf(req, trustProxy);
  const path = req.originalUrl ?? req.url;
  const resolved = new URL(callbackURL, `${origin}${path.startsWith("/") ? path : "/"}`).href;
  try {
    return checkedRedirectUri(
      "callbackURL (relative; if a proxy ends TLS, trust it: `trust proxy` or `proxy: true`, `app.proxy`, `trustProxy`)",
      resolved,
    );
  } catch (error) {
    throw badRequest(error as Error); // its headers say so, and a stranger may have written them
  }
}

/** A host and perhaps a port, and nothing that could turn it into the user name of another one. */
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;

/** The host that the browser used, with its port; if proxies name several, the one that the request itself names. */
export function hostOf(req: Request, trustProxy: boolean): string {
  return addressOf(req, trustProxy).host || ownHostOf(req);
}

function originOf(req: Request, trustProxy: boolean): string {
  const { protocol, host } = addressOf(req, trustProxy);
  const origin = `${protocol}://${host}`;
  if (HOST.test(host) && URL.canParse(origin)) return origin;
  throw badRequest(new Error(NO_HOST));
}

function badRequest(error: Error): Error {
  return Object.assign(error, { status: 400, statusCode: 400, expose: true });
}

function addressOf(req: Request, trustProxy: boolean): { protocol: string; host: string } {
  if (isFastify(req) && !trustProxy) return req;
  const trusts = trustProxy || trustIn(req);
  const forwarded = (name: string) => forwardedBy(trusts, req, name);
  const isTls = (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  const isHttps = isTls || forwarded("x-forwarded-proto")?.toLowerCase() === "https";
  return { protocol: isHttps ? "https" : "http", host: forwarded("x-forwarded-host") ?? ownHostOf(req) };
}

/** The host that a request names itself; over HTTP/2 as `:authority`. Empty if it names none. */
function ownHostOf(req: Request): string {
  return (req.headers?.[":authority"] as string | undefined) ?? req.headers?.host ?? "";
}

/** Whether the application trusts the proxy at an address, so many hops away; or all proxies, or none. */
type Trust = boolean | ((address: string, hop: number) => boolean);

/** The application's own setting: Express decides by address and number of hops, Koa for all requests. */
function trustIn(req: Request): Trust {
  const trusts: unknown = req.app?.get?.("trust proxy fn");
  if (typeof trusts === "function") return trusts as Trust;
  return Boolean(req.app?.get?.("trust proxy"));
}

/** Fastify's request has both already, as the application's setting says. */
function isFastify(req: Request): boolean {
  const { raw } = req as { raw?: { socket?: unknown } };
  return typeof raw?.socket === "object" && typeof req.host === "string";
}

/**
 * Each proxy may append a value, so the nearest one's comes last: the value of the farthest proxy that is trusted. What
 * stands before it a stranger may have sent. Empty if all proxies are trusted and name several hosts: one of them may
 * be a stranger's.
 */
function forwardedBy(trusts: Trust, req: Request, name: string): string | undefined {
  const values = listIn(req.headers[name]);
  if (typeof trusts === "boolean") {
    const named = trusts ? values.filter(Boolean) : [];
    const isOne = new Set(named.map((value) => value.toLowerCase())).size < 2;
    return isOne || name !== "x-forwarded-host" ? named[0] : "";
  }
  const addresses = [...listIn(req.headers["x-forwarded-for"]), req.socket?.remoteAddress ?? ""].reverse();
  let hops = 0;
  while (hops < values.length && trusts(addresses[hops] ?? "", hops)) hops += 1;
  return hops === 0 ? undefined : values.at(-hops) || undefined;
}

const NO_HOST =
  "callbackURL is relative, and the request's Host header is unusable, or its X-Forwarded-Host names several hosts: " +
  "give a whole callbackURL";

function listIn(header: string | string[] | undefined): string[] {
  return String(header ?? "")
    .split(",")
    .map((value) => value.trim());
}
