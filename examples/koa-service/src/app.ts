import Router from "@koa/router";
import { type RetailPosOptions, retailPos } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import { bearer } from "@retail-pos/koa-bearer";
import Koa, { type Context, type Middleware } from "koa";
import session from "koa-session";
import { failureWords } from "passport-retail-pos";
import { loginRoutes } from "./login.js";
import { fromOurPagesOnly, neverStored, protectiveHeaders } from "./protection.js";
import { isReady } from "./ready.js";
import type { Settings } from "./settings.js";
import { stockOf } from "./stock.js";

/** What the service may be given: whatever the client takes, for example a store that several processes share. */
export interface Parts extends Partial<RetailPosOptions> {
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

/** The whole service. Tokens that nobody gives it a place for are in memory. */
export function createApp(
  { port, host, trustProxy, retailerFrom, sessionSecret, databaseFile, ...service }: Settings,
  { stopping, ...more }: Parts = {},
): Koa {
  const pos = retailPos({ ...service, fetch: retailFetch(), ...more });

  const app = new Koa({ proxy: trustProxy > 0, maxIpsCount: trustProxy });
  app.use(protectiveHeaders(service));
  app.use(errorsAsJson);
  app.use(neverStored);
  app.use(fromOurPagesOnly(service));
  if (retailerFrom === "login") {
    app.keys = [sessionSecret];
    // Lax, not Strict: the cookie has to come along when the service sends the browser back.
    const isHttps = service.redirectUri.startsWith("https:");
    const key = isHttps ? "__Host-koa-service" : "koa-service"; // with the prefix, no other subdomain can plant one
    app.use(session({ key, sameSite: "lax", secure: isHttps }, app));
    for (const middleware of loginRoutes(pos, more.clock)) app.use(middleware);
  }

  const router = new Router();
  router.get("/health", (ctx) => {
    ctx.body = { status: "ok" };
  });
  router.get("/ready", async (ctx) => {
    const ready = await isReady(pos, stopping);
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? "ready" : "not ready" };
  });
  const retailer = retailerFrom === "login" ? loggedIn : namedByGateway;
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

/** Core's errors know their status, and headers such as Retry-After. */
const errorsAsJson: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const { status = 500, code, expose, message, headers } = error as HttpError;
    if (status >= 500) ctx.app.emit("error", error, ctx);
    if (headers) ctx.set(headers);
    ctx.status = status;
    const { title, text } = failureWords({ code: code ?? "error", error });
    const isOurs = expose && (!code || code === "from_elsewhere"); // words of this service, and of no login
    ctx.body = { error: code ?? "error", message: isOurs ? message : `${title}. ${text}` };
  }
};
