import type { RequestListener } from "node:http";
import fastifyCookie from "@fastify/cookie";
import { Authenticator } from "@fastify/passport";
import fastifySecureSession from "@fastify/secure-session";
import fastifySession from "@fastify/session";
import express5 from "express";
import expressSession, { type Store } from "express-session";
import express4 from "express4";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import Koa3 from "koa";
import koaPassport from "koa-passport";
import koaSession from "koa-session";
import Koa2 from "koa2";
import { Passport } from "passport";
import { RetailPosStrategy, type RetailPosStrategyOptions } from "passport-retail-pos";
import type { User } from "./sites.js";

/**
 * A site with a login on every framework that Passport runs on. `/any/...` starts and finishes logins, `/connect/...`
 * does the same by `authorize`, `/as?user=anna` logs in by password and keeps what the session holds (`user=` logs
 * out), `/empty` empties the session, `/me` shows who is logged in.
 */
export interface PassportSite {
  readonly name: string;
  readonly site: (settings: PassportSiteSettings) => RequestListener;
  /** Logins under way lie in the session. */
  readonly inSession: boolean;
}

export interface PassportSiteSettings {
  readonly strategy: RetailPosStrategyOptions;
  /** What `authenticate` is given. */
  readonly login?: { callbackURL?: string; state?: unknown; session?: false };
  readonly trustProxy?: boolean;
  /** Attributes of the session's cookie. */
  readonly cookie?: { secure?: boolean; sameSite?: "none" | "lax" | "strict" };
  /** Of express-session. */
  readonly store?: Store;
  /** Of koa-session. */
  readonly koaStore?: object;
  /** Koa: no session of Passport's, but a cookie whose middleware sets `user` there. */
  readonly koaUserIn?: "state" | "req" | "request";
  /** Of @fastify/passport: where it keeps people. */
  readonly fastifyPassport?: { key: string; userProperty: string };
  /** A middleware, or a schema with defaults, adds this to the query of each request. */
  readonly addsToQuery?: Record<string, string | undefined>;
}

export const passportSites: readonly PassportSite[] = [
  { name: "Express 5", inSession: false, site: (settings) => expressSite(express5, settings) },
  { name: "Express 4", inSession: false, site: (settings) => expressSite(express4, settings) },
  { name: "Koa 3", inSession: false, site: (settings) => koaSite(Koa3, settings) },
  { name: "Koa 2", inSession: false, site: (settings) => koaSite(Koa2, settings) },
  {
    name: "Fastify 5 with @fastify/session",
    inSession: true,
    site: (settings) =>
      fastifySite(settings, (app, cookie) => {
        app.register(fastifyCookie);
        const secret = "a secret for the tests, of 32 characters and more";
        app.register(fastifySession, {
          secret,
          cookie: { secure: false, ...cookie },
          saveUninitialized: false,
        });
      }),
  },
  {
    name: "Fastify 5 with @fastify/secure-session",
    inSession: true,
    site: (settings) =>
      fastifySite(settings, (app) => {
        app.register(fastifySecureSession, { key: Buffer.alloc(32, "of the tests"), cookie: { path: "/" } });
      }),
  },
  {
    name: "Fastify 5 with @fastify/session, and the reply on the request",
    inSession: false,
    site: (settings) =>
      fastifySite(settings, (app, cookie) => {
        app.register(fastifyCookie);
        const secret = "a secret for the tests, of 32 characters and more";
        app.register(fastifySession, {
          secret,
          cookie: { secure: false, ...cookie },
          saveUninitialized: false,
        });
        app.decorateRequest("res", null);
        app.addHook("onRequest", async (request, reply) => {
          const setHeader = (name: string, value: string | string[]) => void reply.header(name, value);
          Object.assign(request, { res: { setHeader } });
        });
      }),
  },
];

function newStrategy(settings: PassportSiteSettings): RetailPosStrategy {
  return new RetailPosStrategy(settings.strategy as never, ({ domainPrefix }) => ({ domainPrefix }));
}

function expressSite(framework: typeof express5, settings: PassportSiteSettings): RequestListener {
  const { login = {}, trustProxy = false, cookie, store, addsToQuery } = settings;
  const passport = new Passport();
  passport.use(newStrategy(settings));
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: User, done) => done(null, user));
  const app = framework();
  app.set("trust proxy", trustProxy);
  const options = { secret: "for the tests", resave: false, saveUninitialized: false };
  app.use(expressSession({ ...options, ...(cookie && { cookie }), ...(store && { store }) }));
  app.use(passport.session());
  app.use(express5.urlencoded({ extended: false }));
  app.use((req, _res, next) => {
    if (addsToQuery) Object.defineProperty(req, "query", { value: { ...req.query, ...addsToQuery } });
    next();
  });
  for (const [path, how] of [
    ["/any", login],
    ["/connect", { ...login, assignProperty: "account" }],
  ] as const)
    app.use(path, (req, res, next) => {
      passport.authenticate("retail-pos", how, (error: unknown, user, info, status = 401) => {
        if (error) return next(error);
        if (!user) return void res.status(Number(status)).json({ info });
        if (path === "/connect" || login.session === false) return void res.json({ user, info });
        req.logIn(user, (problem) => (problem ? next(problem) : res.json({ user, info })));
      })(req, res, next);
    });
  app.get("/as", (req, res) => {
    const { searchParams } = new URL(req.originalUrl, "http://localhost");
    Object.assign(req.session, { passport: passportOf(searchParams.get("user")) });
    res.end();
  });
  app.get("/empty", (req, res) => void req.session.regenerate(() => res.end()));
  app.get("/me", (req, res) => void res.json({ user: req.user ?? null, session: req.session }));
  app.use(((error, _req, res, _next) => {
    res.status(error.status ?? 500).json({ error: error.message });
  }) as express5.ErrorRequestHandler);
  return app;
}

