import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type Express, type RequestHandler } from "express";
import session from "express-session";
import helmet from "helmet";
import passport from "passport";
import { accountRoutes } from "./accounts.js";
import { connectRoutes } from "./connect.js";
import type { Parts } from "./parts.js";
import { showError, showProblem } from "./problem-page.js";
import type { Settings } from "./settings.js";
import { storeRoutes } from "./stores.js";

/** After this, everybody logs in again. */
const LONGEST_LOGIN_MS = 14 * 24 * 60 * 60_000;

const views = fileURLToPath(new URL("../views", import.meta.url));
const files = fileURLToPath(new URL("../public", import.meta.url));
const pico = dirname(createRequire(import.meta.url).resolve("@picocss/pico/css/pico.jade.min.css"));

type AppSettings = Pick<Settings, "service" | "SESSION_SECRET" | "TRUST_PROXY">;

/** The whole application, for people with a browser. `stopping` is aborted when the process is to end. */
export function createApp(settings: AppSettings, parts: Parts, stopping?: AbortSignal): Express {
  const { service, SESSION_SECRET, TRUST_PROXY } = settings;
  const { origin, protocol } = new URL(service.redirectUri);
  const isHttps = protocol === "https:";
  const people = new passport.Passport(); // not the one of the module, which all applications of a process share

  const app = express();
  app.set("trust proxy", TRUST_PROXY);
  app.set("view engine", "ejs");
  app.set("views", views);
  app.use(protectiveHeaders(service.authUrl ?? origin, isHttps));
  app.use((_req, res, next) => {
    if (stopping?.aborted) res.set("connection", "close"); // see server.ts
    next();
  });
  app.use("/pico", express.static(pico));
  app.use(express.static(files));
  app.get("/health", (_req, res) => void res.json({ status: "ok" }));
  app.get("/ready", async (_req, res) => {
    // Whether there is such a retailer does not matter, only whether the store answers.
    const failure = await parts.client.status("ready").catch((error) => error);
    const isReady = !(failure instanceof Error) && !stopping?.aborted;
    res.status(isReady ? 200 : 503).json({ status: isReady ? "ready" : "not ready" });
  });
  app.use(fromOurPagesOnly(origin));
  app.use(
    session({
      name: isHttps ? "__Host-many-stores" : "many-stores", // with the prefix, no other subdomain can plant one
      secret: SESSION_SECRET,
      resave: false,
      saveUninitialized: false,
      store: parts.sessions,
      // Lax, not strict: it has to come along when the service sends the browser back.
      cookie: { maxAge: LONGEST_LOGIN_MS, sameSite: "lax", secure: isHttps },
    }),
  );
  app.use(accountRoutes(people, parts.records));
  app.get("/", (req, res) => (req.user ? res.redirect("/stores") : res.render("welcome")));
  app.use(connectRoutes(people, parts));
  app.use(storeRoutes(parts));
  app.use((_req, res) => showProblem(res.status(404), "not_found"));
  app.use(showError);
  return app;
}

/** What browsers are told about every answer, files too. */
function protectiveHeaders(authUrl: string, isHttps: boolean): RequestHandler {
  const [self, none] = ["'self'", "'none'"];
  // A form may lead to a login, and a browser asks this of every redirect that follows.
  const formAction = [self, new URL(authUrl).origin];
  const directives = { defaultSrc: self, baseUri: none, formAction, frameAncestors: none, objectSrc: none };
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    referrerPolicy: { policy: "strict-origin" }, // with helmet's default, our own forms would come with `Origin: null`
    strictTransportSecurity: isHttps && { includeSubDomains: false },
    xFrameOptions: { action: "deny" },
  });
}

/** Refuses forms of other sites' pages. The cookie's SameSite lets every subdomain of our site through. */
function fromOurPagesOnly(ours: string): RequestHandler {
  return (req, res, next) => {
    res.set("cache-control", "no-store"); // Back shows no store's data once its reader has logged out
    const { origin, "sec-fetch-site": site = "none" } = req.headers; // programs send neither
    const isOurs = origin === undefined ? ["same-origin", "none"].includes(String(site)) : origin === ours;
    if (isOurs || req.method === "GET" || req.method === "HEAD") next();
    else showProblem(res.status(403), "from_elsewhere");
  };
}
