import { randomBytes } from "node:crypto";
import type { RequestListener } from "node:http";
import { memoryStore, retailPos } from "@retail-pos/core";
import express, { type RequestHandler } from "express";
import session from "express-session";
import { Redis } from "ioredis";
import { Passport } from "passport";
import RetailPosStrategy from "passport-retail-pos";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../../test/support/listen.js";
import {
  byConnection,
  type ExpressSettings,
  expressApp,
  koaApp,
  OddSessions,
  type Patient,
  type Place,
  patient,
  takingTurns,
  tlsPatient,
  webApp,
} from "../../testing/patients.js";
import { run } from "../../testing/terminal.js";
import { FOR_EVER, virtualTime } from "../../testing/virtual-time.js";

// Each is broken in one way, and the doctor has to name that, first and with a mend that mends it; and nothing else but
// what the row says. Unless a row says otherwise the applications are in production: their pages say nothing.

interface Broken {
  readonly name: string;
  readonly app: () => Promise<Patient>;
  /** All problems and warnings, in their order: the cause first. */
  readonly finds: readonly string[];
  /** Of the first one. */
  readonly says: RegExp;
  readonly mend: RegExp;
  /** A warning leaves it at 0. Default 1. */
  readonly exitCode?: 0 | 1;
  /** Beside the login's address. */
  readonly args?: (app: Patient) => string[];
  /**
   * The same application, if logins under way are kept in cookies of their own: a login comes back, and at most a page
   * shows what is wrong with the session's cookie.
   */
  readonly apart?: () => Promise<Patient>;
  readonly isShown?: true;
}

/** Nothing here waits: what an application takes, and what the doctor gives it, passes at once. */
const time = virtualTime();
const NOON = Date.now();
const STORE = "harbour-coffee";
const withStore = () => ["--store", STORE];
const quick = () => ["--timeout", "2"];
const withExpress = (settings: ExpressSettings) => () => patient(expressApp(settings));
/** With logins under way in the session, and apart from it. `make` is given options of the strategy. */
const eitherWay = (make: (options: object) => Promise<Patient>) => ({
  app: () => make({ store: "session" }),
  apart: () => make({}),
});
const inSession = (settings: ExpressSettings) =>
  eitherWay((options) => patient(expressApp({ ...settings, strategy: () => options })));
/** Every page shows the session's cookie, not only those that need a session. */
const withCookie = (cookie: session.CookieOptions) => ({
  app: withExpress({ session: { secret: "any", cookie }, strategy: () => ({ store: "session" }) }),
  apart: withExpress({ session: { secret: "any", cookie, saveUninitialized: true } }),
  isShown: true as const,
});
/** Every failure has one and the same page, and one status. */
const onePage: ExpressSettings = {
  callback: (_place, passport) => (req, res, next) =>
    passport.authenticate("retail-pos", (_error: unknown, user: unknown) =>
      user ? res.send("Welcome") : res.status(403).send("The login did not work."),
    )(req, res, next),
  onError: (_error, _req, res, _next) => void res.status(403).send("The login did not work."),
};
const fail = () => {
  throw new Error("the states are away: redis://user:canary@host");
};
/** Sessions that nothing keeps. */
const forgetful = () => new OddSessions({ get: (_id, done) => done(null, null) });
const awayRedis = async () => {
  const client = new Redis({ port: await freePort(), enableOfflineQueue: false, retryStrategy: () => null });
  client.on("error", () => {}); // that it is away is the point
  onTestFinished(() => client.disconnect());
  return client;
};

