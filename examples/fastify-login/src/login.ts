import type { RetailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/fastify-bearer";
import { type FailureEvent, nodeHandler, webLogin } from "@retail-pos/login";
import type { FastifyInstance } from "fastify";

interface LoginParts {
  client: RetailPos;
  /** The `Set-Cookie` line of somebody who logs in. */
  sessionOf: (store: string) => string;
  secret: string;
  clock: (() => number) | undefined;
}

/**
 * The login.
 *
 * @returns a hook: the bearer of whoever is logged in.
 */
export function addLogin(app: FastifyInstance, { client, sessionOf, secret, clock }: LoginParts) {
  const { start, callback } = webLogin({
    client,
    secret,
    clock,
    onLogin: ({ login }) => {
      // find or create your user here; give webLogin a `verify` to refuse somebody
      const headers = { location: "/products", "set-cookie": sessionOf(login.domainPrefix) };
      return new Response(null, { status: 303, headers });
    },
    onFailure: (failure) => showFailure(app, failure),
  });
  app.get("/auth/retail-pos", ({ raw }, reply) => nodeHandler(start)(raw, reply.raw));
  app.get("/auth/retail-pos/callback", ({ raw }, reply) => nodeHandler(callback)(raw, reply.raw));
  return bearer({ client, retailer: ({ session }) => session.get("store") });
}

/** A page that says why. From 500 on the message is for the log alone. */
async function showFailure(
  app: FastifyInstance,
  { code, status, message, headers, error }: FailureEvent,
): Promise<Response> {
  if (status >= 500) app.log.error(error ?? message);
  const page = await app.view("login-failed.ejs", { code, status, message });
  const own = { "content-type": "text/html; charset=utf-8" };
  return new Response(page, { status, headers: { ...headers, ...own } });
}
