import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { Service } from "./environment.js";
import { isFromElsewhere, REFUSAL } from "./same-origin.js";

/** What browsers are told about our answers; for every answer, files too. */
export function protectiveHeaders({
  authUrl,
  redirectUri,
}: Pick<Service, "authUrl" | "redirectUri">): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'self'"],
      baseUri: ["'none'"],
      // A form of ours may start a login, and a browser asks this of every redirect that follows.
      formAction: ["'self'", ...(authUrl ? [new URL(authUrl).origin] : [])],
      frameAncestors: ["'none'"],
      objectSrc: ["'none'"],
    },
    // Not no-referrer, the default: browsers would send `Origin: null` with our own forms.
    referrerPolicy: "same-origin",
    // For this host alone: others below it may not have TLS yet.
    strictTransportSecurity: redirectUri.startsWith("https:") && "max-age=31536000",
    xFrameOptions: "DENY",
  });
}

/** A page with a store's data is not shown again by Back, once its reader has logged out. */
export const neverStored: MiddlewareHandler = async (c, next) => {
  await next();
  c.header("cache-control", "no-store");
};

/** Refuses what a page of another site sends in our people's names. */
export function fromOurPagesOnly({ redirectUri }: Pick<Service, "redirectUri">): MiddlewareHandler {
  return async (c, next) =>
    isFromElsewhere(c.req.method, c.req.header(), redirectUri) ? c.text(REFUSAL, 403) : next();
}
