import type { RetailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/koa-bearer";
import Koa, { type Middleware } from "koa";
import koaPassport from "koa-passport";
import session from "koa-session";
import { Strategy } from "passport-retail-pos";

interface User {
  domainPrefix: string;
}

export function koaApp(pos: RetailPos): Koa {
  const passport = new koaPassport.KoaPassport();
  passport.use(new Strategy({ client: pos }, async ({ domainPrefix }) => ({ domainPrefix })));
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: User, done) => done(null, user));

  const app = new Koa();
  app.keys = ["for the test"];
  app.use(session(app)).use(passport.initialize()).use(passport.session());
  const token = bearer({ client: pos, retailer: (ctx) => ctx.state.user?.domainPrefix });
  const routes: Record<string, Middleware> = {
    "/login": passport.authenticate("retail-pos", { state: { next: "/products" } }),
    "/callback": (ctx, next) =>
      passport.authenticate("retail-pos")(ctx, async () => {
        ctx.body = { user: ctx.state.user, state: ctx.state.authInfo?.state };
        await next();
      }),
    "/products": (ctx, next) =>
      token(ctx, async () => {
        const answer = await ctx.state.retailPos.fetch("api/products");
        ctx.body = await answer.json();
        await next();
      }),
  };
  app.use((ctx, next) => routes[ctx.path]?.(ctx, next));
  return app;
}
