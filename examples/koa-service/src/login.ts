import Router from "@koa/router";
import type { RetailPos } from "@retail-pos/core";
import type { Context, Middleware } from "koa";
import koaPassport from "koa-passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";

/** Who is logged in: one store. */
interface User {
  domainPrefix: string;
}

/** Logging in with a store, and out again. */
export function loginRoutes(pos: RetailPos, clock = Date.now): Middleware[] {
  const passport = new koaPassport.KoaPassport();
  passport.use(
    new RetailPosStrategy({ client: pos, clock }, async ({ domainPrefix }) => {
      return { domainPrefix }; // find or create your user here; return null to refuse
    }),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: User, done) => done(null, user));

  const router = new Router();
  router.get("/auth/retail-pos", passport.authenticate("retail-pos"));
  router.get("/auth/retail-pos/callback", (ctx, next) => {
    const answer = async (error: Error | null, user: User | false, info?: LoginFailureInfo, status = 401) => {
      // The service sent an error in place of a code. For Passport that is an exception.
      if (error?.name === "AuthorizationError")
        return ctx.throw(502, error.message, { code: "authorization_failed" });
      if (error) throw error;
      if (!user && isLoggedInAlready(ctx, info)) return ctx.redirect("/stock");
      if (!user)
        return ctx.throw(status, info?.message ?? "The login was not accepted", { code: info?.code });
      await ctx.login(user);
      ctx.redirect("/stock");
    };
    return passport.authenticate("retail-pos", answer)(ctx, next);
  });
  router.post("/logout", async (ctx) => {
    await ctx.logout();
    ctx.status = 204;
  });
  return [passport.initialize(), passport.session(), router.routes() as Middleware];
}

/** Somebody who is logged in pressed Back and approved again: the first time counted, and they want their stock. */
function isLoggedInAlready(ctx: Context, info: LoginFailureInfo | undefined): boolean {
  const user = ctx.state.user as User | undefined;
  const isUsed = info?.code.startsWith("state_") === true;
  return isUsed && user !== undefined && user.domainPrefix === ctx.query["domain_prefix"];
}
