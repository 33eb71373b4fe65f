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

/** A hook of Fastify's. */
export type BearerHook = (request: AnyRequest) => Promise<void>;

/**
 * A `preHandler` for a route, or for many by `addHook` (Fastify 5): obtains the bearer of the request's retailer,
 * renewed if due, before the handler runs, and puts it on `request.retailPos`. Errors are core's classes, with
 * `statusCode` and `Retry-After`, which Fastify's default handler honours.
 *
 * `retailer` may be written for a route's own request: a `FastifyRequest<{ Params: { store: string } }>`.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function bearer<Route extends RouteGenericInterface = RouteGenericInterface>(
  options: BearerOptions<FastifyRequest<Route>>,
): BearerHook {
  const bearerOf = requestBearer(options);
  return async (request) => {
    delete (request as Partial<AnyRequest>).retailPos; // set by a bearer before this one, which may fail
    let authorization: string | undefined;
    try {
      const retailPos = await bearerOf(request as FastifyRequest<Route>, request.raw);
      if (retailPos) request.retailPos = retailPos;
      authorization = retailPos?.authorization;
    } finally {
      if (options.header) setInOwnHeaders(request, authorization);
    }
  };
}

/** Fastify lays headers that a hook has assigned over those of Node's request. */
function setInOwnHeaders(request: AnyRequest, authorization: string | undefined): void {
  if (request.headers === request.raw.headers) return; // nothing was assigned
  const others = Object.entries(request.headers).filter(([name]) => name.toLowerCase() !== "authorization");
  request.headers = { ...Object.fromEntries(others), ...(authorization !== undefined && { authorization }) };
}
