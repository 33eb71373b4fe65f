import { type BearerOptions, isRetailPosError, type RequestBearer, requestBearer } from "@retail-pos/core";
import type { NextFunction, Request, Response } from "express";

declare global {
  namespace Express {
    interface Request {
      /** The bearer of this request's retailer; there once `bearer()` has run (with `optional` perhaps not). */
      retailPos: RequestBearer;
    }
  }
}

/**
 * Express middleware (4 and 5): obtains the bearer of the request's retailer, renewed if due, before the next
 * middleware runs, and puts it on `req.retailPos`. Errors go to `next(err)` as core's classes, with `status` and
 * `Retry-After`; their headers are on the response by then, because not every error handler looks for them (Nest's
 * does not).
 *
 * `retailer` may be written for a route's own request: a `Request<{ store: string }>` for `/stores/:store`.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function bearer<Req = Request>(
  options: BearerOptions<Req>,
): (req: Req, res: Response, next: NextFunction) => Promise<void> {
  const bearerOf = requestBearer(options);
  return async (request, res, next) => {
    const req = request as Request;
    delete (req as Partial<typeof req>).retailPos; // set by a bearer before this one, which may fail
    try {
      const retailPos = await bearerOf(request, req);
      if (retailPos) req.retailPos = retailPos;
    } catch (error) {
      const headers = isRetailPosError(error) && !res.headersSent ? error.headers : undefined;
      for (const [name, value] of Object.entries(headers ?? {})) res.setHeader?.(name, value);
      next(error);
      return;
    }
    next();
  };
}
