import { bearer } from "@retail-pos/fastify-bearer";
import { nodeHandler, type WebLoginOptions, webLogin } from "@retail-pos/login";
import type { FastifyInstance } from "fastify";
import { showFailure } from "./failure-page.js";
import type { Session } from "./session.js";

type Given = Pick<WebLoginOptions, "client" | "secret" | "clock">;

/**
 * The login.
 *
 * @returns a hook: the bearer of whoever is logged in.
 */
export function addLogin(app: FastifyInstance, session: Session, given: Given) {
  const { start, callback } = webLogin({
    ...given,
    onLogin: ({ login }) => {
      // find or create your user here; give webLogin a `verify` to refuse somebody
      const headers = { location: "/products", "set-cookie": session.begin(login.domainPrefix) };
      return new Response(null, { status: 303, headers });
    },
    onFailure: (failure) => showFailure(app, failure, session.storeOf(failure.request)),
  });
  app.get("/auth/retail-pos", ({ raw }, reply) => nodeHandler(start)(raw, reply.raw));
  app.get("/auth/retail-pos/callback", ({ raw }, reply) => nodeHandler(callback)(raw, reply.raw));
  return bearer({ client: given.client, retailer: ({ session }) => session.get("store") });
}
