import { type BearerOptions, type RequestBearer, requestBearer } from "@retail-pos/core";
import type { Context, MiddlewareHandler } from "hono";

declare module "hono" {
  interface ContextVariableMap {
    /** The bearer of this request's retailer; there once `bearer()` has run (with `optional` perhaps not). */
    retailPos: RequestBearer;
  }
}

/**
 * Hono middleware (4): obtains the bearer of the request's retailer, renewed if due, before the next middleware runs,
 * and puts it on `c.var.retailPos`. Errors are thrown as core's classes, whose `getResponse()` Hono's default handler
 * answers with: our status, and `Retry-After`.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function bearer(options: BearerOptions<Context>): MiddlewareHandler {
  const bearerOf = requestBearer(options);
  return async (c, next) => {
    let found: RequestBearer | undefined;
    try {
      found = await bearerOf(c, c.req.raw);
    } catch (error) {
      throw asError(error);
    }
    // Also if there is none: a bearer before this one may have set it, perhaps for another retailer.
    if (found || c.get("retailPos")) c.set("retailPos", found as RequestBearer);
    await next();
  };
}

/** Hono's error handler is called for errors only, and `retailer` may throw anything. */
function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  return new Error("The `retailer` option threw what is no error", { cause: error });
}
