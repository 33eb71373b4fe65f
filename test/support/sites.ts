import type { RequestListener } from "node:http";
import { bearer as expressBearer } from "@retail-pos/express-bearer";
import { bearer as koaBearer } from "@retail-pos/koa-bearer";
import express5 from "express";
import expressSession from "express-session";
import express4 from "express4";
import Koa3 from "koa";
import koaPassport from "koa-passport";
import koaSession from "koa-session";
import Koa2 from "koa2";
import passport07 from "passport";
import { RetailPosStrategy, type RetailPosStrategyOptions } from "passport-retail-pos";
import passport06 from "passport06";
import { fastifySites } from "./fastify-site.js";
import { nestSite } from "./nest-site.js";
import { webSites } from "./web-sites.js";

/** One combination of framework and Passport, as people install them. */
export interface Combination {
  readonly name: string;
  /**
   * A site that logs in at `/login`, ends at `/callback` (which answers the user and the application's
   * state), shows `/products` behind the bearer, and `/me` without one. Failures answer `{ info }`.
   */
  readonly site: (settings: SiteSettings) => RequestListener;
  /** The session's cookie is all that a login has, so two that start before either has it overwrite each other's. */
  readonly losesATab?: true;
}

export interface SiteSettings {
  readonly strategy: RetailPosStrategyOptions;
  /** What `authenticate` is given when a login starts. */
  readonly login?: { state?: unknown };
  /** The address that is registered; a login without Passport is configured with it. */
  readonly redirectUri: string;
  /** Behind a proxy that ends TLS. */
  readonly trustProxy?: boolean;
}

export interface User {
  domainPrefix: string;
}

export const combinations: readonly Combination[] = [
  express("Express 5 with Passport 0.7", express5, passport07),
  express("Express 5 with Passport 0.6", express5, passport06),
  express("Express 4 with Passport 0.7", express4, passport07),
  express("Express 4 with Passport 0.6", express4, passport06),
  koa("Koa 3 with koa-passport", Koa3),
  koa("Koa 2 with koa-passport", Koa2),
  nestSite,
  ...fastifySites,
  ...webSites,
];

function express(name: string, framework: typeof express5, { Passport }: typeof passport07): Combination {
  return {
    name,
    site({ strategy: options, login, trustProxy = false }) {
      const strategy = new RetailPosStrategy(options as never, ({ domainPrefix }) => ({ domainPrefix }));
      const passport = new Passport();
      passport.use(strategy);
      passport.serializeUser((user, done) => done(null, user));
      passport.deserializeUser((user: User, done) => done(null, user));

      const app = framework();
      app.set("trust proxy", trustProxy);
      app.use(expressSession({ secret: "for the tests", resave: false, saveUninitialized: false }));
      app.use(passport.session());
      app.get("/login", passport.authenticate("retail-pos", { ...login }));
      app.get("/callback", (req, res, next) => {
        passport.authenticate(
          "retail-pos",
          (error: unknown, user: User | false, info: { state?: unknown }) => {
            if (error) return next(error);
            if (!user) return res.status(403).json({ info });
            req.logIn(user, (problem) => (problem ? next(problem) : res.json({ user, state: info.state })));
          },
        )(req, res, next);
      });
      app.get("/finish", passport.authenticate("retail-pos"), (req, res) => {
        res.json({ user: req.user, state: req.authInfo?.state });
      });
      app.get("/me", (req, res) => res.json({ user: req.user ?? null }));
      const retailer = (req: { user?: unknown }) => (req.user as User | undefined)?.domainPrefix;
      app.get("/products", expressBearer({ client: strategy.client, retailer }), (req, res, next) => {
        req.retailPos
          .fetch("api/products")
          .then(async (answer) => res.status(answer.status).json(await answer.json()))
          .catch(next);
      });
      return app;
    },
  };
}

function koa(name: string, Koa: typeof Koa3): Combination {
  return {
    name,
    site({ strategy: options, login, trustProxy = false }) {
      const strategy = new RetailPosStrategy(options as never, ({ domainPrefix }) => ({ domainPrefix }));
      const passport = new koaPassport.KoaPassport();
      passport.use(strategy);
      passport.serializeUser((user, done) => done(null, user));
      passport.deserializeUser((user: User, done) => done(null, user));

      const app = new Koa();
      app.keys = ["for the tests"];
      app.proxy = trustProxy;
      app.silent = true;
      app.use(koaSession(app));
      app.use(passport.initialize());
      app.use(passport.session());
      const routes: Record<string, Koa3.Middleware> = {
        "/login": passport.authenticate("retail-pos", { ...login }),
        "/callback": (ctx, next) =>
          passport.authenticate(
            "retail-pos",
            async (error: unknown, user: User | false, info: { state?: unknown }) => {
              if (error) throw error;
              if (user) await ctx.login(user);
              else ctx.status = 403;
              ctx.body = user ? { user, state: info.state } : { info };
            },
          )(ctx, next),
        "/finish": (ctx, next) =>
          passport.authenticate("retail-pos")(ctx, async () => {
            ctx.body = { user: ctx.state.user, state: ctx.state.authInfo?.state };
            await next();
          }),
        "/me": (ctx) => {
          ctx.body = { user: ctx.state.user ?? null };
        },
        "/products": (ctx, next) =>
          koaBearer({ client: strategy.client, retailer: () => ctx.state.user?.domainPrefix })(
            ctx,
            async () => {
              const answer = await ctx.state.retailPos.fetch("api/products");
              ctx.status = answer.status;
              ctx.body = await answer.json();
              await next();
            },
          ),
      };
      app.use((ctx, next) => routes[ctx.path]?.(ctx, next));
      return app.callback();
    },
  };
}
