import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { RetailPos } from "@retail-pos/core";
import express, { type Express, type RequestHandler } from "express";
import session from "express-session";
import helmet from "helmet";
import passport from "passport";
import { accountRoutes, LONGEST_LOGIN_MS } from "./accounts.js";
import { connectRoutes } from "./connect.js";
import type { Database } from "./database.js";
import type { Memberships } from "./memberships.js";
import { showError, showProblem } from "./problem-page.js";
import type { Settings } from "./settings.js";
import { storeRoutes } from "./stores.js";

export interface Parts {
  client: RetailPos;
  memberships: Memberships;
  database: Database;
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
  clock?: () => number;
}

const fileOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const PICO = createRequire(import.meta.url).resolve("@picocss/pico/css/pico.jade.min.css");

/** The whole application, for people with a browser. */
export function createApp(
  { service, SESSION_SECRET, TRUST_PROXY }: Pick<Settings, "service" | "SESSION_SECRET" | "TRUST_PROXY">,
  { client, memberships, database, stopping, clock = Date.now }: Parts,
): Express {
  const { records, sessions } = database;
  const { origin, protocol } = new URL(service.redirectUri);
  const people = new passport.Passport(); // not the one of the module, which all applications of a process share
  const isHttps = protocol === "https:";
  // With the prefix, no other subdomain can plant one.
  const cookie = { name: isHttps ? "__Host-many-stores" : "many-stores", secure: isHttps };

  const app = express();
  app.set("trust proxy", TRUST_PROXY);
  app.set("view engine", "ejs");
  app.set("views", fileOf("views"));
  app.use(protectiveHeaders(service.authUrl ?? origin, isHttps));
  app.use((_req, res, next) => {
    if (stopping?.aborted) res.set("connection", "close"); // see server.ts
    next();
  });
  app.get("/pico.css", (_req, res) => res.sendFile("pico.jade.min.css", { root: dirname(PICO) }));
  app.use(express.static(fileOf("public")));
  app.get("/health", (_req, res) => void res.json({ status: "ok" }));
  app.get("/ready", async (_req, res) => {
    // Whether there is such a retailer does not matter, only whether the store answers.
    const isReady =
      !stopping?.aborted &&
      (await client.status("ready").then(
        () => true,
        () => false,
      ));
    res.status(isReady ? 200 : 503).json({ status: isReady ? "ready" : "not ready" });
  });
  app.use((_req, res, next) => {
    res.set("cache-control", "no-store"); // Back shows no store's data once its reader has logged out
    next();
  });
  app.use(fromOurPagesOnly(origin));
  app.use(
    session({
      name: cookie.name,
      secret: SESSION_SECRET,
      resave: false,
      saveUninitialized: false,
      store: sessions,
      // Lax, not strict: it has to come along when the service sends the browser back.
      cookie: { httpOnly: true, maxAge: LONGEST_LOGIN_MS, sameSite: "lax", secure: cookie.secure },
    }),
  );
  app.use(accountRoutes(people, records, cookie));
  app.get("/", (req, res) => (req.user ? res.redirect("/stores") : res.render("welcome")));
  app.use(connectRoutes({ people, client, records, memberships, clock }));
  app.use(storeRoutes({ client, records, memberships, clock }));
  app.use((_req, res) => showProblem(res.status(404), "not_found"));
  app.use(showError);
  return app;
}

/** What browsers are told about every answer, files too. */
function protectiveHeaders(authUrl: string, isHttps: boolean): RequestHandler {
  const none = ["'none'"];
  // A form may lead to a login, and a browser asks this of every redirect that follows.
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
    referrerPolicy: { policy: "same-origin" }, // with helmet's default, our own forms would come with `Origin: null`
    strictTransportSecurity: isHttps && { includeSubDomains: false },
    xFrameOptions: { action: "deny" },
  });
}

/** Refuses forms of other sites' pages. The cookie's SameSite lets every subdomain of our site through. */
function fromOurPagesOnly(ourOrigin: string): RequestHandler {
  return (req, res, next) => {
    const { origin, "sec-fetch-site": site } = req.headers; // programs send neither
    const isOurs =
      origin !== undefined ? origin === ourOrigin : !site || site === "same-origin" || site === "none";
    if (isOurs || req.method === "GET" || req.method === "HEAD") next();
    else showProblem(res.status(403), "from_elsewhere");
  };
}
