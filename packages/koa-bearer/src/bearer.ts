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
    let found: ReturnType<typeof bearerOf>;
    try {
      found = bearerOf(ctx, ctx.req);
    } catch (error) {
      return Promise.reject(asError(error));
    }
    return isComing(found) ? later(ctx, found, next) : goOn(ctx, found, next);
  };
}

/** Not `instanceof`: where `Promise` was replaced (zone.js), core's is of another class. */
function isComing(
  found: ReturnType<ReturnType<typeof requestBearer>>,
): found is Promise<RequestBearer | undefined> {
  return typeof (found as Promise<unknown> | undefined)?.then === "function";
}

/** A function of its own: only requests that wait pay for the variables that an async function keeps on the heap. */
async function later(ctx: Context, coming: Promise<RequestBearer | undefined>, next: Next): Promise<void> {
  let retailPos: RequestBearer | undefined;
  try {
    retailPos = await coming;
  } catch (error) {
    throw asError(error);
  }
  return goOn(ctx, retailPos, next);
}

/** Koa does not answer at all if `undefined` or `null` is thrown, and `retailer` may throw anything. */
function asError(error: unknown): unknown {
  const isOne = typeof error === "object" && error !== null;
  return isOne ? error : new Error("The `retailer` option threw what is no error", { cause: error });
}

function goOn(ctx: Context, retailPos: RequestBearer | undefined, next: Next): Promise<void> {
  if (retailPos) ctx.state.retailPos = retailPos;
  else delete (ctx.state as { retailPos?: RequestBearer }).retailPos; // a bearer before this one set it
  return next();
}
