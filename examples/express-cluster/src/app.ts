import cluster from "node:cluster";
import { fileURLToPath } from "node:url";
import { isRetailPosError, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { retailFetch } from "@retail-pos/fetch";
import express, { type ErrorRequestHandler, type Express } from "express";
import session from "express-session";
import { demonstration, processesOf } from "./demonstration.js";
import type { Shared } from "./engine.js";
import { loginRoutes, requireLogin } from "./login.js";
import { plainTime } from "./plain-time.js";
import { fromOurPagesOnly, neverStored, protectiveHeaders } from "./protection.js";
import { isReady } from "./ready.js";
import type { Settings } from "./settings.js";
import { readProducts, readShelves } from "./shelves.js";
import { showProblem } from "./show-problem.js";

/** Which of the processes this is. */
const answeredBy = { worker: cluster.worker?.id ?? 0, pid: process.pid };

/** What the application may be given: whatever the client takes. */
export interface Parts extends Partial<RetailPosOptions> {
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

/** The whole application, as every worker runs it. */
export function createApp(settings: Settings, shared: Shared, { stopping, ...more }: Parts = {}): Express {
  const { authUrl, baseUrl, clientId, clientSecret, redirectUri, scope } = settings;
  const { sessionSecret, sandboxUrl } = settings;
  const pos = retailPos({
    authUrl,
    baseUrl,
    clientId,
    clientSecret,
    redirectUri,
    scope,
    ...shared.tokens,
    fetch: retailFetch(),
    ...more,
  });

  const app = express();
  app.set("trust proxy", settings.trustProxy);
  app.set("view engine", "ejs");
  app.set("views", fileURLToPath(new URL("../views", import.meta.url)));
  app.locals["answeredBy"] = answeredBy;
  app.locals["settings"] = { engine: settings.engine, workers: settings.workers };
  app.use(protectiveHeaders(settings));
  app.use(express.static(fileURLToPath(new URL("../public", import.meta.url))));
  app.use(neverStored, fromOurPagesOnly(settings));
  app.get("/health", (_req, res) => res.json({ status: "ok" }));
  app.get("/ready", async (_req, res) => {
    const ready = await isReady(pos, stopping);
    res.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready" });
  });
  const isHttps = redirectUri.startsWith("https:");
  app.use(
    session({
      name: isHttps ? "__Host-express-cluster" : "express-cluster", // with the prefix, no other subdomain can plant one
      secret: sessionSecret,
      store: shared.sessions,
      resave: false,
      saveUninitialized: false,
      // Lax, not Strict: the cookie has to come along when the service sends the browser back.
      cookie: { httpOnly: true, sameSite: "lax", secure: isHttps },
    }),
  );
  app.use(loginRoutes(pos, more.clock));
  const withBearer = bearer({ client: pos, retailer: (req) => req.user?.domainPrefix });

  app.get("/", (req, res) => (req.user ? res.redirect("/products") : res.render("welcome")));

  app.get("/products", requireLogin, withBearer, async (req, res) => {
    const shelves = await readShelves(req.retailPos, more.clock);
    const { burst } = req.session;
    const demo = sandboxUrl && {
      sandboxUrl,
      burst: burst && { ...burst, at: plainTime(burst.at) },
      processes: burst ? processesOf(burst) : [],
    };
    res.render("products", { store: req.retailPos.domainPrefix, shelves, demo });
  });

  app.get("/api/products", withBearer, async (req, res) => {
    res.json({ answeredBy, products: await readProducts(req.retailPos) });
  });

  if (sandboxUrl) app.post("/burst", requireLogin, demonstration(sandboxUrl));

  app.use((req, res) => showProblem(req, res.status(404), "not_found"));
  app.use(showError);
  return app;
}

/** A page for whatever went wrong. Core's errors know their status, and headers such as Retry-After. */
const showError: ErrorRequestHandler = (error, req, res, next) => {
  if (res.headersSent) return next(error);
  const known = isRetailPosError(error);
  if (!known || error.status >= 500) console.error(error);
  res.set(known ? error.headers : undefined);
  showProblem(req, res.status(known ? error.status : 500), known ? error.code : "error", error);
};
