import { fileURLToPath } from "node:url";
import { serveStatic } from "@hono/node-server/serve-static";
import { isRetailPosError, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import { type ErrorHandler, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { addLogin } from "./login.js";
import { disconnect, problem, products, welcome } from "./pages.js";
import { problemOf } from "./problems.js";
import { fromOurPagesOnly, neverStored, protectiveHeaders } from "./protection.js";
import { isReady } from "./ready.js";
import { type Env, signedSession } from "./session.js";
import type { Settings } from "./settings.js";
import { readShelves } from "./shelves.js";

/** What the application may be given: whatever the client takes. */
export interface Parts extends Partial<RetailPosOptions> {
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

/** The whole application. Tokens that nobody gives it a place for are in memory. */
export function createApp(
  { port, host, databaseFile, sessionSecret, ...service }: Settings,
  { stopping, ...more }: Parts = {},
): Hono<Env> {
  const client = retailPos({ ...service, fetch: retailFetch(), ...more });
  const session = signedSession(sessionSecret, service.redirectUri.startsWith("https:"), more.clock);

  const app = new Hono<Env>();
  app.use(protectiveHeaders(service));
  app.use(serveStatic({ root: fileURLToPath(new URL("../public", import.meta.url)) }));
  app.use(neverStored, fromOurPagesOnly(service));
  app.get("/health", (c) => c.json({ status: "ok" }));
  app.get("/ready", async (c) =>
    (await isReady(client, stopping)) ? c.json({ status: "ready" }) : c.json({ status: "not ready" }, 503),
  );
  app.use(session.read);
  app.get("/", (c) => (c.var.store ? c.redirect("/products") : c.html(welcome())));
  app.use("/products", (c, next) => (c.var.store ? next() : Promise.resolve(c.redirect("/"))));
  addLogin(app, session, { client, secret: sessionSecret, clock: more.clock });

  app.get("/products", async (c) => {
    const shelves = await readShelves(c.var.retailPos, more.clock);
    return c.html(products(c.var.retailPos.domainPrefix, shelves));
  });
  app.post("/logout", (c) => {
    session.end(c);
    return c.redirect("/");
  });
  app.get("/disconnect", (c) => (c.var.store ? c.html(disconnect(c.var.store)) : c.redirect("/")));
  app.post("/disconnect", async (c) => {
    if (c.var.store) await client.disconnect(c.var.store);
    session.end(c);
    return c.redirect("/");
  });

  app.notFound((c) => {
    const { store } = c.var;
    return c.html(problem(problemOf({ code: "not_found", store }), store), 404);
  });
  app.onError(showError);
  return app;
}

/** A page for whatever went wrong. Core's errors know their status, and headers such as Retry-After. */
const showError: ErrorHandler<Env> = (error, c) => {
  const known = isRetailPosError(error) ? error : { status: 500, code: "error", headers: {} };
  if (known.status >= 500) console.error(error);
  const { store } = c.var;
  const page = problem(problemOf({ code: known.code, store, error }), store);
  return c.html(page, known.status as ContentfulStatusCode, known.headers);
};