const loginRoutes: Broken[] = [
  {
    name: "is not running",
    app: async () => {
      const app = await patient(expressApp());
      return { ...app, login: `http://localhost:${await freePort()}/login` };
    },
    finds: ["problem login-route"],
    says: /nothing listens/,
    mend: /^Start the application/,
  },
  {
    name: "hangs, because its session store waits for a database",
    ...inSession({
      session: { secret: "any", store: new OddSessions({ set: () => time.pass(FOR_EVER) }) },
    }),
    args: quick,
    finds: ["problem login-route"],
    says: /did not answer within 2 seconds/,
    mend: /session store whose database is not there/,
  },
  {
    name: "has a certificate of its own making",
    app: () => tlsPatient(expressApp()),
    finds: ["problem login-route"],
    says: /certificate .* is not trusted/,
    mend: /authority that browsers know/,
  },
  {
    name: "has a certificate that has expired",
    app: () => tlsPatient(expressApp(), { until: new Date(Date.now() - 86_400_000) }),
    finds: ["problem login-route"],
    says: /not trusted/,
    mend: /Renew the certificate|authority that browsers know/,
  },
  {
    name: "is given with https, and speaks http",
    app: async () => {
      const app = await patient(expressApp());
      return { ...app, login: app.login.replace("http:", "https:") };
    },
    finds: ["problem login-route"],
    says: /does not speak https/,
    mend: /address with http:\/\//,
  },
  {
    name: "is given with http, and speaks https",
    app: async () => {
      const app = await tlsPatient(expressApp());
      return { ...app, login: app.login.replace("https:", "http:") };
    },
    finds: ["problem login-route"],
    says: /closed the connection/,
    mend: /address with https:\/\//,
  },
  {
    name: "has no login route",
    app: withExpress({ before: (app) => app.all("/login", (_req, res) => void res.sendStatus(404)) }),
    finds: ["problem login-route"],
    says: /404: no route/,
    mend: /the address that your "Log in" link opens/,
  },
  {
    name: "has no session",
    ...inSession({ session: false, isDevelopment: true }),
    finds: ["problem login-route"],
    says: /no session to keep its state in/,
    mend: /session middleware.* before the login route/,
  },
  {
    name: "has no session, and does not say so",
    ...inSession({ session: false }),
    finds: ["problem login-route"],
    says: /answers 500/,
    mend: /no session middleware before the login route/,
  },
  {
    name: "has a state store that throws, and shows it",
    app: withExpress({ isDevelopment: true, strategy: () => ({ store: { store: fail, verify: fail } }) }),
    finds: ["problem login-route"],
    says: /answers 500: starting .* in the application\. Its page says: "Error: the states are away: \[hidden\]"\.$/,
    mend: /^Look for that error in the application's log.* a state store of the strategy/,
  },
  {
    name: "has a state store that throws, and does not show it",
    app: withExpress({ strategy: () => ({ store: { store: fail, verify: fail } }) }),
    finds: ["problem login-route"],
    says: /answers 500: starting a login fails in the application\.$/,
    mend: /^Read the application's log\. Usual reasons: a session store, or a state store/,
  },
  {
    name: "never told Passport of its strategy",
    app: withExpress({ isUnknownToPassport: true, isDevelopment: true }),
    finds: ["problem login-route"],
    says: /Passport does not know the strategy/,
    mend: /passport\.use/,
  },
  {
    name: "demands a login before the login",
    app: withExpress({ between: (app) => app.use((_req, res) => void res.sendStatus(401)) }),
    finds: ["problem login-route"],
    says: /closed to people who are not logged in/,
    mend: /before the middleware that demands a login/,
  },
  {
    name: "demands a login before the login, by a page that asks nothing",
    app: withExpress({
      between: (app) =>
        app.use(({ path }, res) => (path === "/sign-in" ? res.send("Log in") : res.redirect("/sign-in"))),
    }),
    finds: ["problem login-route"],
    says: /redirects to .*\/sign-in, which answers 200 with a page/,
    mend: /accounts of their own and connect stores to them, leave it behind/,
  },
  {
    name: "is behind Basic authentication",
    app: withExpress({ before: (app) => app.use(basicAuth) }),
    finds: ["problem login-route"],
    says: /closed to people who are not logged in/,
    mend: /outside of a password that protects the whole application/,
  },
  {
    name: "is behind a proxy, and does not run",
    app: withExpress({ before: (app) => app.use((_req, res) => void res.sendStatus(502)) }),
    finds: ["problem login-route"],
    says: /answers 502/,
    mend: /a proxy whose application does not run/,
  },
  {
    name: "limits the requests of everybody together",
    app: withExpress({ before: (app) => app.use((_req, res) => void res.sendStatus(429)) }),
    finds: ["warning login-route"],
    says: /answers 429/,
    mend: /Wait until the limit is over/,
    exitCode: 0,
  },
  {
    name: "shows a page of its own",
    app: withExpress({ login: () => (_req, res) => void res.send("<form>") }),
    finds: ["problem login-route"],
    says: /a page instead of a redirect/,
    mend: /the address that starts the login/,
  },
  {
    name: "lets browsers keep its redirect",
    app: withExpress({
      before: (app) => app.use("/login", sentWith(301, { "Cache-Control": "" })),
    }),
    finds: ["problem login-cached"],
    says: /is a 301, which browsers keep/,
    mend: /302 and Cache-Control: no-store/,
  },
  {
    name: "lets a cache keep its redirect",
    app: withExpress({
      before: (app) => app.use("/login", sentWith(302, { "Cache-Control": "max-age=60" })),
    }),
    finds: ["problem login-cached"],
    says: /may be kept by caches/,
    mend: /out of every cache/,
  },
  {
    name: "makes its callback address from a request behind a proxy that it does not trust",
    app: withExpress({
      isDevelopment: true,
      before: (app) => app.use(atAnotherHost),
      strategy: () => ({ callbackURL: "/callback" }),
    }),
    finds: ["problem login-route"],
    says: /came over plain http/,
    mend: /trust proxy/,
  },
];

const services: Broken[] = [
  {
    name: "has a wrong path in authUrl",
    app: withExpress({ client: ({ sandbox }) => ({ authUrl: `${sandbox.authUrl}/oauth` }) }),
    finds: ["problem consent-page"],
    says: /There is no consent page at this address: .*\/oauth\/connect answers 404/,
    mend: /Check the path of authUrl/,
  },
  {
    name: "appends /connect to an authUrl that has it",
    app: withExpress({
      login: ({ sandbox, callback }) => byHand(`${sandbox.authUrl}/connect/connect`, callback),
      callback: () => refusing,
    }),
    finds: ["problem login-route"],
    says: /\/connect twice/,
    mend: /Take \/connect off the end/,
  },
  {
    name: "has an authUrl where nothing listens",
    app: async () => {
      const authUrl = `http://localhost:${await freePort()}`;
      return patient(expressApp({ client: () => ({ authUrl }) }));
    },
    finds: ["problem service"],
    says: /nothing listens/,
    mend: /host and port of authUrl/,
  },
  {
    name: "has an authUrl with a certificate that nobody knows",
    app: async () => {
      const service = await tlsPatient(expressApp());
      return patient(expressApp({ client: () => ({ authUrl: new URL(service.login).origin }) }));
    },
    finds: ["problem service"],
    says: /certificate .* is not trusted/,
    mend: /authority that browsers know/,
  },
  {
    name: "has another application's client_id",
    app: withExpress({ client: () => ({ clientId: "another" }) }),
    finds: ["problem consent-page"],
    says: /speaks of client_id/,
    mend: /Copy the client_id/,
  },
  {
    name: "has a callback address that is not registered",
    app: withExpress({ client: ({ callback }) => ({ redirectUri: `${callback}/` }) }),
    finds: ["problem consent-page"],
    says: /speaks of redirect_uri/,
    mend: /letter by letter/,
  },
  {
    name: "has a callback address that is not the registered one, which is known",
    app: withExpress({ client: ({ callback }) => ({ redirectUri: `${callback}/` }) }),
    args: ({ callback }) => ["--callback", callback],
    finds: ["problem redirect-uri", "problem consent-page"],
    says: /a slash at the end too many/,
    mend: /in the application, or register the other/,
  },
  {
    name: "names no scope, and the service wants one",
    app: async () => {
      const service = await patient(() => sendingBack("access_denied"));
      return patient(expressApp({ client: () => ({ authUrl: service.origin }) }));
    },
    finds: ["problem scope"],
    says: /error=access_denied \(It wants a scope\).* names no scope/,
    mend: /scope: "\.\.\."/,
  },
  {
    name: "names a scope that the service does not grant",
    app: async () => {
      const service = await patient(() => sendingBack("invalid_scope"));
      return patient(
        expressApp({ client: () => ({ authUrl: service.origin }), strategy: () => ({ scope: "all" }) }),
      );
    },
    finds: ["problem scope"],
    says: /error=invalid_scope.* does not grant/,
    mend: /Compare the scope/,
  },
  {
    name: "is not allowed this kind of login",
    app: async () => {
      const service = await patient(() => sendingBack("unauthorized_client"));
      return patient(expressApp({ client: () => ({ authUrl: service.origin }) }));
    },
    finds: ["problem consent-page"],
    says: /error=unauthorized_client/,
    mend: /registration/,
  },
  {
    name: "has a service behind a password",
    app: async () => {
      const service = await patient(() => express().use(basicAuth));
      return patient(expressApp({ client: () => ({ authUrl: service.origin }) }));
    },
    finds: ["problem consent-page"],
    says: /refuses this request: .* answers 401/,
    mend: /Open the login in a browser/,
  },
];

