import { bearer } from "@retail-pos/fastify-bearer";
import { type WebLoginOptions, webLogin } from "@retail-pos/login";
import type { FastifyInstance } from "fastify";
import { showFailure } from "./failure-page.js";
import { sessionOf, webRequest } from "./session.js";

type Given = Pick<WebLoginOptions, "client" | "secret" | "clock">;

/**
 * The login.
 *
 * @returns a hook: the bearer of whoever is logged in.
 */
export function addLogin(app: FastifyInstance, given: Given) {
  const { start, callback } = webLogin({
    ...given,
    onLogin: ({ request, login }) => {
      // find or create your user here; give webLogin a `verify` to refuse somebody
      sessionOf(request).set("store", login.domainPrefix);
      return new Response(null, { status: 303, headers: { location: "/products" } });
    },
    onFailure: (failure) => showFailure(app, failure, sessionOf(failure.request).get("store")),
  });
  app.get("/auth/retail-pos", (request) => start(webRequest(request)));
  app.get("/auth/retail-pos/callback", (request) => callback(webRequest(request)));
  return bearer({ client: given.client, retailer: ({ session }) => session.get("store") });
}
