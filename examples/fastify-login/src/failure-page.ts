import type { FailureEvent } from "@retail-pos/login";
import type { FastifyInstance } from "fastify";
import { isLoggedInAlready, problemOf } from "./problems.js";

/**
 * A page that says why a login failed, in words for whoever runs the store; the developer's words go to the log.
 *
 * @param store who is logged in.
 */
export async function showFailure(
  app: FastifyInstance,
  { request, code, status, message, headers, error }: FailureEvent,
  store: string | undefined,
): Promise<Response> {
  const domainPrefix = new URL(request.url).searchParams.get("domain_prefix");
  if (isLoggedInAlready(code, domainPrefix, store))
    return new Response(null, { status: 303, headers: { location: "/products" } });
  if (status >= 500) app.log.error(error ?? message);
  else app.log.warn(`A login failed, ${code}: ${message}`);
  const problem = problemOf({ code, isLogin: true, store, error });
  const page = await app.view("problem.ejs", { store, problem });
  const own = { "content-type": "text/html; charset=utf-8" };
  return new Response(page, { status, headers: { ...headers, ...own } });
}