const cookies: Broken[] = [
  {
    name: "has a SameSite=Strict cookie",
    ...withCookie({ sameSite: "strict" }),
    finds: ["problem cookie-same-site"],
    says: /SameSite=Strict/,
    mend: /sameSite to lax/,
  },
  {
    name: "withholds its Secure cookie over http",
    ...inSession({ session: { secret: "any", cookie: { secure: true } } }),
    finds: ["problem session-cookie"],
    says: /sets no cookie/,
    mend: /do not set secure: true/,
  },
  {
    name: "has its cookie for the login's path alone",
    ...withCookie({ path: "/login" }),
    finds: ["problem cookie-path"],
    says: /is for \/login and below/,
    mend: /path to \//,
  },
  {
    name: "has a cookie for another domain",
    ...withCookie({ domain: "example.com" }),
    finds: ["problem cookie-domain"],
    says: /may not set/,
    mend: /domain unset/,
  },
  {
    name: "counts a cookie's life in seconds",
    ...withCookie({ maxAge: 600 }),
    finds: ["problem cookie-lifetime"],
    says: /gone after 1 second\./,
    mend: /counts milliseconds/,
  },
  {
    name: "has more in its cookie than browsers keep",
    isShown: true,
    ...inSession({
      between: (app) =>
        app.use((_req, res, next) => next(void res.cookie("profile", "x".repeat(5000), { httpOnly: true }))),
    }),
    finds: ["problem cookie-size"],
    says: /has 5\d\d\d bytes/,
    mend: /Keep less/,
  },
  {
    name: "is opened as localhost and called back as 127.0.0.1",
    app: async () => {
      const app = await patient(expressApp({ client: ({ callback }) => ({ redirectUri: callback }) }));
      return { ...app, login: app.login.replace("localhost", "127.0.0.1") };
    },
    finds: ["problem cookie-host"],
    says: /belongs to 127\.0\.0\.1; the callback is at localhost/,
    mend: /Open the login at http:\/\/localhost/,
  },
];

