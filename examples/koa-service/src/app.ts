import Router from "@koa/router";
import { isRetailPosError, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import { bearer } from "@retail-pos/koa-bearer";
import Koa, { type Context, type Middleware } from "koa";
import helmet from "koa-helmet";
import session from "koa-session";
import { failureWords } from "passport-retail-pos";
import { loginRoutes } from "./login.js";
import type { Settings } from "./settings.js";
import { stockOf } from "./stock.js";

/** What the service may be given: any option of the client, for example a store that several processes share. */
export interface Parts extends Partial<RetailPosOptions> {
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

/** The whole service. Without a store for them, tokens are kept in memory. */
export function createApp(
  { service, TRUST_PROXY, RETAILER_FROM, SESSION_SECRET }: Settings,
  { stopping, ...more }: Parts = {},
): Koa {
  const pos = retailPos({ ...service, fetch: retailFetch(), ...more });
  const { origin, protocol } = new URL(service.redirectUri);

  const app = new Koa({ proxy: TRUST_PROXY > 0, maxIpsCount: TRUST_PROXY });
  app.use(protectiveHeaders(service.authUrl ?? origin, protocol === "https:"));
  app.use(errorsAsJson);
  app.use((ctx, next) => {
    ctx.set("cache-control", "no-store"); // Back shows no store's data once its reader has logged out
    if (stopping?.aborted) ctx.set("connection", "close"); // see server.ts
    return next();
  });
  app.use(fromOurPagesOnly(origin));
  if (RETAILER_FROM === "login") {
    app.keys = [SESSION_SECRET];
    const isHttps = protocol === "https:";
    const key = isHttps ? "__Host-koa-service" : "koa-service"; // with the prefix, no other subdomain can plant one
    // Lax, not strict: the cookie has to come along when the service sends the browser back.
    app.use(session({ key, sameSite: "lax", secure: isHttps }, app));
    for (const middleware of loginRoutes(pos, more.clock)) app.use(middleware);
  }

  const router = new Router();
  router.get("/health", (ctx) => {
    ctx.body = { status: "ok" };
  });
  router.get("/ready", async (ctx) => {
    // Whether there is such a retailer does not matter, only whether the store answers.
    const answers = () =>
      pos.status("ready").then(
        () => true,
        () => false,
      );
    const isReady = !stopping?.aborted && (await answers());
    ctx.status = isReady ? 200 : 503;
    ctx.body = { status: isReady ? "ready" : "not ready" };
  });
  const retailer = RETAILER_FROM === "login" ? loggedIn : namedByGateway;
  router.get("/stock", bearer({ client: pos, retailer }), async (ctx) => {
    ctx.body = { store: ctx.state.retailPos.domainPrefix, stock: await stockOf(ctx.state.retailPos) };
  });
  app.use(router.routes() as Middleware);
  return app;
}

function loggedIn(ctx: Context): string | undefined {
  return ctx.state.user?.domainPrefix;
}

/** Only if no other program than the gateway reaches us: this header may name any store. */
function namedByGateway(ctx: Context): string {
  return ctx.get("x-store");
}

/** What browsers are told about every answer. */
function protectiveHeaders(authUrl: string, isHttps: boolean): Middleware {
  const none = ["'none'"];
  // A form may start a login, and a browser asks this of every redirect that follows.
  const formAction = ["'self'", new URL(authUrl).origin];
  const directives = {
    defaultSrc: ["'self'"],
    baseUri: none,
    formAction,
    frameAncestors: none,
    objectSrc: none,
  };
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    referrerPolicy: { policy: "strict-origin" }, // no-referrer would make browsers send `Origin: null` with our forms
    strictTransportSecurity: isHttps && { includeSubDomains: false }, // others below this host may not have TLS yet
    xFrameOptions: { action: "deny" },
  });
}

/** Refuses forms of other sites' pages. The cookie's SameSite lets every subdomain of our site through. */
function fromOurPagesOnly(ourOrigin: string): Middleware {
  return (ctx, next) => {
    const { origin, "sec-fetch-site": site } = ctx.headers; // programs send neither
    const isOurs =
      origin !== undefined ? origin === ourOrigin : !site || site === "same-origin" || site === "none";
    const isReading = ["GET", "HEAD", "OPTIONS"].includes(ctx.method);
    if (!isOurs && !isReading)
      ctx.throw(403, "This came from a page of another site", { code: "from_elsewhere" });
    return next();
  };
}

/** Core's errors know their status, and headers such as Retry-After. */
const errorsAsJson: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const { status = 500, code = "error", message, headers } = error as HttpError;
    // `observe` has told the log of core's errors.
    if (code === "authorization_failed") console.warn(`A login failed: ${message}`);
    else if (status >= 500 && !isRetailPosError(error)) ctx.app.emit("error", error, ctx);
    ctx.set({ ...headers });
    ctx.status = status;
    const { title, text } = failureWords({ code, message, error });
    ctx.body = { error: code, message: code === "from_elsewhere" ? message : `${title}. ${text}` };
  }
};

/** What Koa puts on an error for its answer. */
interface HttpError extends Error {
  status?: number;
  code?: string;
  headers?: Record<string, string>;
}
