import { type BearerOptions, type RequestBearer, requestBearer } from "@retail-pos/core";
import type { FastifyRequest, RawServerBase, RouteGenericInterface } from "fastify";

declare module "fastify" {
  interface FastifyRequest {
    /** The bearer of this request's retailer; there once `bearer()` has run (with `optional` perhaps not). */
    retailPos: RequestBearer;
  }
}

/** A request of a Fastify server of any kind, HTTP/2 among them. */
type AnyRequest = FastifyRequest<RouteGenericInterface, RawServerBase>;

/** A hook of Fastify's: `done` without an error goes on. */
export type BearerHook = (request: AnyRequest, reply: unknown, done: (error?: Error) => void) => void;

/**
 * A `preHandler` for a route, or for many by `addHook` (Fastify 5): obtains the bearer of the request's retailer,
 * renewed if due, before the handler runs, and puts it on `request.retailPos`. While a live token is held the request
 * goes on in the same tick. Errors are core's classes, with `statusCode` and `Retry-After`, which Fastify's default
 * handler honours.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function bearer(options: BearerOptions<FastifyRequest>): BearerHook {
  const bearerOf = requestBearer(options);
  return (request, _reply, done) => {
    let found: ReturnType<typeof bearerOf>;
    try {
      found = bearerOf(request as FastifyRequest, request.raw);
    } catch (error) {
      done(asError(error));
      return;
    }
    if (isComing(found)) later(request, found, done);
    else goOn(request, found, done);
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
  request: AnyRequest,
  coming: Promise<RequestBearer | undefined>,
  done: (error?: Error) => void,
): void {
  coming.then(
    (retailPos) => goOn(request, retailPos, done),
    (error) => done(asError(error)),
  );
}

/** To Fastify `done(undefined)` is no error, and `retailer` may throw anything. */
function asError(error: unknown): Error {
  const isOne = typeof error === "object" && error !== null;
  if (isOne) return error as Error;
  return new Error("The `retailer` option threw what is no error", { cause: error });
}

function goOn(
  request: AnyRequest,
  retailPos: RequestBearer | undefined,
  done: (error?: Error) => void,
): void {
  if (retailPos) request.retailPos = retailPos;
  else delete (request as Partial<AnyRequest>).retailPos; // a bearer before this one set it
  done();
}