const callbacks: Broken[] = [
  {
    name: "has no callback route",
    app: withExpress({ callback: false }),
    finds: ["problem callback-route"],
    says: /No route takes a GET at \/callback: it answers 404/,
    mend: /same path as in the callback address/,
  },
  {
    name: "takes a POST on its callback",
    app: withExpress({ callback: () => (_req, res) => void res.sendStatus(405) }),
    finds: ["problem callback-route"],
    says: /answers 405/,
    mend: /app\.get/,
  },
  {
    name: "answers every address with its single page",
    app: withExpress({
      callback: false,
      after: (app) => app.use((_req, res) => void res.send("<div id=app>")),
    }),
    finds: ["problem callback-route"],
    says: /answered with 200, as if all were well/,
    mend: /single-page applications/,
  },
  {
    name: "answers its callback with a page of its own",
    app: withExpress({ callback: () => (_req, res) => void res.send("Welcome") }),
    finds: ["problem callback-route"],
    says: /answered with 200, as if all were well/,
    mend: /Let the strategy handle this route/,
  },
  {
    name: "demands a login on its callback",
    app: withExpress({
      between: (app) =>
        app.use((req, res, next) => (req.path === "/login" ? next() : res.redirect("/sign-in"))),
    }),
    finds: ["problem callback-route"],
    says: /like every address, it redirects to .*\/sign-in/,
    mend: /before the middleware that demands a login/,
  },
  {
    name: "lets nobody without a bearer in, its callback included",
    app: withExpress({
      between: (app) => app.use((req, res, next) => (req.path === "/login" ? next() : res.sendStatus(401))),
    }),
    finds: ["problem callback-route"],
    says: /like every address, it answers 401/,
    mend: /before the middleware that demands a login/,
  },
  {
    name: "hangs up on its callback",
    app: withExpress({ callback: () => (req) => void req.socket.destroy() }),
    finds: ["problem callback-route"],
    says: /closed the connection without an answer/,
    mend: /may have crashed on this request/,
  },
  {
    name: "has its callback alone behind Basic authentication",
    app: withExpress({ before: (app) => app.use("/callback", basicAuth) }),
    finds: ["problem callback-route"],
    says: /closed: it asks for a password/,
    mend: /outside of a password/,
  },
  {
    name: "never answers its callback",
    app: withExpress({ callback: () => () => time.pass(FOR_EVER) }),
    args: quick,
    finds: ["problem callback-route"],
    says: /\/callback did not answer/,
    mend: /never calls next\(\)/,
  },
  {
    name: "loses the query by a redirect to a slash",
    app: withExpress({
      callback: () => (req, res, next) => (req.path.endsWith("/") ? next() : res.redirect("/callback/")),
    }),
    finds: ["problem callback-query"],
    says: /redirected to .*\/callback\/, without its query/,
    mend: /let the redirect keep the query/,
  },
  {
    name: "has a proxy that cuts the query off",
    app: withExpress({
      before: (app) => app.use("/callback", withoutQuery),
    }),
    finds: ["problem callback-route"],
    says: /begins a new login|answered as a damaged one/,
    mend: /a proxy may cut it off/,
  },
  {
    name: "has no session on its callback",
    app: withExpress({ before: (app, place) => callbackWithoutSession(app, place), isDevelopment: true }),
    finds: ["problem callback-route"],
    says: /The callback has no session/,
    mend: /before the callback's route too/,
  },
  {
    name: "trades codes without a look at the state",
    app: withExpress({
      callback: ({ sandbox, callback }) => {
        const client = retailPos({ ...sandbox.application, ...addressesOf(sandbox), redirectUri: callback });
        return (req, _res, next) => void client.exchange(STORE, String(req.query["code"])).catch(next);
      },
    }),
    finds: ["problem state-check"],
    says: /a state that nobody was sent/,
    mend: /Check the state before the code/,
  },
  {
    name: "fails on its callback, and shows how",
    app: withExpress({ callback: () => fail, isDevelopment: true }),
    finds: ["problem callback-route"],
    says: /^A forged callback ends in 500\. Its page says: "Error: the states are away: \[hidden\]"\.$/,
    mend: /^Look for that error in the application's log/,
  },
  {
    name: "fails on its callback, and tells nobody how",
    app: withExpress({ callback: () => fail }),
    finds: ["problem callback-route"],
    says: /^A forged callback ends in 500\.$/,
    mend: /^Read the application's log\. Usual reasons: the session store, or a state store/,
  },
  {
    name: "fails if somebody declines",
    app: withExpress({
      callback: (_place, passport) => (req, res, next) =>
        req.query["error"] === "access_denied"
          ? res.sendStatus(500)
          : passport.authenticate("retail-pos")(req, res, next),
    }),
    finds: ["problem callback-declined"],
    says: /access_denied ends in 500/,
    mend: /failureRedirect/,
  },
];

