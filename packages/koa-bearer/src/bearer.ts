import { type BearerOptions, type RequestBearer, requestBearer } from "@retail-pos/core";
import type { Context, Middleware, Next } from "koa";

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
 * @throws {TypeError} naming the option that is wrong.
 */
export function bearer(options: BearerOptions<Context>): Middleware {
  const bearerOf = requestBearer(options);
  return (ctx, next) => {
    // Not an async function: koa makes a promise of its own, and a second one costs each request another turn.
    try {
      const found = bearerOf(ctx, ctx.req);
      return found instanceof Promise ? later(ctx, found, next) : goOn(ctx, found, next);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

/** A function of its own: only requests that wait pay for the variables that an async function keeps on the heap. */
async function later(ctx: Context, coming: Promise<RequestBearer | undefined>, next: Next): Promise<void> {
  return goOn(ctx, await coming, next);
}

function goOn(ctx: Context, retailPos: RequestBearer | undefined, next: Next): Promise<void> {
  if (retailPos) ctx.state.retailPos = retailPos;
  else delete (ctx.state as { retailPos?: RequestBearer }).retailPos; // a bearer before this one set it
  return next();
}
