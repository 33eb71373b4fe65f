import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isRetailPosError, type RetailerClient, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { retailFetch } from "@retail-pos/fetch";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import session from "express-session";
import helmet from "helmet";
import { failureWords } from "passport-retail-pos";
import { Connections } from "./connections.js";
import { LoginFailure, loginRoutes } from "./login.js";
import type { Settings } from "./settings.js";

const TWO_WEEKS_MS = 14 * 24 * 60 * 60_000;
const NOT_FOUND = { code: "not_found", title: "There is no such page", text: "The address may be mistyped." };
/** Failed logins of which `observe` has told the log. */
const TOLD_BY_CORE = ["code_refused", "retailer_not_accepted"];
const pages = fileURLToPath(new URL("../pages", import.meta.url));
const pico = dirname(createRequire(import.meta.url).resolve("@picocss/pico/css/pico.jade.min.css"));

type AppSettings = Pick<Settings, "service" | "SESSION_SECRET"> & Partial<Settings>;

/** What the application may be given: where sessions are kept, and whatever the client takes. */
export interface Parts extends Partial<RetailPosOptions> {
  sessions?: session.Store;
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

/** The whole application. Sessions and tokens are in memory if it is given no place for them. */
export function createApp(
  { service, SESSION_SECRET, TRUST_PROXY = 0 }: AppSettings,
  { sessions = new session.MemoryStore(), stopping, ...more }: Parts = {},
): Express {
  const pos = retailPos({ ...service, fetch: retailFetch(), ...more });
  const { origin, protocol } = new URL(service.redirectUri);
  const isHttps = protocol === "https:";

  const app = express();
  app.set("trust proxy", TRUST_PROXY);
  app.set("view engine", "ejs");
  app.set("views", pages);
  app.use(protection(isHttps, service.authUrl));
  app.use(express.static(`${pages}/public`));
  app.use("/pico", express.static(pico));
  app.use(fromOurPagesOnly(origin));
  app.get("/health", (_req, res) => void res.json({ status: "ok" }));
  app.get("/ready", async (_req, res) => {
    // One look into the store. Whether there is such a retailer does not matter.
    const failure = await pos.status("ready").catch((error) => error);
    const isReady = !(failure instanceof Error) && !stopping?.aborted;
    res.status(isReady ? 200 : 503).json({ status: isReady ? "ready" : "not ready" });
  });
  app.use(
    session({
      name: isHttps ? "__Host-express-login" : "express-login", // with the prefix, no other subdomain can plant one
      secret: SESSION_SECRET,
      resave: false,
      saveUninitialized: false,
      store: sessions,
      // Lax, not strict: the cookie has to come along when the service sends the browser back.
      cookie: { maxAge: TWO_WEEKS_MS, sameSite: "lax", secure: isHttps },
    }),
  );
  app.use(loginRoutes(pos, new Connections(pos, sessions, TWO_WEEKS_MS), more.clock));

  app.get("/", (req, res) => (req.user ? res.redirect("/products") : res.render("welcome")));
  const ofAStore = ["/products"]; // the pages that call the API: add yours
  app.use([...ofAStore, "/disconnect"], (req, res, next) => (req.user ? next() : res.redirect("/")));
  app.get("/disconnect", (req, res) => res.render("disconnect", { store: req.user?.domainPrefix }));
  app.use(ofAStore, bearer({ client: pos, retailer: (req) => req.user?.domainPrefix }));
  app.get("/products", async (req, res) => {
    const products = await readProducts(req.retailPos);
    res.render("products", { store: req.retailPos.domainPrefix, products });
  });
  app.use((req, res) => res.status(404).render("problem", { ...NOT_FOUND, store: req.user?.domainPrefix }));
  app.use(answerError);
  return app;
}

/** The first twenty. The sandbox's sample API answers like this; the API of your service has its own fields. */
async function readProducts(retailer: RetailerClient): Promise<object[]> {
  const answer = await retailer.fetch("api/products", { signal: AbortSignal.timeout(5000) });
  if (!answer.ok) throw new Error(`The products could not be read: the API answered ${answer.status}`);
  return ((await answer.json()) as { data: object[] }).data;
}

/** What browsers are told about every answer, files too. */
function protection(isHttps: boolean, authUrl: string): RequestHandler {
  const none = ["'none'"];
  // A form of ours may start a login, and a browser asks this of every redirect that follows.
  const formAction = ["'self'", new URL(authUrl).origin];
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        baseUri: none,
        formAction,
        frameAncestors: none,
        objectSrc: none,
      },
    },
    referrerPolicy: { policy: "strict-origin" }, // no-referrer would make browsers send `Origin: null` with our forms
    strictTransportSecurity: isHttps && { includeSubDomains: false }, // others below this host may not have TLS yet
    xFrameOptions: { action: "deny" },
  });
}

/** Refuses a form of another site's page. A program sends neither header, and has no cookie of somebody else. */
function fromOurPagesOnly(ours: string): RequestHandler {
  return (req, res, next) => {
    res.set("cache-control", "no-store"); // Back shows no store's data once its reader has logged out
    const { origin, "sec-fetch-site": site = "none" } = req.headers;
    const isOurs = origin === undefined ? ["same-origin", "none"].includes(String(site)) : origin === ours;
    if (isOurs || ["GET", "HEAD", "OPTIONS"].includes(req.method)) return next();
    res
      .status(403)
      .type("text")
      .send("This request came from a page of another site. Nothing was changed.\n");
  };
}

/** A page for whatever went wrong, in words for people. The developer's words go to the log, once: see `observe`. */
const answerError: ErrorRequestHandler = (error, req, res, next) => {
  if (res.headersSent) return next(error);
  const isLogin = error instanceof LoginFailure;
  const { code, status } = isLogin || isRetailPosError(error) ? error : { code: "error", status: 500 };
  if (isLogin && !TOLD_BY_CORE.includes(code)) console.warn(`A login failed, ${code}: ${error.message}`);
  else if (!isLogin && !isRetailPosError(error)) console.error(error);
  res.status(status).set(isRetailPosError(error) ? error.headers : {});
  const words = failureWords({ code, error, message: error?.message });
  // For a page that counts down, the service's own count of seconds: the reader's clock may be wrong.
  const wait = words.retryAt && Number(res.get("Retry-After"));
  res.render("problem", {
    ...words,
    code,
    wait,
    store: req.user?.domainPrefix,
    atLogin: req.path.startsWith("/auth/"),
  });
};
