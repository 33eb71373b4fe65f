import express, { type Express, type RequestHandler } from "express";
import session from "express-session";
import { onTestFinished } from "vitest";
import { listen } from "./listen.js";

/** As much of Passport as a site needs; the caller brings the real one. */
export interface PassportLike {
  use(strategy: unknown): unknown;
  serializeUser(fn: (user: Express.User, done: (error: unknown, id?: unknown) => void) => void): void;
  deserializeUser(fn: (id: unknown, done: (error: unknown, user?: unknown) => void) => void): void;
  session(): RequestHandler;
  authenticate(strategy: unknown, options?: unknown, callback?: unknown): RequestHandler;
  authorize(strategy: unknown, options?: unknown): RequestHandler;
}

export interface SiteSettings<S> {
  /** Given to `passport.authenticate` on both routes. */
  options?: object;
  /** The same for one route only. */
  loginOptions?: object;
  /** Stands in for `passport.authenticate` on both routes. */
  authenticate?: (strategy: S, passport: PassportLike) => RequestHandler;
  /** `false`: no session middleware. */
  session?: RequestHandler | false;
  /** Called before any route is there. */
  configure?: (app: Express) => void;
}

export interface LoginSite<S> {
  readonly strategy: S;
  readonly origin: string;
  readonly loginUrl: string;
  readonly callbackUrl: string;
  /** Who is logged in, as the session has it. */
  readonly meUrl: string;
  /** What reached `next(err)`. */
  readonly errors: unknown[];
}

/** A small Express site with a login, on a free port; it is gone when the test is over. */
export async function loginSite<S>(
  passport: PassportLike,
  makeStrategy: (callbackURL: string) => S | Promise<S>,
  settings: SiteSettings<S> = {},
): Promise<LoginSite<S>> {
  const app = express();
  const { port, close } = await listen(app);
  onTestFinished(close);
  const origin = `http://127.0.0.1:${port}`;
  const callbackUrl = `${origin}/callback`;
  const strategy = await makeStrategy(callbackUrl);
  const errors: unknown[] = [];

  passport.use(strategy);
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user, done) => done(null, user));
  settings.configure?.(app);
  if (settings.session !== false) app.use(settings.session ?? sessions(), passport.session());

  const byDefault = (options?: object) => passport.authenticate("retail-pos", options);
  const login = settings.authenticate?.(strategy, passport);
  app.get("/login", login ?? byDefault(settings.loginOptions ?? settings.options));
  app.all("/callback", login ?? byDefault(settings.options), (req, res) => {
    const { user, authInfo, account } = req as typeof req & { account?: unknown };
    res.json({ user, authInfo, account });
  });
  app.get("/me", (req, res) => void res.json({ user: req.user, session: req.session }));
  app.use(((error, _req, _res, next) => {
    errors.push(error);
    next(error);
  }) as express.ErrorRequestHandler);

  return { strategy, origin, loginUrl: `${origin}/login`, callbackUrl, meUrl: `${origin}/me`, errors };
}

/** express-session with its memory store, as its README shows it. */
export function sessions(store?: session.Store): RequestHandler {
  return session({
    secret: "for the tests",
    resave: false,
    saveUninitialized: false,
    ...(store && { store }),
  });
}

/** What the service's redirect back looks like (2.3), for the login that `location` starts. */
export function approval(location: string, retailer: string, code = `code-${retailer}`): URL {
  const asked = new URL(location).searchParams;
  const url = new URL(asked.get("redirect_uri") ?? "");
  url.searchParams.set("code", code);
  url.searchParams.set("domain_prefix", retailer);
  url.searchParams.set("state", asked.get("state") ?? "");
  return url;
}

/** The application, Passport style, beside `fakeService()`. */
export const APPLICATION = {
  authUrl: "https://login.example.com",
  baseUrl: "https://{domain_prefix}.example.com",
  clientID: "the-application",
  clientSecret: "the-client-secret",
} as const;
