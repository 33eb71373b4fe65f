import { bearer } from "@retail-pos/hono-bearer";
import { type WebLoginOptions, webLogin } from "@retail-pos/login";
import type { Hono } from "hono";
import { showFailure } from "./pages.js";
import type { Env, Session } from "./session.js";

type Given = Pick<WebLoginOptions, "client" | "secret" | "clock">;

/** The login, and the bearer of whoever is logged in. */
export function addLogin(app: Hono<Env>, session: Session, given: Given): void {
  const { start, callback } = webLogin({
    ...given,
    onLogin: async ({ login }) => {
      // find or create your user here; give webLogin a `verify` to refuse somebody
      const headers = { location: "/products", "set-cookie": await session.begin(login.domainPrefix) };
      return new Response(null, { status: 303, headers });
    },
    onFailure: (failure) => showFailure(failure, session.storeOf(failure.request)),
  });
  app.get("/auth/retail-pos", (c) => start(c.req.raw));
  app.get("/auth/retail-pos/callback", (c) => callback(c.req.raw));
  app.use("/products", bearer({ client: given.client, retailer: (c) => c.get("store") }));
}
