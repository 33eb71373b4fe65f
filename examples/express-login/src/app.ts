import { fileURLToPath } from "node:url";
import { isRetailPosError, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { retailFetch } from "@retail-pos/fetch";
import express, { type ErrorRequestHandler, type Express } from "express";
import session from "express-session";
import { loginRoutes, requireLogin } from "./login.js";
import { fromOurPagesOnly, neverStored, protectiveHeaders } from "./protection.js";
import { isReady } from "./ready.js";
import type { Settings } from "./settings.js";
import { readShelves } from "./shelves.js";
import { showProblem } from "./show-problem.js";

/** What the application may be given: where sessions are kept, and whatever the client takes. */
export interface Parts extends Partial<RetailPosOptions> {
  sessionStore?: session.Store;
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

const TWO_WEEKS_MS = 14 * 24 * 60 * 60_000;

/** The whole application. Sessions and tokens that nobody gives it a place for are in memory. */
export function createApp(
  settings: Omit<Settings, "databaseFile" | "host" | "trustProxy"> & { trustProxy?: number },
  { sessionStore, stopping, ...more }: Parts = {},
): Express {
  const { authUrl, baseUrl, clientId, clientSecret, redirectUri, scope } = settings;
  const { sessionSecret, trustProxy = 0 } = settings;
  const pos = retailPos({
    authUrl,
    baseUrl,
    clientId,
    clientSecret,
    redirectUri,
    scope,
    fetch: retailFetch(),
    ...more,
  });

  const app = express();
  app.set("trust proxy", trustProxy);
  app.set("view engine", "ejs");
  app.set("views", fileURLToPath(new URL("../views", import.meta.url)));
  app.use(protectiveHeaders(settings));
  app.use(express.static(fileURLToPath(new URL("../public", import.meta.url))));
  app.use(neverStored, fromOurPagesOnly(settings));
  app.get("/health", (_req, res) => void res.json({ status: "ok" }));
  app.get("/ready", async (_req, res) => {
    const ready = await isReady(pos, stopping);
    res.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready" });
  });
  const isHttps = redirectUri.startsWith("https:");
  app.use(
    session({
      name: isHttps ? "__Host-express-login" : "express-login", // with the prefix, no other subdomain can plant one
      secret: sessionSecret,
      resave: false,
      saveUninitialized: false,
      ...(sessionStore && { store: sessionStore }),
      cookie: {
        httpOnly: true,
        maxAge: TWO_WEEKS_MS,
        sameSite: "lax", // not strict: it has to come along when the service sends the browser back
        secure: isHttps,
      },
    }),
  );
  app.use(loginRoutes(pos, more.clock));

  app.get("/", (req, res) => (req.user ? res.redirect("/products") : res.render("welcome")));

  app.get(
    "/products",
    requireLogin,
    bearer({ client: pos, retailer: (req) => req.user?.domainPrefix }),
    async (req, res) => {
      const shelves = await readShelves(req.retailPos, more.clock);
      res.render("products", { store: req.retailPos.domainPrefix, shelves });
    },
  );

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
