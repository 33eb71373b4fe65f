import { type BearerOptions, type RequestBearer, requestBearer } from "@retail-pos/core";
import type { Context, Next } from "koa";

declare module "koa" {
  interface DefaultState {
    /** The bearer of this request's retailer; there once `bearer()` has run (with `optional` perhaps not). */
    retailPos: RequestBearer;
  }
}

/**
 * Koa middleware (2 and 3): obtains the bearer of the request's retailer, renewed if due, before the next
 * middleware runs, and puts it on `ctx.state.retailPos`. Errors are thrown as core's classes, with
 * `status`, `expose` and `Retry-After`, which Koa's default handler honours.
 *
 * `retailer` may be written for a route's own context, such as the `RouterContext` of `@koa/router`.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function bearer<Asked extends Context = Context>(
  options: BearerOptions<Asked>,
): (ctx: Asked, next: Next) => Promise<void> {
  const bearerOf = requestBearer(options);
  return async (ctx, next) => {
    delete (ctx.state as Partial<typeof ctx.state>).retailPos; // set by a bearer before this one, which may fail
    const retailPos = await bearerOf(ctx, ctx.req);
    if (retailPos) ctx.state.retailPos = retailPos;
    await next();
  };
}
