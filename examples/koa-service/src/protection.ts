import type { Middleware } from "koa";
import helmet from "koa-helmet";
import type { Service } from "./environment.js";
import { isFromElsewhere, REFUSAL } from "./same-origin.js";
import { secureHeaders } from "./secure-headers.js";

/** For every answer. */
export const protectiveHeaders = (service: Pick<Service, "authUrl" | "redirectUri">): Middleware =>
  helmet(secureHeaders(service));

/** What a store's reader saw is not shown again by Back, once they have logged out. */
export const neverStored: Middleware = (ctx, next) => {
  ctx.set("cache-control", "no-store");
  return next();
};

/** Refuses what a page of another site sends in our people's names. */
export function fromOurPagesOnly({ redirectUri }: Pick<Service, "redirectUri">): Middleware {
  return (ctx, next) => {
    if (isFromElsewhere(ctx.method, ctx.headers, redirectUri))
      ctx.throw(403, REFUSAL.trim(), { code: "from_elsewhere" });
    return next();
  };
}
