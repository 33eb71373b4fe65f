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
    // A bearer before this one may have set it, and this one may fail.
    if (c.get("retailPos")) c.set("retailPos", undefined as unknown as RequestBearer);
    try {
      const retailPos = await bearerOf(c, c.req.raw);
      if (retailPos) c.set("retailPos", retailPos);
    } catch (error) {
      throw asError(error);
    }
    await next();
  };
}

/** Hono's error handler is called for errors only, and `retailer` may throw anything. */
function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  return new Error("The `retailer` option threw what is no error", { cause: error });
}
