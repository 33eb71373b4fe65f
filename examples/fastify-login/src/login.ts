import { bearer } from "@retail-pos/fastify-bearer";
import { nodeHandler, type WebLoginOptions, webLogin } from "@retail-pos/login";
import type { FastifyInstance } from "fastify";
import { showFailure } from "./failure-page.js";

type Given = Pick<WebLoginOptions, "client" | "secret" | "clock">;

/**
 * The login.
 *
 * @param sessionOf the `Set-Cookie` line of somebody who logs in.
 * @returns a hook: the bearer of whoever is logged in.
 */
export function addLogin(app: FastifyInstance, sessionOf: (store: string) => string, given: Given) {
  /** Who was logged in when a callback came. */
  const loggedIn = new WeakMap<Request, string | undefined>();
  const { start, callback } = webLogin({
    ...given,
    onLogin: ({ login }) => {
      // find or create your user here; give webLogin a `verify` to refuse somebody
      const headers = { location: "/products", "set-cookie": sessionOf(login.domainPrefix) };
      return new Response(null, { status: 303, headers });
    },
    onFailure: (failure) => showFailure(app, failure, loggedIn.get(failure.request)),
  });
  app.get("/auth/retail-pos", ({ raw }, reply) => nodeHandler(start)(raw, reply.raw));
  app.get("/auth/retail-pos/callback", ({ raw, session }, reply) => {
    const finish = nodeHandler((request) => {
      loggedIn.set(request, session.get("store"));
      return callback(request);
    });
    return finish(raw, reply.raw);
  });
  return bearer({ client: given.client, retailer: ({ session }) => session.get("store") });
}