const sessions: Broken[] = [
  {
    name: "cannot read its sessions",
    ...inSession({
      session: { secret: "any", store: new OddSessions({ get: (_id, done) => done(new Error("away")) }) },
    }),
    finds: ["problem session-store"],
    says: /The session store fails: with the session's cookie the callback ends in 500, without it, it ends in 403/,
    mend: /database is there/,
  },
  {
    name: "waits for its sessions without end",
    ...inSession({
      session: { secret: "any", store: new OddSessions({ get: () => time.pass(FOR_EVER) }) },
    }),
    args: quick,
    finds: ["problem session-store"],
    says: /The session store fails: with the session's cookie the callback does not answer, without it/,
    mend: /fail while it has no connection/,
  },
  {
    name: "is two processes with sessions in memory",
    ...eitherWay((options) => patient(takingTurns(expressApp({ strategy: () => options })))),
    finds: ["problem session-store"],
    says: /knew a login of its own \d of \d times|does not know a login that it has just started/,
    mend: /[Ss]everal processes/,
  },
  {
    name: "is two processes with sessions in memory, and connections take turns",
    ...eitherWay((options) => byConnection(expressApp({ strategy: () => options }))),
    finds: ["problem session-store"],
    says: /knew a login of its own \d of \d times|does not know a login that it has just started/,
    mend: /[Ss]everal processes/,
  },
  {
    name: "is two processes with sessions in memory, and redirects those who fail",
    ...eitherWay((options) =>
      patient(takingTurns(expressApp({ finish: { failureRedirect: "/failed" }, strategy: () => options }))),
    ),
    args: withStore,
    finds: ["problem session-store"],
    says: /knew a login of its own \d of \d times|does not know a login that it has just started/,
    mend: /[Ss]everal processes/,
  },
  {
    name: "is two processes with session secrets of their own",
    ...eitherWay((options) => {
      const store = new session.MemoryStore();
      return patient(
        takingTurns((place) =>
          expressApp({
            session: { secret: randomBytes(16).toString("hex"), store },
            strategy: () => options,
          })(place),
        ),
      );
    }),
    finds: ["problem session-store"],
    says: /knew a login of its own \d of \d times|does not know a login that it has just started/,
    mend: /secret/,
  },
  {
    name: "keeps its sessions in a Redis that is not there",
    ...eitherWay(async (options) => {
      const redis = await awayRedis();
      const store = new OddSessions({
        get: (id, done) => void redis.get(id).then((data) => done(null, JSON.parse(data ?? "null")), done),
        set: (id, data, done) => void redis.set(id, JSON.stringify(data)).then(() => done?.(), done),
      });
      return patient(expressApp({ session: { secret: "any", store }, strategy: () => options }));
    }),
    finds: ["problem login-route"],
    says: /answers 500: starting a login fails/,
    mend: /a session store, or a state store of the strategy, that fails/,
  },
  {
    name: "keeps its sessions in a Redis that is not there, and goes on without them",
    ...inSession({ session: { secret: "any", store: forgetful() } }),
    finds: ["problem session-store"],
    says: /its session is gone when the browser comes back/,
    mend: /a store whose database is not there/,
  },
  {
    name: "loses its sessions, and redirects those who fail",
    ...inSession({
      session: { secret: "any", store: forgetful() },
      finish: { failureRedirect: "/failed" },
    }),
    finds: ["problem session-store"],
    says: /its session is gone/,
    mend: /session store/,
  },
  {
    name: "loses its sessions, and has one page for every failure",
    ...inSession({ ...onePage, session: { secret: "any", store: forgetful() } }),
    args: withStore,
    finds: ["problem session-store"],
    says: /its session is gone/,
    mend: /session store/,
  },
  {
    name: "loses its sessions, and has other words on its page each time",
    ...inSession({
      session: { secret: "any", store: forgetful() },
      callback: (_place, passport) => (req, res, next) =>
        passport.authenticate("retail-pos", (error: unknown, user: unknown) => {
          if (error) return next(error);
          return user ? res.send("Welcome") : res.status(403).send(`Not this time, ${nickname()}`);
        })(req, res, next),
    }),
    finds: ["problem session-store"],
    says: /its session is gone/,
    mend: /session store/,
  },
  {
    name: "loses its sessions, and starts anew with those who fail",
    ...inSession({
      session: { secret: "any", store: forgetful() },
      finish: { failureRedirect: "/login" },
    }),
    finds: ["warning callback-route", "problem session-store"],
    says: /starts another login at once/,
    mend: /a link to try again/,
  },
  {
    name: "loses its sessions, and sends people home from everywhere",
    ...inSession({
      session: { secret: "any", store: forgetful() },
      finish: { failureRedirect: "/" },
      after: (app) => app.use((_req, res) => res.redirect("/")),
    }),
    finds: ["problem session-store"],
    says: /its session is gone/,
    mend: /session store/,
  },
  {
    name: "empties the session before the callback",
    ...inSession({
      between: (app) => app.use("/callback", (req, _res, next) => req.session.regenerate(() => next())),
    }),
    finds: ["problem session-store"],
    says: /does not know a login that it has just started\.$/,
    mend: /nothing that empties the session/,
  },
  {
    name: "has two strategies with session keys of their own",
    app: withExpress({
      callback: (place) =>
        new Passport().use(strategyOf(place, { sessionKey: "b" })).authenticate("retail-pos"),
      strategy: () => ({ sessionKey: "a" }),
    }),
    finds: ["problem session-store"],
    says: /does not know a login that it has just started\.$/,
    mend: /one strategy with one sessionKey/,
  },
  {
    name: "writes its sessions a while after the redirect",
    ...inSession({ session: { secret: "any", store: new OddSessions({ time, lateMs: 800 }) } }),
    finds: ["problem session-store"],
    says: /does not know a login that it has just started/,
    mend: /session store/,
  },
  {
    name: "is two processes of Koa with sessions in memory",
    ...eitherWay((options) =>
      patient(takingTurns((place) => koaApp({ store: koaSessions() }, options)(place))),
    ),
    finds: ["problem session-store"],
    says: /knew a login of its own \d of \d times|does not know a login that it has just started/,
    mend: /session store/,
  },
  {
    name: "is two processes of webLogin with secrets of their own",
    app: () =>
      patient(takingTurns((place) => webApp({ login: { secret: randomBytes(24).toString("hex") } })(place))),
    finds: ["problem session-store"],
    says: /sealed with another secret|knew a login of its own/,
    mend: /secret/,
  },
  {
    name: "is two processes of webLogin with secrets of their own, and one page for every failure",
    app: () =>
      patient(
        takingTurns((place) =>
          webApp({
            login: {
              secret: randomBytes(24).toString("hex"),
              onFailure: () => new Response("The login did not work.", { status: 403 }),
            },
          })(place),
        ),
      ),
    args: withStore,
    finds: ["problem session-store"],
    says: /does not know a login that it has just started\.$/,
    mend: /one session store and secret for all processes/,
  },
  {
    name: "is Koa with a Secure cookie over http",
    ...eitherWay((options) => patient(koaApp({ secure: true }, options))),
    finds: ["problem login-route"],
    says: /answers 500/,
    mend: /over plain http a cookie marked Secure \(Koa\)/,
  },
  {
    name: "is Koa whose sessions are kept nowhere",
    ...eitherWay((options) =>
      patient(koaApp({ store: { ...koaSessions(), get: async () => undefined } }, options)),
    ),
    finds: ["problem session-store"],
    says: /does not know a login that it has just started\.$/,
    mend: /one session store/,
  },
  {
    name: "demands a login before the login, by a redirect",
    app: withExpress({
      between: (app) =>
        app.use((req, res) => (req.path === "/sign-in" ? res.send("<form>") : res.redirect("/sign-in"))),
    }),
    finds: ["problem login-route"],
    says: /redirects to .*\/sign-in, which answers 200/,
    mend: /^Put the login route before the middleware/,
  },
  {
    name: "is two processes by hand, each with the states it sent",
    app: () => patient(takingTurns(byHandApp)),
    args: withStore,
    finds: ["problem session-store"],
    says: /knew a login of its own \d of \d times|does not know a login that it has just started/,
    mend: /one session store/,
  },
  {
    name: "tells nothing by its failures",
    app: withExpress(onePage),
    finds: ["warning own-login"],
    says: /Cannot tell/,
    mend: /^Name a store with --store .*info\.code/,
    exitCode: 0,
  },
  {
    name: "tells nothing by its failures but the library's statuses",
    app: withExpress({
      callback: (_place, passport) => (req, res, next) =>
        passport.authenticate("retail-pos", (error: unknown, user: unknown, _info: object, status = 403) =>
          error || !user ? res.status(status).send("The login did not work.") : res.send("Welcome"),
        )(req, res, next),
    }),
    finds: ["warning own-login"],
    says: /Cannot tell/,
    mend: /info\.code/,
    exitCode: 0,
  },
  {
    name: "tells nothing by its failures, nor by a code",
    ...inSession(onePage),
    args: withStore,
    finds: ["warning own-login"],
    says: /Cannot tell/,
    mend: /^Log in once in a browser.*info\.code/,
    exitCode: 0,
  },
];

