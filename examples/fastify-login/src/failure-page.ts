import type { FailureEvent } from "@retail-pos/login";
import type { FastifyInstance } from "fastify";

/** A page that says why a login failed. From 500 on the reason is for the log. */
export async function showFailure(
  app: FastifyInstance,
  { code, status, message, headers, error }: FailureEvent,
): Promise<Response> {
  if (status >= 500) app.log.error(error ?? message);
  const page = await app.view("login-failed.ejs", { code, status, message });
  const own = { "content-type": "text/html; charset=utf-8" };
  return new Response(page, { status, headers: { ...headers, ...own } });
}
