import { type BearerOptions, isRetailPosError, type RequestBearer, requestBearer } from "@retail-pos/core";
import type { NextFunction, Request, RequestHandler, Response } from "express";

declare global {
  namespace Express {
    interface Request {
      /** The bearer of this request's retailer; there once `bearer()` has run (with `optional` perhaps not). */
      retailPos: RequestBearer;
    }
  }
}

/**
 * Express middleware (4 and 5): obtains the bearer of the request's retailer, renewed if due, before the
 * next middleware runs, and puts it on `req.retailPos`. While a live token is held the request goes on
 * in the same tick. Errors go to `next(err)` as core's classes, with `status` and `Retry-After`; their headers are on
 * the response by then, because not every error handler looks for them (Nest's does not).
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function bearer(options: BearerOptions<Request>): RequestHandler {
  const bearerOf = requestBearer(options);
  return (req, res, next) => {
    let found: ReturnType<typeof bearerOf>;
    try {
      found = bearerOf(req, req);
    } catch (error) {
      fail(error, res, next);
      return;
    }
    if (isComing(found)) later(req, res, found, next);
    else goOn(req, found, next);
  };
}

/** Not `instanceof`: where `Promise` was replaced (zone.js), core's is of another class. */
function isComing(
  found: ReturnType<ReturnType<typeof requestBearer>>,
): found is Promise<RequestBearer | undefined> {
  return typeof (found as Promise<unknown> | undefined)?.then === "function";
}

/** A function of its own: only requests that wait pay for its closures. */
function later(
  req: Request,
  res: Response,
  coming: Promise<RequestBearer | undefined>,
  next: NextFunction,
): void {
  coming.then(
    (retailPos) => goOn(req, retailPos, next),
    (error) => fail(error, res, next),
  );
}

/** To Express `next(undefined)` and `next("route")` are no errors, and `retailer` may throw anything. */
function fail(error: unknown, res: Response, next: NextFunction): void {
  if (isRetailPosError(error) && error.headers) setHeaders(res, error.headers);
  const isOne = typeof error === "object" && error !== null;
  next(isOne ? error : new Error("The `retailer` option threw what is no error", { cause: error }));
}

/** Nest's own filter copies no headers, so `Retry-After` has to be on the answer before. */
function setHeaders(res: Partial<Response>, headers: Readonly<Record<string, string>>): void {
  if (res.headersSent || typeof res.setHeader !== "function") return;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}

function goOn(req: Request, retailPos: RequestBearer | undefined, next: NextFunction): void {
  if (retailPos) req.retailPos = retailPos;
  else delete (req as Partial<Request>).retailPos; // a bearer before this one set it
  next();
}