const settings: Broken[] = [
  {
    name: "has a wrong client secret",
    app: withExpress({ client: () => ({ clientSecret: "canary-wrong" }) }),
    args: withStore,
    finds: ["problem client-secret"],
    says: /a client secret that the service refuses/,
    mend: /client secret again/,
  },
  {
    name: "has a wrong client secret, and says so",
    app: withExpress({ client: () => ({ clientSecret: "canary-wrong" }), isDevelopment: true }),
    args: withStore,
    finds: ["problem client-secret"],
    says: /refuses the client_id and client secret of the application/,
    mend: /a space or a line break/,
  },
  {
    name: "has a wrong client secret, and redirects those who fail",
    app: withExpress({
      client: () => ({ clientSecret: "canary-wrong" }),
      finish: { failureRedirect: "/failed" },
    }),
    args: withStore,
    finds: ["problem client-secret"],
    says: /client secret/,
    mend: /client secret again/,
  },
  {
    name: "has a wrong client secret, and a 500 for every error",
    app: withExpress({
      client: () => ({ clientSecret: "canary-wrong" }),
      onError: (_error, _req, res, _next) => void res.status(500).send("Sorry"),
    }),
    args: withStore,
    finds: ["problem made-up-code-answer"],
    says: /ends in 500, as errors of the application do/,
    mend: /client_refused means client_id or client secret/,
  },
  {
    name: "has a wrong client secret, and redirects on every error",
    app: withExpress({
      client: () => ({ clientSecret: "canary-wrong" }),
      finish: { failureRedirect: "/failed" },
      onError: (_error, _req, res, _next) => res.redirect("/error"),
    }),
    args: withStore,
    finds: ["problem made-up-code-answer"],
    says: /ends in 302, as errors of the application do/,
    mend: /client_refused means client_id or client secret/,
  },
  {
    name: "has a wrong client secret, with webLogin",
    app: () => patient(webApp({ client: () => ({ clientSecret: "canary-wrong" }) })),
    args: withStore,
    finds: ["problem client-secret"],
    says: /client secret/,
    mend: /^Copy client_id and client secret again/,
  },
  {
    name: "has a wrong path in baseUrl",
    app: withExpress({ client: ({ sandbox }) => ({ baseUrl: `${sandbox.authUrl}/{domain_prefix}` }) }),
    args: withStore,
    finds: ["problem base-url"],
    says: /no answer of a token endpoint/,
    mend: /^Check baseUrl/,
  },
  {
    name: "has a baseUrl where nothing listens",
    app: async () => {
      const baseUrl = `http://localhost:${await freePort()}/{domain_prefix}`;
      return patient(webApp({ client: () => ({ baseUrl }) }));
    },
    args: withStore,
    finds: ["problem base-url"],
    says: /no answer of a token endpoint/,
    mend: /^Check baseUrl/,
  },
  {
    name: "has a token store that is away",
    app: withExpress({
      client: () => {
        const store = { ...memoryStore(), claim: () => Promise.reject(new Error("away")) };
        return { store };
      },
    }),
    args: withStore,
    finds: ["problem token-store"],
    says: /token store, or its lock, fails/,
    mend: /database of the token store/,
  },
  {
    name: "is rate limited at this store",
    app: async () => {
      const app = await patient(expressApp());
      app.sandbox.limit(STORE, 60_000);
      return app;
    },
    args: withStore,
    finds: ["warning client-secret"],
    says: /rate limited/,
    mend: /Try again in some minutes/,
    exitCode: 0,
  },
  {
    name: "does not accept this store",
    app: withExpress({ client: () => ({ acceptRetailer: () => false }), callback: showingCode }),
    args: withStore,
    finds: ["warning client-secret"],
    says: /does not accept this retailer/,
    mend: /acceptRetailer accepts/,
    exitCode: 0,
  },
  {
    name: "never answers a code, because its lock waits for a database",
    app: withExpress({ client: () => ({ acceptRetailer: () => new Promise(() => time.pass(FOR_EVER)) }) }),
    args: () => [...withStore(), ...quick()],
    finds: ["problem made-up-code-answer"],
    says: /does not answer a login that comes back/,
    mend: /token store or its lock/,
  },
];

const broken = [...loginRoutes, ...services, ...cookies, ...callbacks, ...sessions, ...settings];

test.each(broken.map((row) => [row.name, row] as const))("an application that %s", async (_name, row) => {
  const { app, args, finds, says, mend, exitCode = 1 } = row;
  const sick = await app();
  const ran = await examined(sick, args?.(sick));
  expect(ran.findings.map(({ level, check }) => `${level} ${check}`)).toEqual(finds);
  expect(ran.findings[0]?.message ?? "").toMatch(says);
  expect(ran.findings[0]?.mend ?? "").toMatch(mend);
  expect(ran.exitCode).toBe(exitCode);
  expect(ran.stdout + ran.stderr).not.toContain("canary");
  expect(sick.sandbox.tokenRequests().length).toBeLessThanOrEqual(1); // one made-up code at most
});

