import type { RetailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/hono-bearer";
import { type FailureEvent, webLogin } from "@retail-pos/login";
import type { Hono } from "hono";
import { loginFailed, pageResponse } from "./pages.js";
import type { Env, sessions } from "./session.js";

interface LoginParts {
  client: RetailPos;
  session: ReturnType<typeof sessions>;
  secret: string;
  clock: (() => number) | undefined;
}

/** The login, and the bearer of whoever is logged in. */
export function addLogin(app: Hono<Env>, { client, session, secret, clock }: LoginParts): void {
  const { start, callback } = webLogin({
    client,
    secret,
    clock,
    onLogin: async ({ login }) => {
      // find or create your user here; give webLogin a `verify` to refuse somebody
      const headers = { location: "/products", "set-cookie": await session.begin(login.domainPrefix) };
      return new Response(null, { status: 303, headers });
    },
    onFailure: showFailure,
  });
  app.get("/auth/retail-pos", (c) => start(c.req.raw));
  app.get("/auth/retail-pos/callback", (c) => callback(c.req.raw));
  app.use("/products", bearer({ client, retailer: (c) => c.get("store") }));
}

function showFailure(failure: FailureEvent): Promise<Response> {
  if (failure.status >= 500) console.error(failure.error ?? failure.message);
  return pageResponse(loginFailed(failure), failure);
}
