import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import session from "express-session";
import { Passport } from "passport";
import RetailPosStrategy from "passport-retail-pos";
import { onTestFinished } from "vitest";
import { listen } from "../../../test/support/listen.js";

/** What makes an application differ from one whose login is right. */
export interface LoginAppSettings {
  /** `false`: no session middleware. */
  cookie?: session.CookieOptions | false;
  /** Options of the strategy, where they differ. */
  strategy?: object;
  /** Stands in for the strategy on `/login`. */
  login?: (place: Place) => RequestHandler;
  /** Stands in for the strategy on `/callback`; `false`: no such route. */
  callback?: ((place: Place) => RequestHandler) | false;
  /** The callback address that is registered, where it is not the one the application sends. */
  registered?: (callback: string) => string;
  /** The callback address that the application sends, where it is not the one registered. */
  sent?: (callback: string) => string;
  /** Called before any route is there. */
  configure?: (app: Express) => void;
}

export interface Place {
  readonly authUrl: string;
  readonly callback: string;
}

export interface LoginApp extends Place {
  readonly url: URL;
  readonly origin: string;
  readonly sandbox: Sandbox;
  close(): Promise<void>;
}

/** A small Express application with a login, and the sandbox it logs in to; both end with the test. */
export async function loginApp(settings: LoginAppSettings = {}): Promise<LoginApp> {
  const app = express();
  const { origin, close } = await listen(app);
  onTestFinished(close);
  const callback = `${origin}/callback`;
  const sandbox = await startSandbox({ redirectUri: settings.registered?.(callback) ?? callback });
  onTestFinished(() => sandbox.close());
  const place = { authUrl: sandbox.authUrl, callback };

  const passport = new Passport();
  const { clientId, clientSecret } = sandbox.application;
  const redirectUri = settings.sent?.(callback) ?? callback;
  const { authUrl, baseUrl } = sandbox;
  const options = { authUrl, baseUrl, clientID: clientId, clientSecret, callbackURL: redirectUri };
  passport.use(
    new RetailPosStrategy({ ...options, ...settings.strategy }, async ({ domainPrefix }) => ({
      domainPrefix,
    })),
  );
  const authenticate: RequestHandler = passport.authenticate("retail-pos", { session: false });

  settings.configure?.(app);
  const { cookie = {} } = settings;
  if (cookie) app.use(session({ secret: "for the test", resave: false, saveUninitialized: false, cookie }));
  app.get("/login", settings.login?.(place) ?? authenticate);
  if (settings.callback !== false) app.get("/callback", settings.callback?.(place) ?? authenticate);
  app.use(((_error, _req, res, _next) => void res.status(500).end("It failed.")) as ErrorRequestHandler);
  return { ...place, url: new URL(`${origin}/login`), origin, sandbox, close };
}

/** A login by hand: `changes` go into the authorization request, `undefined` leaves a parameter out. */
export function loginByHand(
  changes: () => Record<string, string | undefined>,
  endpoint = "connect",
): (place: Place) => RequestHandler {
  return ({ authUrl, callback }) =>
    (req, res) => {
      if (req.session) Object.assign(req.session, { login: "under way" }); // an empty one sets no cookie
      const asked = { response_type: "code", client_id: "sandbox-application", redirect_uri: callback };
      const query = Object.entries({ ...asked, state: crypto.randomUUID(), ...changes() });
      const given = query.filter((parameter): parameter is [string, string] => parameter[1] !== undefined);
      res.redirect(`${authUrl}/${endpoint}?${new URLSearchParams(given)}`);
    };
}
