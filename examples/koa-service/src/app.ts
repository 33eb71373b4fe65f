import Router from "@koa/router";
import { type RetailPosOptions, retailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/koa-bearer";
import Koa, { type Context, type Middleware } from "koa";
import session from "koa-session";
import { loginRoutes } from "./login.js";
import type { Settings } from "./settings.js";
import { stockOf } from "./stock.js";

/** The whole service. `more` goes to the client, for example a store that several processes share. */
export function createApp(settings: Settings, more: Partial<RetailPosOptions> = {}): Koa {
  const { mode, authUrl, baseUrl, clientId, clientSecret, redirectUri, sessionKey } = settings;
  const pos = retailPos({ authUrl, baseUrl, clientId, clientSecret, redirectUri, ...more });

  const app = new Koa();
  app.use(errorsAsJson);
  if (mode === "login") {
    app.keys = [sessionKey];
    // Lax, not Strict: the cookie has to come along when the service sends the browser back.
    app.use(session({ sameSite: "lax", secure: redirectUri.startsWith("https:") }, app));
    for (const middleware of loginRoutes(pos, more.clock)) app.use(middleware);
  }

  const router = new Router();
  router.get("/health", (ctx) => {
    ctx.body = { status: "ok" };
  });
  const retailer = mode === "login" ? loggedIn : namedByGateway;
  router.get("/stock", bearer({ client: pos, retailer }), async (ctx) => {
    ctx.body = { store: ctx.state.retailPos.domainPrefix, stock: await stockOf(ctx.state.retailPos) };
  });
  app.use(router.routes() as Middleware);
  return app;
}

function loggedIn(ctx: Context): string | undefined {
  return ctx.state.user?.domainPrefix;
}

/** Only where nobody but the gateway reaches us: whoever can set this header can be any store. */
function namedByGateway(ctx: Context): string {
  return ctx.get("x-store");
}

/** What Koa and core put on an error for its answer. */
interface HttpError extends Error {
  status?: number;
  code?: string;
  expose?: boolean;
  headers?: Record<string, string>;
}

/** Core's errors know their status, headers such as Retry-After, and whether their words are for strangers. */
const errorsAsJson: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const { status = 500, code, expose, message, headers } = error as HttpError;
    if (status >= 500) ctx.app.emit("error", error, ctx);
    if (headers) ctx.set(headers);
    ctx.status = status;
    ctx.body = { error: code ?? "error", message: expose ? message : "Something went wrong on our side" };
  }
};