const passportOf = (user: string | null) => (user ? { user: { domainPrefix: user } } : {});

function koaSite(Koa: typeof Koa3, settings: PassportSiteSettings): RequestListener {
  const { login = {}, trustProxy = false, cookie, addsToQuery } = settings;
  const passport = new koaPassport.KoaPassport();
  passport.use(newStrategy(settings));
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: User, done) => done(null, user));
  const app = new Koa();
  app.keys = ["for the tests"];
  app.proxy = trustProxy;
  app.silent = true;
  app.use(koaSession({ ...cookie, ...(settings.koaStore && { store: settings.koaStore as never }) }, app));
  app.use(async (ctx, next) => {
    if (ctx.method === "POST") {
      const chunks = [];
      for await (const chunk of ctx.req) chunks.push(chunk);
      Object.assign(ctx.request, { body: Object.fromEntries(new URLSearchParams(chunks.join(""))) });
    }
    if (addsToQuery) ctx.query = { ...ctx.query, ...addsToQuery };
    await next();
  });
  const { koaUserIn } = settings;
  if (koaUserIn)
    app.use((ctx, next) => {
      const id = ctx.cookies.get("user");
      if (id) Object.assign(ctx[koaUserIn], { user: { id } });
      if (ctx.path !== "/as") return next();
      ctx.cookies.set("user", String(ctx.query["user"]));
      ctx.body = "";
      return undefined;
    });
  app.use(passport.initialize());
  if (!koaUserIn) app.use(passport.session());
  app.use((ctx, next) => {
    const [, first] = ctx.path.split("/");
    const how = first === "connect" ? { ...login, assignProperty: "account" } : login;
    if (first === "any" || first === "connect")
      return passport.authenticate(
        "retail-pos",
        how,
        async (error: unknown, user: User, info: object, status = 401) => {
          if (error) throw error;
          if (user && first === "any" && login.session !== false && !koaUserIn) await ctx.login(user);
          if (!user) ctx.status = status;
          ctx.body = user ? { user, info } : { info };
        },
      )(ctx, next);
    ctx.body = "";
    if (first === "as")
      Object.assign(ctx.session ?? {}, { passport: passportOf(String(ctx.query["user"] ?? "")) });
    if (first === "empty") ctx.session = null;
    if (first === "me") ctx.body = { user: ctx.state.user ?? null, session: ctx.session };
    return undefined;
  });
  return app.callback();
}

function fastifySite(
  settings: PassportSiteSettings,
  addSession: (app: FastifyInstance, cookie: PassportSiteSettings["cookie"]) => void,
): RequestListener {
  const { login = {}, trustProxy = false, cookie, addsToQuery, fastifyPassport } = settings;
  const passport = new Authenticator(fastifyPassport);
  passport.use(newStrategy(settings) as never);
  passport.registerUserSerializer(async (user) => user);
  passport.registerUserDeserializer(async (user) => user);
  const app = Fastify({ trustProxy });
  addSession(app, cookie);
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  app.register(passport.initialize());
  app.register(passport.secureSession());
  app.register(async (routes) => {
    const defaults = Object.entries(addsToQuery ?? {}).map(([name, value]) => [
      name,
      { type: "string", default: value },
    ]);
    const schema = { querystring: { type: "object", properties: Object.fromEntries(defaults) } };
    for (const [path, how] of [
      ["/any/*", login],
      ["/connect/*", { ...login, assignProperty: "account" }],
    ] as const) {
      const answer = async (
        request: FastifyRequest,
        reply: FastifyReply,
        error: Error | null,
        user: User | false,
        info: object,
        status = 401,
      ) => {
        if (error) throw error;
        if (!user) return void reply.code(status).send({ info });
        if (path === "/any/*" && login.session !== false) await request.logIn(user as never);
        reply.send({ user, info });
      };
      const preHandler = passport.authenticate("retail-pos", how as never, answer as never);
      routes.route({ method: ["GET", "POST"], url: path, schema, preHandler, handler: async () => {} });
    }
    routes.get("/as", async (request) => {
      const { user } = request.query as { user?: string };
      request.session.set(
        (fastifyPassport?.key ?? "passport") as never,
        (user ? { domainPrefix: user } : undefined) as never,
      );
      return "";
    });
    routes.get("/empty", async (request) => {
      if ("delete" in request.session) (request.session as { delete(): void }).delete();
      else await (request.session as { regenerate(): Promise<void> }).regenerate();
      return "";
    });
    routes.get("/me", async (request) => ({ user: request.user ?? null }));
  });
  return (req, res) => void app.ready().then(() => app.routing(req, res));
}