const keptApart = broken.flatMap((row) => (row.apart ? [[row.name, row.apart, row] as const] : []));

test.each(keptApart)("but with a cookie for each login: that %s", async (_name, apart, row) => {
  const app = await apart();
  const { all, findings, exitCode } = await examined(app, row.args?.(app));
  const shown = row.isShown ? row.finds.map((each) => each.replace("problem", "warning")) : [];
  const others = findings.filter(({ check }) => check !== "callback-route");
  expect(others.map(({ level, check }) => `${level} ${check}`)).toEqual(shown);
  expect(all).toContainEqual(expect.objectContaining({ level: "ok", check: "own-login" }));
  expect(exitCode).toBe(0);
});

test.each([
  [8, "skipped"],
  [9, "ok"],
])("an application that answers %i requests a minute says nothing by its 429", async (most, level) => {
  const { exitCode, findings, all } = await examined(
    await patient(expressApp({ before: (app) => app.use(atMost(most)) })),
  );
  expect({ exitCode, findings }).toEqual({ exitCode: 0, findings: [] });
  expect(all).toContainEqual(expect.objectContaining({ check: "own-login", level }));
});

test("an application that does not know its logins is given no code", async () => {
  const app = await inSession({ session: { secret: "any", store: forgetful() } }).app();
  const { all } = await examined(app, withStore());
  expect(all.map(({ check }) => check)).not.toContain("made-up-code");
});

test.each<[string, (client: NonNullable<ExpressSettings["client"]>) => (place: Place) => RequestListener]>([
  ["Express", (client) => expressApp({ client })],
  ["Express in development", (client) => expressApp({ client, isDevelopment: true })],
  ["webLogin", (client) => webApp({ client })],
])(
  "%s is well, however soon the doctor comes again: it waits out the pause after its own code",
  async (_name, make) => {
    const clock = () => NOON + time.elapsed();
    const app = await patient(make(() => ({ clock })));
    for (const runs of [1, 2, 3]) {
      const ran = await examined(app, withStore());
      expect(ran).toMatchObject({ exitCode: 0, findings: [] });
      expect(ran.all).toContainEqual(expect.objectContaining({ level: "ok", check: "client-secret" }));
      expect(app.sandbox.tokenRequests(STORE)).toHaveLength(runs);
    }
  },
);

test("a limit of the service that the application's page names is not tried again, however short", async () => {
  const app = await patient(expressApp({ isDevelopment: true }));
  app.sandbox.limit(STORE, 5_000);
  const { findings } = await examined(app, withStore());
  expect(findings).toMatchObject([{ level: "warning", check: "client-secret" }]);
  expect(app.sandbox.tokenRequests(STORE)).toHaveLength(1);
});

test("there are forty of them and more", () => {
  expect(broken.length).toBeGreaterThanOrEqual(40);
});

const healthy: [name: string, app: () => Promise<Patient>][] = [
  ["Express with sessions in memory, in one process", withExpress({})],
  ["Express in development", withExpress({ isDevelopment: true })],
  ["Express that redirects those who fail", withExpress({ finish: { failureRedirect: "/failed" } })],
  ["Express that answers in JSON", withExpress({ callback: showingCode })],
  [
    "Express with a page of its own for each failure, and for errors",
    withExpress({
      callback: (_place, passport) => (req, res, next) =>
        passport.authenticate("retail-pos", (error: unknown, user: unknown, info: { code?: string }) => {
          if (error) return next(error);
          return user ? res.send("Welcome") : res.status(403).send(`<h1>${pageOf(info.code)}</h1>`);
        })(req, res, next),
      onError: (_error, _req, res, _next) =>
        void res.status(500).send(`<h1>Sorry</h1><i>${randomBytes(9).toString("hex")}</i>`),
    }),
  ],
  [
    "Express whose callback is moved to a slash, with its query",
    withExpress({
      before: (app) =>
        app.use((req, res, next) =>
          req.path === "/callback" ? res.redirect(`/callback/${req.url.slice(req.path.length)}`) : next(),
        ),
    }),
  ],
  [
    "Express with a session for everybody, and a new cookie each time",
    withExpress({
      session: {
        secret: "any",
        saveUninitialized: true,
        rolling: true,
        resave: true,
        cookie: { maxAge: 3_600_000 },
      },
    }),
  ],
  [
    "Express that sends people home from everywhere",
    withExpress({
      finish: { failureRedirect: "/" },
      after: (app) => app.use((_req, res) => res.redirect("/")),
    }),
  ],
  [
    "Express that redirects on every error, and elsewhere those who fail",
    withExpress({
      finish: { failureRedirect: "/failed" },
      onError: (_error, _req, res, _next) => res.redirect("/error"),
    }),
  ],
  ["node:http with a login by hand", () => patient(byHandApp)],
  ["Koa with sessions in a cookie", () => patient(koaApp())],
  ["two processes of Koa with sessions in a cookie", () => patient(takingTurns(koaApp()))],
  ["Koa with sessions in a store", () => patient(koaApp({ store: koaSessions() }))],
  ["webLogin", () => patient(webApp())],
  ["two processes of webLogin", () => patient(takingTurns(webApp()))],
  [
    "webLogin with one page for every failure",
    () =>
      patient(
        webApp({ login: { onFailure: () => new Response("The login did not work.", { status: 403 }) } }),
      ),
  ],
];

test.each(healthy)("%s is well, with a store and without", async (_name, app) => {
  const well = await app();
  const without = await examined(well);
  expect(without).toMatchObject({ exitCode: 0, findings: well.login ? expect.any(Array) : [] });
  expect(without.findings.filter(({ check }) => check !== "own-login")).toEqual([]);
  expect(well.sandbox.tokenRequests()).toEqual([]);
  const ran = await examined(well, withStore());
  expect(ran).toMatchObject({ exitCode: 0, findings: [] });
  expect(ran.all.map(({ check }) => check)).toContain("made-up-code");
  expect(well.sandbox.tokenRequests(STORE)).toMatchObject([{ error: "invalid_grant" }]);
});

