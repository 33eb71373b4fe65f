import { fileURLToPath } from "node:url";
import { isRetailPosError, type RetailPos } from "@retail-pos/core";
import express, { type ErrorRequestHandler, type Express } from "express";
import session from "express-session";
import passport from "passport";
import { accountRoutes, LONGEST_LOGIN_MS, sessionCookie } from "./accounts.js";
import { TooManyAttempts } from "./attempts.js";
import { connectRoutes } from "./connect.js";
import type { Database } from "./database.js";
import { memberships } from "./memberships.js";
import { fromOurPagesOnly, neverStored, protectiveHeaders } from "./protection.js";
import { isReady } from "./ready.js";
import { Records } from "./records.js";
import type { Settings } from "./settings.js";
import { showProblem } from "./show-problem.js";
import { storeRoutes } from "./stores.js";

export interface Parts {
  client: RetailPos;
  database: Database;
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
  clock?: () => number;
}

/** The whole application, for people with a browser. */
export function createApp(
  settings: Pick<Settings, "authUrl" | "redirectUri" | "sessionSecret" | "trustProxy">,
  { client, database, stopping, clock = Date.now }: Parts,
): Express {
  const { redirectUri, sessionSecret, trustProxy } = settings;
  const records = new Records(database.sql);
  const members = memberships(client, records, database.tokens.lock, clock);
  const people = new passport.Passport(); // not the one of the module, which all applications of a process share

  const app = express();
  app.set("trust proxy", trustProxy);
  app.set("view engine", "ejs");
  app.set("views", fileURLToPath(new URL("../views", import.meta.url)));
  app.use(protectiveHeaders(settings));
  app.use(express.static(fileURLToPath(new URL("../public", import.meta.url))));
  app.use(neverStored, fromOurPagesOnly(settings));
  app.get("/health", (_req, res) => void res.json({ status: "ok" }));
  app.get("/ready", async (_req, res) => {
    const ready = await isReady(client, stopping);
    res.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready" });
  });
  const cookie = sessionCookie(redirectUri);
  app.use(
    session({
      name: cookie.name,
      secret: sessionSecret,
      resave: false,
      saveUninitialized: false,
      store: database.sessionStore,
      cookie: {
        httpOnly: true,
        maxAge: LONGEST_LOGIN_MS,
        sameSite: "lax", // not strict: it has to come along when the service sends the browser back
        secure: cookie.secure,
      },
    }),
  );
  app.use(accountRoutes(people, records, cookie, clock));
  app.get("/", (req, res) => (req.user ? res.redirect("/stores") : res.render("welcome")));
  app.use(connectRoutes({ people, client, records, memberships: members, clock }));
  app.use(storeRoutes({ client, records, memberships: members, clock }));
  app.use((_req, res) => showProblem(res.status(404), "not_found"));
  app.use(showError);
  return app;
}

/** A page for whatever went wrong. Core's errors know their status, and headers such as Retry-After. */
const showError: ErrorRequestHandler = (error, req, res, next) => {
  if (res.headersSent) return next(error);
  const isConnecting = req.path.startsWith("/auth/");
  if (isRetailPosError(error)) {
    if (error.status >= 500) console.error(error);
    return showProblem(res.set(error.headers).status(error.status), error.code, { isConnecting, error });
  }
  if (error instanceof TooManyAttempts)
    return showProblem(res.set(error.headers).status(error.status), "too_many_attempts");
  // An address whose escapes are no text.
  if (error instanceof URIError) return showProblem(res.status(404), "not_found");
  // A form that is too long, or none: the sender's mistake, and not worth a line of ours.
  if (error?.expose === true && error.status < 500)
    return showProblem(res.status(error.status), "bad_request", { isConnecting });
  console.error(error);
  showProblem(res.status(500), "error", { isConnecting });
};