/** Runs the command; `findings` are those that are not well. */
async function examined(app: Patient, args: string[] = []) {
  const { exitCode, stdout, stderr } = await run(["doctor", app.login, "--json", ...args], { time });
  const all = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<"level" | "check" | "message" | "effect" | "mend", string>);
  const findings = all.filter(({ level }) => level === "problem" || level === "warning");
  return { exitCode, stdout, stderr, findings, all };
}

function addressesOf({ authUrl, baseUrl }: Place["sandbox"]) {
  return { authUrl, baseUrl };
}

function strategyOf({ sandbox, callback }: Place, options: object = {}): RetailPosStrategy {
  const client = retailPos({ ...sandbox.application, ...addressesOf(sandbox), redirectUri: callback });
  return new RetailPosStrategy({ client, ...options }, (login) => ({ ...login }));
}

/** A callback that was put before the session middleware. */
function callbackWithoutSession(app: express.Express, place: Place): void {
  app.get(
    "/callback",
    new Passport().use(strategyOf(place, { store: "session" })).authenticate("retail-pos"),
  );
}

function showingCode(_place: Place, passport: InstanceType<typeof Passport>): RequestHandler {
  return (req, res, next) =>
    passport.authenticate("retail-pos", (error: unknown, user: unknown, info: object, status?: number) => {
      if (error) return next(error);
      return user ? res.json({ ok: true }) : res.status(status ?? 403).json(info);
    })(req, res, next);
}

/** Letters alone, which look like any other word. */
function nickname(): string {
  return randomBytes(5)
    .toString("hex")
    .replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)] ?? "");
}

function pageOf(code = ""): string {
  return code.startsWith("state") ? "Start again" : "Not this time";
}

/** A login without the strategy, which keeps its state in the session. */
function byHand(consent: string, callback: string): RequestHandler {
  return (req, res) => {
    const state = randomBytes(16).toString("base64url");
    Object.assign(req.session, { state });
    const asked = { response_type: "code", client_id: "sandbox-application", redirect_uri: callback, state };
    res.redirect(`${consent}?${new URLSearchParams(asked)}`);
  };
}

/** node:http, with the states it sent in memory, by a cookie. */
function byHandApp({ sandbox, callback }: Place): RequestListener {
  const states = new Map<string, string>();
  const client = retailPos({ ...sandbox.application, ...addressesOf(sandbox), redirectUri: callback });
  return async (req, res) => {
    const { pathname, searchParams: query } = new URL(req.url ?? "/", callback);
    if (pathname === "/login") {
      const [id, state] = [randomBytes(16).toString("hex"), randomBytes(16).toString("base64url")];
      states.set(id, state);
      res.setHeader("Set-Cookie", `login=${id}; HttpOnly; SameSite=Lax; Path=/`);
      return res.writeHead(302, { location: client.authorizationUrl(state).href }).end();
    }
    if (pathname !== "/callback") return res.writeHead(404).end();
    if (query.get("error") === "access_denied") return res.writeHead(403).end("Declined");
    const id = /login=(\w+)/.exec(req.headers.cookie ?? "")?.[1] ?? "";
    if (!query.get("state") || states.get(id) !== query.get("state"))
      return res.writeHead(400).end("Invalid state");
    if (query.has("error")) return res.writeHead(400).end("The service failed");
    states.delete(id);
    try {
      await client.connect(await client.exchange(query.get("domain_prefix") ?? "", query.get("code") ?? ""));
      return res.writeHead(200).end("Welcome");
    } catch {
      return res.writeHead(403).end("The code was refused");
    }
  };
}

/** A limit of the application's own. */
function atMost(most: number): RequestHandler {
  let count = 0;
  return (_req, res, next) => (++count > most ? void res.sendStatus(429) : next());
}

const refusing: RequestHandler = (_req, res) => void res.status(403).send("No");

const basicAuth: RequestHandler = (_req, res) =>
  void res.status(401).set("WWW-Authenticate", 'Basic realm="staging"').send("Who are you?");

/** As behind a proxy that keeps the browser's Host. */
const atAnotherHost: RequestHandler = (req, _res, next) => {
  req.headers.host = "app.example.com";
  next();
};

/** As behind a proxy that drops it. */
const withoutQuery: RequestHandler = (req, _res, next) => {
  req.url = "/";
  req.originalUrl = "/callback";
  next();
};

/** Turns a redirect into one that browsers or caches keep, as some proxies do. */
function sentWith(status: number, headers: Record<string, string>): RequestHandler {
  return (_req, res, next) => {
    const writeHead = res.writeHead.bind(res);
    res.writeHead = () => writeHead(status, headers);
    next();
  };
}

/** A service that asks nobody. */
function sendingBack(error: string): RequestListener {
  return (req, res) => {
    const asked = new URL(req.url ?? "/", "http://localhost").searchParams;
    const back = new URL(asked.get("redirect_uri") ?? "http://localhost");
    back.searchParams.set("error", error);
    back.searchParams.set("error_description", "It wants a scope");
    back.searchParams.set("state", asked.get("state") ?? "");
    res.writeHead(302, { location: back.href }).end();
  };
}

function koaSessions() {
  const kept = new Map<string, unknown>();
  return {
    get: async (key: string) => kept.get(key),
    set: async (key: string, value: unknown) => void kept.set(key, value),
    destroy: async (key: string) => void kept.delete(key),
  };
}
